//! Archives: what one holds, and its members, which go through the other kinds again; nothing is ever written, and no archive in an archive is opened.

mod index;
mod inflate;
mod known;
#[cfg(any(test, fuzzing))]
pub mod laws;
mod listing;
mod member;
mod names;
mod path;
mod tar;
mod zip;
mod zstd;

use std::sync::Arc;

use crate::buffer::FileState;
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::task::LONG_FROM_BYTES;
use crate::text::{Text, label};
use crate::view::size::file_size;
use crate::view::{self, Document, Extras, Selector, Style, in_header, large};
use crate::workspace::Handle;

use super::kind::{self, Asked, Kind, Subject};
use super::{Opened, ReadContext, location, refuse_own};

use inflate::{Codec, Disk};
use known::{ArchiveForm, Known};
use member::{HeldMember, MemberContent};
use path::MemberPlace;

/// Under this name things are kept warm.
const MAKER: &str = "archive";

/// Zips by other names.
const ZIP_ENDINGS: &[&str] = &[
    ".zip", ".jar", ".war", ".ear", ".aar", ".whl", ".egg", ".apk", ".ipa", ".vsix", ".nupkg",
    ".xpi",
];

const TAR_ENDINGS: &[&str] = &[
    ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst",
];

/// One compressed file.
const SINGLE_ENDINGS: &[&str] = &[".gz", ".bz2", ".xz", ".zst"];

/// Zips that are documents: their members are read only by name.
const OFFICE_ENDINGS: &[&str] = &[
    ".docx", ".docm", ".dotx", ".xlsx", ".xlsm", ".xltx", ".pptx", ".pptm", ".potx", ".odt",
    ".ods", ".odp", ".epub",
];

/// Attempts to read an archive that does not change meanwhile.
const STEADY_ATTEMPTS: usize = 3;

/// Places in a path string that are looked at as the end of an archive's own path.
const MAX_SPLITS: usize = 64;

/// Those among them before which there is the name of one: each is looked for on disk.
const MAX_NAMED: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Archive;

fn ends_in(name: &str, endings: &[&str]) -> bool {
    let ends = |ending: &&str| {
        let from = name.len().checked_sub(ending.len());
        let tail = from
            .filter(|from| *from > 0)
            .and_then(|from| name.get(from..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
    };
    endings.iter().any(ends)
}

fn is_office(name: &str) -> bool {
    ends_in(name, OFFICE_ENDINGS)
}

fn is_named_so(name: &str) -> bool {
    [ZIP_ENDINGS, TAR_ENDINGS, SINGLE_ENDINGS]
        .iter()
        .any(|endings| ends_in(name, endings))
}

impl Kind for Archive {
    fn kind(&self) -> ResourceKind {
        ResourceKind::Archive
    }

    fn claims(&self, name: &str, _: &Selector) -> bool {
        is_named_so(name) || is_office(name)
    }

    fn splits(&self, path: &str) -> Vec<usize> {
        let parts = path.match_indices(':').map(|(at, _)| at).take(MAX_SPLITS);
        parts
            .filter(|at| is_named_so(&path[..*at]) || is_office(&path[..*at]))
            .take(MAX_NAMED)
            .collect()
    }

    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Refusal> {
        let handle = match asked.subject {
            Subject::File(handle) => handle,
            Subject::Member {
                outer, name, bytes, ..
            } => return Ok(nested(outer, name, bytes)),
        };
        // Of a document it is for the kind of documents to say what a selector means.
        let inner = asked
            .inner
            .map(|inner| inner.strip_prefix(':').unwrap_or(inner));
        if is_office(&asked.subject.file_name())
            && inner.is_none_or(|inner| Selector::parse(inner).is_ok())
        {
            return Ok(None);
        }
        let refuse = |error: std::io::Error| Refusal::io(asked.spelled, &error);
        for _ in 0..STEADY_ATTEMPTS {
            let before = handle.restamp().map_err(refuse)?;
            let disk = Disk::new(handle, before.size, asked.means.work);
            let state = FileState::of(handle, before).map_err(refuse)?;
            let opened = open_steady(asked, (&state, handle), &disk);
            if handle.restamp().map_err(refuse)? == before {
                return opened;
            }
        }
        let message = format!("'{}' is being changed all the time.", asked.spelled);
        Err(Refusal::Busy { message })
    }
}

/// Opens an archive that does not change meanwhile.
fn open_steady(
    asked: &Asked,
    (state, handle): (&FileState, &Handle),
    disk: &Disk,
) -> Result<Option<Opened>, Refusal> {
    let Some((known, warm)) = known::know(asked, (state, handle), disk)? else {
        return Ok(None);
    };
    let archive = OpenedArchive {
        asked,
        state,
        handle,
        disk,
        known: &known,
        warm,
    };
    let link = |entry: &index::Entry| member::link_text(disk, &known, entry);
    let wanted = match asked.inner {
        // Of one compressed file that is what it is about.
        None if matches!(known.form, ArchiveForm::Single(_)) => {
            return archive.only(asked.selector.clone());
        }
        None => path::find(asked, handle, &known.index, ":", &link)?,
        Some(inner) => path::find(asked, handle, &known.index, inner, &link)?,
    };
    let selector = match asked.inner {
        None => asked.selector.clone(),
        Some(_) => wanted.selector,
    };
    match wanted.place {
        MemberPlace::Directory(path)
            if path.is_empty()
                && selector != Selector::default()
                && matches!(known.form, ArchiveForm::Single(_)) =>
        {
            archive.only(selector)
        }
        MemberPlace::Directory(path) => archive.directory(&path, &wanted.path, selector),
        MemberPlace::Dead(why) => Ok(Some(archive.note(
            &wanted.path,
            format!("[{} is {why}]", in_header(&wanted.path)),
        ))),
        MemberPlace::Member(entry, path) => {
            archive.member(entry, &path, &wanted.path, selector, wanted.inner)
        }
    }
}

/// An archive that is being read.
struct OpenedArchive<'a> {
    asked: &'a Asked<'a>,
    /// As it was found in this request.
    state: &'a FileState,
    handle: &'a Handle,
    disk: &'a Disk<'a>,
    known: &'a Known,
    /// Whether what is known was kept from before.
    warm: bool,
}

impl OpenedArchive<'_> {
    fn cache(&self, part_is_warm: bool) -> Cache {
        match self.warm && part_is_warm {
            true => Cache::Hit,
            false => Cache::Miss,
        }
    }

    /// How a member is called in messages.
    fn name(&self, path: &str) -> String {
        match path {
            "" => self.asked.means.display.to_owned(),
            path => format!("{}:{}", self.asked.means.display, in_header(path)),
        }
    }

    /// The document that every answer about an archive is.
    fn document(&self, style: Style, text: Text) -> Document {
        Document {
            kind: ResourceKind::Archive,
            style,
            location: location(&self.handle.into(), None),
            text: text.into(),
            cache: self.cache(true),
            details: MoreDetails::default(),
            notices: Vec::new(),
            extras: Extras::default(),
        }
    }

    /// A few words in the place of a member.
    fn note(&self, path: &str, words: String) -> Opened {
        Opened {
            name: Some(self.name(path)),
            selector: Some(Selector::default()),
            ..Opened::read_only(self.document(Style::Note, Text::new(&words)))
        }
    }

    /// The only member of a compressed file.
    fn only(&self, selector: Selector) -> Result<Option<Opened>, Refusal> {
        let Some(entry) = self.known.index.entries().first() else {
            return Ok(None);
        };
        let path = self.known.index.path(entry).to_owned();
        let opened = self.member(entry, &path, &path, selector, None)?;
        // It was asked for by the path of the whole.
        Ok(opened.map(|opened| Opened {
            name: Some(self.name("")),
            ..opened
        }))
    }

    /// A member under its own path, and under the one it was asked for by.
    fn member(
        &self,
        entry: &index::Entry,
        path: &str,
        asked_path: &str,
        selector: Selector,
        inner: Option<&str>,
    ) -> Result<Option<Opened>, Refusal> {
        if let index::EntryKind::Special(what) = entry.kind {
            let words = format!(
                "[Cannot read archive entry '{}': it is a {}]",
                in_header(path),
                what.in_words()
            );
            return Ok(Some(self.note(asked_path, words)));
        }
        let file_name = path.rsplit('/').next().unwrap_or(path);
        let is_claimed = kind::is_claimed(file_name, &selector);
        if is_claimed
            && let Some(opened) = self.by_kind(entry, path, asked_path, &selector, inner)?
        {
            return Ok(Some(opened));
        }
        if let Some(inner) = inner {
            return Err(Refusal::BadSelector {
                path: Some(self.asked.spelled.to_owned()),
                message: crate::view::selector::SelectorError::Unknown(inner.to_owned())
                    .to_string(),
            });
        }
        let part = match self.asked.encoding {
            None => format!("text:{path}"),
            Some(encoding) => format!("text={}:{path}", encoding.name()),
        };
        let (held, warm) = self.held(entry, &part, false)?;
        let mut opened = match &held.content {
            MemberContent::Binary(bytes) => {
                let size = file_size(*bytes);
                let name = in_header(path);
                let words = format!("[Cannot read binary archive entry '{name}' ({size})]");
                let mut opened = self.note(asked_path, words);
                opened.document.details.total_bytes = Some(*bytes);
                opened
            }
            text => {
                refuse_own(&selector, self.asked.spelled, "text")?;
                Opened {
                    name: Some(self.name(asked_path)),
                    ..Opened::read_only(self.text(text, &selector))
                }
            }
        };
        opened.selector.get_or_insert(selector);
        self.say(&mut opened, entry, &held.faults, warm);
        Ok(Some(opened))
    }

    /// A text, or of a large one what can be shown of it.
    fn text(&self, content: &MemberContent, selector: &Selector) -> Document {
        let mut document = self.document(Style::Lines, Text::new(""));
        let details = &mut document.details;
        match content {
            MemberContent::Binary(_) | MemberContent::Bytes(_) => {}
            MemberContent::Text { decoded, bytes } => {
                details.encoding = Some(label(decoded.encoding));
                details.encoding_confidence = Some(decoded.confidence.as_str());
                details.line_ending = Some(decoded.text.line_ending().as_str());
                details.bom = Some(decoded.bom);
                details.total_lines = Some(decoded.text.len_lines() as u64);
                details.total_bytes = Some(*bytes);
                document.text = decoded.text.clone().into();
                let lossy = super::text::lossy(decoded.bad_bytes, decoded.encoding);
                document.notices.extend(lossy);
            }
            MemberContent::Large(text) => {
                let excerpt = large::excerpt(&text.text, selector, &self.asked.means.limits);
                details.encoding = Some(label(text.encoding));
                details.encoding_confidence = Some(text.confidence.as_str());
                details.line_ending = Some(large::line_ending(&text.text));
                details.bom = Some(text.bom);
                details.total_lines = excerpt.total_lines;
                details.total_bytes = Some(text.bytes);
                document.text = view::Content::Excerpt(excerpt);
                let lossy = text.lossy.then(|| super::huge::lossy_notice(text.encoding));
                document.notices.extend(lossy);
            }
        }
        document
    }

    /// As another kind than text.
    fn by_kind(
        &self,
        entry: &index::Entry,
        path: &str,
        asked_path: &str,
        selector: &Selector,
        inner: Option<&str>,
    ) -> Result<Option<Opened>, Refusal> {
        let (held, warm) = self.held(entry, &format!("bytes:{path}"), true)?;
        let MemberContent::Bytes(bytes) = &held.content else {
            return Ok(None);
        };
        let asked = Asked {
            subject: Subject::Member {
                outer: self.handle,
                state: self.state,
                name: path,
                bytes,
            },
            inner,
            selector,
            means: ReadContext {
                selector,
                ..self.asked.means
            },
            ..*self.asked
        };
        // The other kind may take long, and holds no archive.
        self.disk.give_up_turn();
        let Some(mut opened) = kind::open(&asked)? else {
            return Ok(None);
        };
        // Nothing in an archive can be edited.
        opened.snapshot = None;
        opened.selector.get_or_insert_with(|| selector.clone());
        opened.name.get_or_insert_with(|| self.name(asked_path));
        self.say(&mut opened, entry, &held.faults, warm);
        Ok(Some(opened))
    }

    /// Says what is wrong with a member, and that it is not the only one of its name.
    fn say(&self, opened: &mut Opened, entry: &index::Entry, faults: &[String], warm: bool) {
        let document = &mut opened.document;
        if !(self.warm && warm) {
            document.cache = Cache::Miss;
        }
        let mut words = faults.to_vec();
        if entry.repeated {
            words.push(
                "The archive has several members of this name; this is the last one".to_owned(),
            );
        }
        document.notices.extend(words.iter().cloned());
        document.extras.footers.extend(words);
    }

    /// Bytes that go in or come out before a member is there, as far as is said.
    fn goes_through(&self, entry: &index::Entry) -> u64 {
        match self.known.form {
            ArchiveForm::Zip => entry.packed.max(entry.size),
            ArchiveForm::Tar(None) => entry.packed,
            ArchiveForm::Tar(Some(_)) => {
                self.disk.len.max(entry.offset.saturating_add(entry.packed))
            }
            ArchiveForm::Single(_) => self.disk.len,
        }
    }

    /// What was made of a member: kept from before, or made now.
    fn held(
        &self,
        entry: &index::Entry,
        part: &str,
        as_bytes: bool,
    ) -> Result<(Arc<HeldMember>, bool), Refusal> {
        let warm = self.asked.means.warm;
        if let Some(held) = warm.get::<HeldMember>(self.state, MAKER, part) {
            return Ok((held, true));
        }
        let long = self.goes_through(entry) > LONG_FROM_BYTES && !entry.encrypted;
        if long && self.disk.takes_long()? {
            return self.held(entry, part, as_bytes);
        }
        let held = Arc::new(member::take_out(
            self.asked, self.disk, self.known, entry, as_bytes,
        )?);
        let of = (self.state, self.handle);
        warm.keep(of, MAKER, part, Arc::clone(&held), held.weight());
        Ok((held, false))
    }
}

/// An archive in an archive is said to be one; `None` where it is none.
fn nested(outer: &Handle, name: &str, bytes: &Arc<[u8]>) -> Option<Opened> {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    let is_tar = bytes.first_chunk().is_some_and(tar::is_header);
    let is_archive = zip::begins(bytes) || Codec::of(bytes).is_some() || is_tar;
    if !is_archive || is_office(file_name) {
        return None;
    }
    let words = format!(
        "[Archive entry '{}' ({}) is itself an archive; one inside another is not opened. Extract it to read what it holds]",
        in_header(name),
        file_size(bytes.len() as u64)
    );
    Some(Opened {
        selector: Some(Selector::default()),
        ..Opened::read_only(Document {
            kind: ResourceKind::Archive,
            style: Style::Note,
            location: location(&outer.into(), None),
            text: Text::new(&words).into(),
            cache: Cache::Hit,
            details: MoreDetails {
                total_bytes: Some(bytes.len() as u64),
                ..MoreDetails::default()
            },
            notices: Vec::new(),
            extras: Extras::default(),
        })
    })
}
