//! The bytes of a member, out of any form of archive, and its text; what was taken out of a changed archive is never kept.

use std::io;
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};

use crate::buffer::MAX_BUFFER_BYTES;
use crate::protocol::Refusal;
use crate::text::{Confidence, Decoded, NotText, decode};

use super::index::{Entry, EntryKind, Packing};
use super::inflate::{Disk, Halt, Inflow, MAX_MEMBER, MAX_PASS};
use super::known::{ArchiveForm, Known, WIDE, too_large};
use super::zip::{self, Failure, Unpacked};
use super::{Asked, tar};

/// Bytes of a link that a zip keeps as a member's content.
const MAX_LINK: u64 = 4096;

/// A text of more bytes than this is not made a rope of.
const LARGE: u64 = 8 * 1024 * 1024;

/// Bytes by which the encoding of a large text is told.
const SAMPLE: usize = 1024 * 1024;

/// A member as it is shown.
#[derive(Debug)]
pub enum MemberContent {
    Text {
        decoded: Decoded,
        bytes: u64,
    },
    Large(LargeText),
    /// No text: so many bytes.
    Binary(u64),
    /// As it is, for another kind.
    Bytes(Arc<[u8]>),
}

/// A text so large that a rope of it would be too much besides.
#[derive(Debug)]
pub struct LargeText {
    pub text: String,
    pub encoding: &'static Encoding,
    pub confidence: Confidence,
    pub bom: bool,
    /// Bytes that mean nothing in its encoding are U+FFFD.
    pub lossy: bool,
    /// Before it was decoded.
    pub bytes: u64,
}

/// What was made of a member, as it is kept warm.
#[derive(Debug)]
pub struct HeldMember {
    pub content: MemberContent,
    pub faults: Vec<String>,
}

impl HeldMember {
    /// Bytes in memory.
    pub fn weight(&self) -> u64 {
        match &self.content {
            MemberContent::Text { decoded, .. } => decoded.text.len_bytes() as u64 * 5 / 4 + 1024,
            MemberContent::Large(large) => large.text.capacity() as u64 + 256,
            MemberContent::Bytes(bytes) => bytes.len() as u64 + 256,
            MemberContent::Binary(_) => 256,
        }
    }
}

/// Decodes a member as a file is decoded; `as_bytes` keeps also a text's bytes as they are.
pub fn hold(
    asked: &Asked,
    unpacked: Unpacked,
    encoding: Option<&'static Encoding>,
    as_bytes: bool,
) -> Result<HeldMember, Refusal> {
    let Unpacked { bytes, faults } = unpacked;
    let size = bytes.len() as u64;
    if as_bytes {
        return Ok(HeldMember {
            content: MemberContent::Bytes(bytes.into()),
            faults,
        });
    }
    // Decoding may make three bytes of one.
    if size > MAX_BUFFER_BYTES && (encoding.is_some() || std::str::from_utf8(&bytes).is_err()) {
        return Err(too_large(
            asked,
            "it has more than 32 MiB and is not text in UTF-8",
        ));
    }
    if size > LARGE {
        let content = large(bytes, encoding);
        return Ok(HeldMember { content, faults });
    }
    let content = match decode(&bytes, encoding) {
        Ok(decoded) => MemberContent::Text {
            decoded,
            bytes: size,
        },
        Err(NotText::Binary { .. }) => MemberContent::Binary(size),
    };
    Ok(HeldMember { content, faults })
}

/// A large member: its encoding is told by a part of it.
fn large(bytes: Vec<u8>, declared: Option<&'static Encoding>) -> MemberContent {
    let size = bytes.len() as u64;
    // What is not UTF-8 may begin with much that says nothing.
    let from = match std::str::from_utf8(&bytes) {
        Ok(_) => 0,
        Err(error) => error.valid_up_to().saturating_sub(SAMPLE / 2),
    };
    let decide = |from: usize| {
        let sample = &bytes[from..bytes.len().min(from + SAMPLE)];
        // Whole lines, so that no character is cut.
        let first = match from {
            0 => 0,
            _ => memchr::memchr(b'\n', sample).map_or(0, |at| at + 1),
        };
        let last = memchr::memrchr(b'\n', sample).map_or(sample.len(), |at| at + 1);
        decode(sample.get(first..last).unwrap_or(sample), declared)
    };
    let decided = decide(0).and_then(|head| match from {
        0 => Ok(head),
        _ if head.bom => Ok(head),
        from => decide(from),
    });
    let Ok(decided) = decided else {
        return MemberContent::Binary(size);
    };
    let (encoding, confidence, bom) = (decided.encoding, decided.confidence, decided.bom);
    let start = match (bom, encoding == UTF_8) {
        (false, _) => 0,
        (true, true) => 3,
        (true, false) => 2,
    };
    let (text, lossy) = match (encoding == UTF_8 && start == 0, String::from_utf8(bytes)) {
        (true, Ok(text)) => (text, false),
        (_, kept) => {
            let bytes = kept.map_or_else(|error| error.into_bytes(), String::into_bytes);
            let (text, lossy) = encoding.decode_without_bom_handling(&bytes[start..]);
            (text.into_owned(), lossy)
        }
    };
    MemberContent::Large(LargeText {
        text,
        encoding,
        confidence,
        bom,
        lossy,
        bytes: size,
    })
}

/// The bytes of a member that is a file.
pub fn unpack(
    asked: &Asked,
    disk: &Disk,
    known: &Known,
    entry: &Entry,
) -> Result<Unpacked, Refusal> {
    if entry.encrypted {
        return Err(Refusal::Encrypted {
            path: asked.spelled.to_owned(),
            what: "reading this member takes a password, which cannot be given here; ask the user to extract it".to_owned(),
        });
    }
    let unpacked = match (known.form, entry.packing) {
        (ArchiveForm::Zip, Packing::Method(method)) => zip::unpack(disk, entry, method),
        (ArchiveForm::Single(codec), _) => {
            let decoder = disk.range(0, disk.len).and_then(|from| codec.decoder(from));
            let decoder = decoder.map_err(|error| Refusal::io(asked.spelled, &error))?;
            single(disk, decoder).map_err(Failure::Halt)
        }
        _ => of_tar(disk, known, entry).map_err(Failure::Halt),
    };
    unpacked.map_err(|failure| refused(asked, failure))
}

fn single(disk: &Disk, decoder: Box<dyn io::Read + '_>) -> Result<Unpacked, Halt> {
    let mut inflow = Inflow::new(decoder, disk.len, MAX_MEMBER, disk);
    let mut unpacked = Unpacked {
        bytes: Vec::new(),
        faults: Vec::new(),
    };
    match inflow.take_into(&mut unpacked.bytes, u64::MAX) {
        Ok(()) => {}
        Err(Halt::Broken(error)) if !unpacked.bytes.is_empty() => {
            let fault = format!(
                "The compressed stream is damaged, or something else follows it ({error}): this is what came before"
            );
            unpacked.faults.push(fault);
        }
        Err(halt) => return Err(halt),
    }
    Ok(unpacked)
}

fn of_tar(disk: &Disk, known: &Known, entry: &Entry) -> Result<Unpacked, Halt> {
    let mut unpacked = Unpacked {
        bytes: Vec::new(),
        faults: Vec::new(),
    };
    if entry.packed > MAX_MEMBER && !entry.cut {
        return Err(Halt::TooMuch);
    }
    let (mut inflow, skip) = match known.form {
        ArchiveForm::Tar(Some(codec)) => {
            let from = disk.range(0, disk.len).map_err(Halt::Broken)?;
            let decoder = codec.decoder(from).map_err(Halt::Broken)?;
            (Inflow::new(decoder, disk.len, MAX_PASS, disk), entry.offset)
        }
        _ => {
            let from = disk
                .range(entry.offset, entry.packed)
                .map_err(Halt::Broken)?;
            (
                Inflow::new(Box::new(from), entry.packed, MAX_MEMBER, disk),
                0,
            )
        }
    };
    inflow.skip(skip)?;
    match inflow.take_into(&mut unpacked.bytes, entry.packed) {
        Ok(()) => {}
        Err(Halt::Broken(_)) if !unpacked.bytes.is_empty() => {}
        Err(halt) => return Err(halt),
    }
    if (unpacked.bytes.len() as u64) < entry.packed {
        let fault = format!(
            "The archive ends within this member: {} of its {} bytes are there",
            unpacked.bytes.len(),
            entry.packed
        );
        unpacked.faults.push(fault);
    }
    let regions = match entry.packing {
        Packing::SparseInFront => None,
        Packing::SparseMapped => known.index.regions(entry),
        Packing::Plain | Packing::Method(_) => return Ok(unpacked),
    };
    let (bytes, sound) = tar::expand(&unpacked.bytes, entry.size, regions)?;
    unpacked.bytes = bytes;
    if !sound {
        unpacked
            .faults
            .push("The map of this sparse member is damaged: bytes may be missing".to_owned());
    }
    Ok(unpacked)
}

fn refused(asked: &Asked, failure: Failure) -> Refusal {
    let path = asked.spelled.to_owned();
    match failure {
        Failure::Halt(Halt::Refused(refusal)) => refusal,
        Failure::Halt(Halt::TooMuch) => {
            too_large(asked, "more than 64 MiB would come out of this member")
        }
        Failure::Halt(Halt::Window) => too_large(asked, WIDE),
        Failure::Halt(Halt::Bomb) => Refusal::TooLarge {
            path,
            what:
                "it inflates to more than 1,000 times its size, as only a decompression bomb does"
                    .to_owned(),
            instead: "It was not read further; do not extract it.".to_owned(),
        },
        Failure::Halt(Halt::Broken(error)) => Refusal::Damaged {
            path,
            what: format!("nothing of this member can be unpacked ({error})"),
            instead: "Other members may be sound.".to_owned(),
        },
        Failure::Method(method) => Refusal::Unsupported {
            message: format!(
                "'{path}' is packed by method {method} ({}), which cannot be unpacked here. Extract it with 7z.",
                zip::method_name(method)
            ),
            path: Some(path),
        },
    }
}

/// What a link says; `None` where that cannot be read.
pub fn link_text(disk: &Disk, known: &Known, entry: &Entry) -> Result<Option<String>, Refusal> {
    if entry.kind == EntryKind::Hardlink || known.form != ArchiveForm::Zip {
        return Ok(Some(known.index.link(entry).to_owned()));
    }
    let Packing::Method(method) = entry.packing else {
        return Ok(None);
    };
    if entry.encrypted || entry.size > MAX_LINK || entry.packed > MAX_LINK {
        return Ok(None);
    }
    match zip::unpack(disk, entry, method) {
        Ok(unpacked) if unpacked.bytes.len() as u64 <= MAX_LINK => {
            Ok(Some(String::from_utf8_lossy(&unpacked.bytes).into_owned()))
        }
        Err(Failure::Halt(Halt::Refused(refusal))) => Err(refusal),
        _ => Ok(None),
    }
}

/// Unpacks a member and makes of it what is shown.
pub fn take_out(
    asked: &Asked,
    disk: &Disk,
    known: &Known,
    entry: &Entry,
    as_bytes: bool,
) -> Result<HeldMember, Refusal> {
    let unpacked = unpack(asked, disk, known, entry)?;
    hold(asked, unpacked, asked.encoding, as_bytes)
}
