//! See `pilcrow::fuzz::path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pilcrow::fuzz::path(bytes));
