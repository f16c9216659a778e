//! Arguments, logging and the exit code; nothing but this file prints or exits.

fn main() {}
