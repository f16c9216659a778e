//! Edits: what becomes of files when an agent changes them; no file is ever left half changed.

pub mod disk;
