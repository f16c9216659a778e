//! What a parent and a converter say to each other.

use serde::{Deserialize, Serialize};

use crate::picture;

/// What a parent asks of a child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ConvertRequest {
    /// Take the document in the body; the one before it is dropped.
    Open { format: Format, output_bytes: u64 },
    /// Convert one page of a PDF that is open, counted from 1.
    Page(u32),
    /// Decode the picture in the body; a document that is open is dropped.
    Picture(Picture),
    /// Convert the HTML page in the body, which comes as it was sent; a document that is open is
    /// dropped.
    Html(HtmlRequest),
    /// Convert the feed in the body, likewise.
    Feed(FeedRequest),
}

/// How a page of HTML is to be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HtmlRequest {
    /// The final URL.
    pub base: String,
    /// What the HTTP header says.
    pub charset: Option<String>,
    /// What the caller demands: it beats everything else.
    pub encoding: Option<String>,
    /// Whether all of the page is wanted, not its main part.
    pub whole: bool,
    /// How many bytes the page has, where not all are sent.
    pub whole_bytes: u64,
    pub output_bytes: u64,
}

/// How a feed is to be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FeedRequest {
    pub base: String,
    pub charset: Option<String>,
    pub encoding: Option<String>,
    /// Whether all entries are wanted, not the first 20.
    pub whole: bool,
    /// The address of the only entry that is wanted.
    pub entry: Option<String>,
    pub output_bytes: u64,
}

/// What is wanted of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub format: picture::Format,
    /// The part that is shown, if not the whole.
    pub part: Option<picture::Crop>,
    /// How it is to be written anew; without it is only to be seen that it decodes.
    pub fit: Option<picture::Fit>,
}

/// What the name and the first bytes of a document say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Format {
    Pdf,
    /// Rich text, an OLE file or a ZIP package, of which the content says more; the name's
    /// extension where it does not.
    Office(Extension),
    /// Comma-separated values, in UTF-8.
    Csv,
}

/// What a file's name says of an office document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Extension {
    Doc,
    Docx,
    Ppt,
    Pptx,
    Excel,
    Rtf,
    Epub,
    Odt,
    Ods,
    Odp,
    Unknown,
}

/// What a child answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ConvertResponse {
    /// All of the document; its Markdown is the body.
    Whole(Whole),
    /// A PDF of so many pages, of which none is converted yet; what is filled in in its form is the
    /// body.
    Pages {
        count: u32,
        damage: Option<Damage>,
        /// Whether it has an XFA form, which is on none of its pages.
        has_xfa: bool,
    },
    /// One page; its Markdown is the body.
    Page(PageState),
    /// The picture decodes; in the body it is written anew, where that was wanted.
    Picture(Option<Painted>),
    /// A page of HTML; its Markdown is the body.
    Html(Box<HtmlPage>),
    /// A feed; its Markdown is the body.
    Feed(FeedText),
    Failed(Why),
}

/// What of an HTML page its text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HtmlMethod {
    /// The main part.
    Reader,
    /// The whole body.
    Page,
}

/// What a page of HTML says beside its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HtmlPage {
    pub method: HtmlMethod,
    pub title: Option<String>,
    pub description: Option<String>,
    /// As `details.encoding` names it.
    pub encoding: String,
    /// Every address once, those of the main part first.
    pub links: Vec<PageLink>,
    /// What a fragment of the address may name, in page order.
    pub sections: Vec<Section>,
    /// Whether scripts would have to write its text.
    pub is_shell: bool,
    /// Words of the part that is the text.
    pub words: u64,
    /// Whether something else may say more than the page.
    pub is_poor: bool,
    pub has_password_field: bool,
    /// After how many seconds it sends its reader on, and where to.
    pub refresh: Option<(u32, String)>,
    pub markdown_alternate: Option<String>,
    pub feed_alternates: Vec<String>,
    /// The document that the main part leads to.
    pub document_link: Option<String>,
    /// What is to be said of how it was read.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    pub text: String,
    /// Absolute.
    pub url: String,
}

/// The lines that a fragment of the address names, from 1, both included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub id: String,
    pub start: u64,
    pub end: u64,
}

/// What a feed says beside its text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FeedText {
    pub title: Option<String>,
    /// How many it has.
    pub entries: u64,
    /// How many of them are not shown; the text says so.
    pub left_out: u64,
    /// Whether the entry that was asked for is there.
    pub found_entry: bool,
    pub encoding: String,
    pub notes: Vec<String>,
}

/// A picture that was written anew.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Painted {
    pub format: picture::Format,
    pub width: u32,
    pub height: u32,
}

/// What of a PDF's structure had to be made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Damage {
    /// Where its objects are: they were looked for one by one.
    Table,
    /// Which its pages are: all that were found are taken for its pages.
    Tree,
    /// Something is missing.
    Parts,
}

impl Damage {
    /// What is said of it.
    pub fn sentence(self) -> &'static str {
        match self {
            Damage::Table => {
                "The file's cross-reference table is broken; it was rebuilt from the objects in the file"
            }
            Damage::Tree => {
                "The file is damaged: its list of pages is lost, and the pages that were found are shown in the order in which they stand in the file"
            }
            Damage::Parts => "The file is damaged: what could be read of it is shown",
        }
    }
}

/// A document that is converted as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// What its parts are, and the line (from 1) on which each begins.
    pub parts: Option<(PartKind, Vec<u64>)>,
    /// What the Markdown leaves out, one sentence each.
    pub footers: Vec<String>,
}

/// What the parts of a document are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartKind {
    Page,
    Slide,
    Sheet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageState {
    Text,
    /// There is a picture on it.
    Empty,
    /// It is drawn, without a picture: lines and areas, or letters that nothing names.
    Drawn,
    /// There is nothing on it.
    Blank,
    Failed,
}

/// What a job that panicked is said to be.
pub const STOPPED: &str = "the converter stopped";

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    Encrypted,
    /// In a few words.
    Unreadable(String),
    /// There is no text in it.
    Empty,
}
