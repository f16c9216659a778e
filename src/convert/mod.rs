//! Documents and web pages to Markdown, and large pictures to small ones, in child processes; no byte of a document is ever parsed in the process that serves.
//!
//! The daemon's half is [`Converters`], at most two workers of the kind `convert` (see
//! [`crate::worker`]); the worker's half is [`serve`]. The crates that parse have no known panics,
//! but a document can still make them ask for more memory or stack than there is, or compute for
//! ever; that ends a worker, and nothing else.

mod book;
mod child;
mod csv;
mod decode;
mod feed;
mod footers;
mod html;
mod job;
mod mend;
mod messages;
mod office;
mod ole;
mod package;
mod paint;
mod pdf;
mod ppt;
mod rows;
mod sheets;
mod slides;
mod word;

pub use child::serve;
pub use job::{Conversion, ConvertAnswer, Converters, Pages};
pub use messages::{
    Damage, Extension, FeedRequest, FeedText, Format, HtmlMethod, HtmlPage, HtmlRequest, PageLink,
    PageState, PartKind, Picture, Section, Whole, Why,
};
pub use rows::numbered;
