//! See `pilcrow::fuzz::notebook`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pilcrow::fuzz::notebook(bytes));
