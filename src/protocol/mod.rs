//! The wire types of `agent/*` and the one mapping from refusals to codes; no behaviour ever lives here.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod edit;
pub mod edit_refusal;
mod json;
pub mod params;
pub mod read;
pub mod refusal;
pub mod resources;
pub mod search;
pub mod settings;
pub mod status;
pub mod tools;
pub mod typed;

pub use edit_refusal::EditRefusal;
pub use json::{long_text, to_json};
pub use refusal::{Refusal, RefusalKind, RemoteRefusal, Rule, shortened};
pub use resources::ResourceAnswer;
pub use settings::Settings;

/// Version of the wire contract, reported at `initialize` and by `agent/status`.
/// Added fields do not change it.
pub const PROTOCOL_VERSION: u32 = 1;
