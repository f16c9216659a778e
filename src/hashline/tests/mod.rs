//! The scenarios of patches and of applying them, by their numbers, and laws over random ones.

mod apply;
mod apply_laws;
mod carry_laws;
mod fault_laws;
mod inverse_laws;
mod patch;
mod whole_ops;
