#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fiberscope_fuzz::any(
    |bytes| fiberscope_io::domain::read(bytes, 5),
    bytes
));
