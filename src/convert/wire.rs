//! The frames between a parent and its converter: a head in JSON and a body of bytes, each with its length before it; a frame longer than agreed is never read.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::picture;

/// What a parent asks of a child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Take the document in the body; the one before it is dropped.
    Open { format: Format, output_bytes: u64 },
    /// Convert one page of a PDF that is open, counted from 1.
    Page(u32),
    /// Decode the picture in the body; a document that is open is dropped.
    Picture(Picture),
}

/// What is wanted of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub format: picture::Format,
    /// The part that is shown, if not the whole.
    pub part: Option<picture::Part>,
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
pub enum Response {
    /// All of the document; its Markdown is the body.
    Whole(Whole),
    /// A PDF of so many pages, of which none is converted yet; what is filled in in its form is the
    /// body.
    Pages {
        count: u32,
        damage: Option<Damage>,
    },
    /// One page; its Markdown is the body.
    Page(PageState),
    /// The picture decodes; in the body it is written anew, where that was wanted.
    Picture(Option<Painted>),
    Failed(Why),
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
    pub parts: Option<(Part, Vec<u64>)>,
    /// What the Markdown leaves out, one sentence each.
    pub footers: Vec<String>,
}

/// What the parts of a document are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
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

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    Encrypted,
    /// In a few words.
    Unreadable(String),
    /// There is no text in it.
    Empty,
}

/// Bytes of a head.
const MAX_HEAD: u64 = 4 * 1024 * 1024;

/// The bytes before a body of `body` bytes.
pub fn head(head: &impl Serialize, body: u64) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(head)?;
    let mut frame = Vec::with_capacity(16 + json.len());
    frame.extend((json.len() as u64).to_le_bytes());
    frame.extend(body.to_le_bytes());
    frame.extend(json);
    Ok(frame)
}

/// Writes one frame.
pub fn write(out: &mut impl Write, message: &impl Serialize, body: &[u8]) -> io::Result<()> {
    out.write_all(&head(message, body.len() as u64)?)?;
    out.write_all(body)?;
    out.flush()
}

/// Reads one frame with at most `max_body` bytes in its body; `None` at the end of the input.
pub fn read<T: DeserializeOwned>(
    input: &mut impl Read,
    max_body: u64,
) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0; 16];
    match input.read(&mut lengths)? {
        0 => return Ok(None),
        count => input.read_exact(&mut lengths[count..])?,
    }
    let (head, body) = lengths_of(&lengths);
    if head > MAX_HEAD || body > max_body {
        return Err(io::Error::other("a frame is too long"));
    }
    let mut json = vec![0; head as usize];
    input.read_exact(&mut json)?;
    let mut bytes = vec![0; body as usize];
    input.read_exact(&mut bytes)?;
    Ok(Some((serde_json::from_slice(&json)?, bytes)))
}

/// The lengths of head and body.
fn lengths_of(lengths: &[u8; 16]) -> (u64, u64) {
    let (head, body) = lengths.split_at(8);
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0u64, |all, byte| all << 8 | u64::from(*byte))
    };
    (number(head), number(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_long_ones_do_not() {
        let mut out = Vec::new();
        write(&mut out, &Request::Page(7), b"abc").expect("written");
        let back = read::<Request>(&mut &out[..], 3).expect("read");
        assert_eq!(back, Some((Request::Page(7), b"abc".to_vec())));
        assert!(read::<Request>(&mut &out[..], 2).is_err());
        assert!(read::<Request>(&mut &out[..20], 3).is_err());
        assert_eq!(read::<Request>(&mut &out[..0], 3).expect("read"), None);
    }
}
