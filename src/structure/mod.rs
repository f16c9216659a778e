//! What the syntax tree of a text tells (its outline, definitions, errors, blocks), asked of workers of the kind `syntax`.
//!
//! Grammars are C, and any text may overflow the stack of a scanner or keep it at work for ever; so
//! none ever runs in the process that serves. That process holds [`Parsers`]: it hands a text over
//! ([`messages`]) and looks whether what comes back can be of that text at all. The worker's half is
//! [`serve`]: it parses, keeps the trees of the last documents to parse their next states from
//! ([`trees`]), and gives up after a fixed processor time, so that a busy machine gives the same
//! answer as an idle one. Whoever asks gets the structure, or why there is none ([`NoStructure`]);
//! nothing is refused for it.

mod answers;
mod blocks;
mod child;
mod errors;
mod messages;
#[cfg(any(feature = "failpoints", debug_assertions))]
mod misbehave;
mod parsers;
mod sections;
mod trees;

#[cfg(test)]
mod tests;

pub use child::serve;
pub use parsers::{Code, NoStructure, Parsers, PendingErrors};
