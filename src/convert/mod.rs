//! Documents to Markdown, and large pictures to small ones, in child processes; no byte of a document is ever parsed in the process that serves.
//!
//! The parent's half is [`Converters`]: at most two children, each of which is this same program
//! (its hidden command `convert`). The child's half is [`child`]. Between them go length-prefixed
//! frames ([`wire`]) over the child's stdin and stdout. The crates that parse have no known
//! panics, but a document can still make them ask for more memory or stack than there is, or
//! compute for ever; that ends a child, and nothing else.

mod book;
pub mod child;
mod csv;
mod footers;
mod limits;
mod mend;
mod office;
mod ole;
mod package;
mod paint;
mod pdf;
mod pool;
mod ppt;
mod rows;
mod sheets;
mod slides;
mod wire;
mod word;
mod worker;

pub use limits::Limits;
pub use pool::{Converters, Status};
pub use rows::numbered;
pub use wire::{Damage, Extension, Format, PageState, Part, Picture, Whole, Why};
pub use worker::{Answer, Input, Job, Pages, Stop};
