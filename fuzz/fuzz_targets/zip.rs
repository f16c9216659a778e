//! See `pilcrow::fuzz::zip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pilcrow::fuzz::zip(bytes));
