//! See `pilcrow::fuzz::encoding`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pilcrow::fuzz::encoding(bytes));
