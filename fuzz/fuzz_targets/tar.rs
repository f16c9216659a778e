//! See `pilcrow::fuzz::tar`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pilcrow::fuzz::tar(bytes));
