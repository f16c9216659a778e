//! Dialects: a parameter shape, its defaults and a renderer each, over the same engine; a dialect never reads anything.

mod rows;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::Value;

use crate::protocol::params::Fields;
use crate::protocol::read::ContentBlock;
use crate::protocol::settings::{Summarize, nearest};
use crate::protocol::tools::{Edits, Tool};
use crate::protocol::{Refusal, Settings};

use super::conflicts::Sheet;
use super::folded::Elided;
use super::window::{Limits, Window};
use super::{Attachment, Document, Target};

/// What a dialect makes of its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub target: Target,
    pub limits: Limits,
    /// Set where a text that is asked for as a whole may be shown as its outline.
    pub summarize: Option<Summarize>,
}

/// Everything a dialect needs to write an answer down.
#[derive(Debug)]
pub struct View<'a> {
    /// How the path was understood, one sentence each, without brackets.
    pub understood: &'a [String],
    /// Display path and tag, where a snapshot was recorded and headers are on.
    pub header: Option<(&'a str, &'a str)>,
    /// The path as messages name it.
    pub name: &'a str,
    pub document: &'a Document,
    /// Those of its attachments that belong to what is shown.
    pub attachments: Vec<&'a Attachment>,
    pub window: &'a Window<'a>,
    /// The byte budget that a footer names.
    pub byte_limit: u64,
    /// The ranges that are folded, where the window is on an outline.
    pub elided: Option<&'a Elided>,
    /// Merge conflicts that reach into the window.
    pub conflicts: u64,
    pub body: Body<'a>,
}

/// What stands between the notices and the footers.
#[derive(Debug)]
pub enum Body<'a> {
    /// The rows of the window.
    Rows,
    /// The text itself, its line ends kept.
    Raw(&'a str),
    /// The conflicts of the text; the window is that of the sheet.
    Conflicts(&'a Sheet<'a>),
}

impl View<'_> {
    /// The attachments as blocks.
    pub fn blocks(&self) -> impl Iterator<Item = ContentBlock> {
        self.attachments
            .iter()
            .map(|attachment| ContentBlock::Image {
                data: BASE64.encode(&attachment.data),
                mime_type: attachment.mime_type.to_owned(),
            })
    }
}

/// What a dialect wrote.
#[derive(Debug, Default)]
pub struct Written {
    pub content: Vec<ContentBlock>,
    pub native: Option<Value>,
}

/// One way of asking and of writing down.
pub trait Dialect: Sync + Send + std::fmt::Debug {
    fn name(&self) -> &'static str;

    /// Parameters to a request. Errors name the parameter at fault.
    fn request(&self, fields: Fields, settings: &Settings) -> Result<Request, Refusal>;

    fn write(&self, view: &View) -> Written;

    /// Its read as a model is told of it.
    fn read_tool(&self) -> Tool;

    /// How edits name what they change, after such reads.
    fn edits(&self) -> Edits;
}

/// Every dialect, in the order `initialize` lists them.
pub static DIALECTS: &[&dyn Dialect] = &[&rows::HASHLINE, &rows::NUMBERED, &rows::PLAIN];

/// The dialect of that name; errors name the parameter `dialect`.
pub fn by_name(name: &str) -> Result<&'static dyn Dialect, Refusal> {
    let found = DIALECTS.iter().find(|dialect| dialect.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = DIALECTS.iter().map(|d| d.name().to_owned()).collect();
        let hint = nearest(name, &names).map(|near| format!(" Did you mean '{near}'?"));
        Refusal::bad_params(
            "dialect",
            format!(
                "'dialect' must be one of {}, not '{name}'.{}",
                names.join(", "),
                hint.unwrap_or_default()
            ),
        )
    })
}
