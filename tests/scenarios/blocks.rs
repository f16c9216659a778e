//! Scenarios 30, 52 to 58 and 65.
