#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fiberscope_fuzz::any(fiberscope_io::npz::read_npy_data, bytes));
