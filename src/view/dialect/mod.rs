//! Dialects: a parameter shape, its defaults, a renderer and its error texts each, over the same engine; a dialect never reads anything.

mod counted;
#[cfg(test)]
mod example;
mod llm_gateway;
mod opencode;
mod pikuri;
mod roo;
mod rows;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::Value;

use crate::outline::Definition;
use crate::protocol::params::Fields;
use crate::protocol::read::{Blob, ContentBlock, Next};
use crate::protocol::settings::{Summarize, nearest};
use crate::protocol::tools::{Edits, Tool};
use crate::protocol::{Refusal, Settings};

use super::conflicts::Sheet;
use super::folded::Elided;
use super::selector::Piece;
use super::window::{Limits, Window};
use super::{Attachment, Document, Guess, ListingStyle, RefusedByDefault, Target};

/// What a dialect makes of its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub target: Target,
    /// What else the name may stand for.
    pub guess: Guess,
    /// Lines that are asked for beside the path: in the place of those that its selector names.
    pub lines: Option<Piece>,
    pub limits: Limits,
    /// Lines that are wanted at most, whatever the budget.
    pub most: Option<u64>,
    /// Set where a text that is asked for as a whole may be shown as its outline.
    pub summarize: Option<Summarize>,
    pub listing: ListingStyle,
    pub refused_by_default: RefusedByDefault,
    /// Set where a text of more lines than so many, asked for as a whole, is shown to there, with
    /// its definitions.
    pub truncate: Option<u64>,
    /// Set where documents are given as the files that they are, of at most so many bytes, whatever
    /// lines the parameters name.
    pub whole_file: Option<u64>,
    /// Set where images are given as they are, of at most so many bytes, unless the settings allow
    /// less.
    pub image_bytes: Option<usize>,
    /// Whether all lines of a file too large to hold are counted, because their number is printed.
    pub counts_lines: bool,
    /// What is to be said of the parameters, one sentence each, without brackets.
    pub remarks: Vec<String>,
    /// What the dialect refuses by itself, whatever is there.
    pub refusal: Option<Refusal>,
}

impl Request {
    /// Of `target` as far as `limits` reach, and nothing special.
    pub fn new(target: Target, limits: Limits) -> Request {
        Request {
            target,
            guess: Guess::default(),
            lines: None,
            limits,
            most: None,
            summarize: None,
            listing: ListingStyle::Tree,
            refused_by_default: RefusedByDefault::default(),
            truncate: None,
            whole_file: None,
            image_bytes: None,
            counts_lines: false,
            remarks: Vec::new(),
            refusal: None,
        }
    }

    /// Of parameters that cannot be meant, for which nothing is looked for. `path` is the one they
    /// name, if they name one.
    pub fn refused(path: &str, refusal: Refusal) -> Request {
        Request {
            refusal: Some(refusal),
            ..Request::new(Target::Spelled(path.to_owned()), Limits::ONE_LINE)
        }
    }
}

/// Everything that a dialect needs to write an answer down.
#[derive(Debug, Clone)]
pub struct View<'a> {
    pub request: &'a Request,
    /// How the path was understood, one sentence each, without brackets.
    pub understood: &'a [String],
    /// Display path and tag, where a snapshot was recorded and headers are on.
    pub header: Option<(&'a str, &'a str)>,
    /// The path as messages name it.
    pub name: &'a str,
    /// The same, absolute.
    pub path: &'a str,
    pub document: &'a Document,
    /// Whether the path names no part of it, so that a document is wanted as the file that it is.
    pub asks_for_whole_file: bool,
    /// Those of its attachments that belong to what is shown.
    pub attachments: Vec<&'a Attachment>,
    pub window: &'a Window<'a>,
    /// The byte budget that a footer names.
    pub byte_limit: u64,
    /// Bytes of a raw line that is given whole.
    pub raw_line: usize,
    /// The ranges that are folded, where the window is on an outline.
    pub elided: Option<&'a Elided>,
    /// What a text that is shown from its start defines.
    pub definitions: &'a [Definition],
    /// Merge conflicts that reach into the window.
    pub conflicts: u64,
    pub body: Body<'a>,
}

/// What stands between the notices and the footers.
#[derive(Debug, Clone, Copy)]
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

    /// The file as it is, where it was asked for so.
    pub fn whole_file(&self) -> Option<ContentBlock> {
        let whole = self.document.extras.whole_file.as_ref()?;
        Some(ContentBlock::Resource {
            resource: Blob {
                uri: self.document.location.uri.clone().unwrap_or_default(),
                mime_type: whole.mime_type.to_owned(),
                blob: BASE64.encode(&whole.data),
            },
        })
    }
}

/// What a dialect wrote.
#[derive(Debug, Default)]
pub struct Written {
    pub content: Vec<ContentBlock>,
    /// The dialect's own return fields.
    pub native: Option<Value>,
    /// How it goes on in the dialect's own parameters, where a limit cut what was asked for.
    pub next: Option<Next>,
}

impl Written {
    /// These blocks and nothing else.
    pub fn of(content: Vec<ContentBlock>) -> Written {
        Written {
            content,
            ..Written::default()
        }
    }
}

/// How a dialect says that a read is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// As a JSON-RPC error, in words of its own.
    Thrown(String),
    /// As a result that is an error.
    Result(String),
    /// As the engine does.
    AsIs,
}

/// What a refusal is about.
pub struct Asked<'a> {
    /// The path as it was asked for.
    pub path: &'a str,
    /// Makes the path of something that is there, or would be, absolute.
    pub absolute: &'a dyn Fn(&str) -> String,
}

/// One way of asking and of writing down.
pub trait Dialect: Sync + Send + std::fmt::Debug {
    fn name(&self) -> &'static str;

    /// The parameter that holds the path.
    fn path_parameter(&self) -> &'static str {
        "path"
    }

    /// Parameters to a request. Errors name the parameter at fault.
    fn request(&self, fields: Fields, settings: &Settings) -> Result<Request, Refusal>;

    /// Whether it writes what stands above a web page; others say it in a sentence.
    fn writes_web_header(&self) -> bool {
        false
    }

    /// Writes down what is shown. Refuses what its tool refuses only once it has seen it.
    fn write(&self, view: &View) -> Result<Written, Refusal>;

    /// Its words for a refusal, of its parameters too.
    fn refuse(&self, _refusal: &Refusal, _asked: &Asked) -> Said {
        Said::AsIs
    }

    /// Its read as a model is told of it.
    fn read_tool(&self) -> Tool;

    /// How edits name what they change, after such reads.
    fn edits(&self) -> Edits {
        Edits::ByText
    }
}

/// Every dialect, in the order `initialize` lists them.
pub static DIALECTS: &[&dyn Dialect] = &[
    &rows::HASHLINE,
    &rows::NUMBERED,
    &rows::PLAIN,
    &opencode::Opencode,
    &pikuri::Pikuri,
    &llm_gateway::LlmGateway,
    &roo::Roo,
    #[cfg(test)]
    &example::Example,
];

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
