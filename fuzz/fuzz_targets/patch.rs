//! See `pilcrow::fuzz::patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pilcrow::fuzz::patch(bytes));
