#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fiberscope_fuzz::model(fiberscope_io::npz::read, bytes));
