//! Resolution and access over real directories; no test here depends on another or on the machine.
