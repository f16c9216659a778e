//! The children of a directory in an archive; a name that is unsafe or denied is never among them.

use crate::protocol::Refusal;
use crate::text::Text;
use crate::view::members::{self, MemberKind};
use crate::view::{Selector, Style};

use super::super::{Opened, refuse_own};
use super::index::{Child, EntryKind, Index};
use super::known::ArchiveForm;
use super::member::link_text;
use super::{OpenedArchive, member};

/// Entries of a listing that names no end.
const SHOWN: u64 = 500;

/// A listing of more entries takes long: each name is judged.
const LONG_FROM_ENTRIES: usize = 2000;

/// Links of a zip whose targets a listing looks up: each is a member to be unpacked.
const LINKS_READ: usize = 1000;

impl OpenedArchive<'_> {
    /// The children of a directory; `asked_path` is what was asked for, which may be a link to it.
    pub(super) fn directory(
        &self,
        path: &str,
        asked_path: &str,
        selector: Selector,
    ) -> Result<Option<Opened>, Refusal> {
        refuse_own(&selector, self.asked.spelled, "a listing")?;
        let index = &self.known.index;
        let real = self.handle.real().as_path().join(path);
        let permits = self.asked.means.scope.permits_in(&real);
        let children = index.children(path, self.asked.means.work)?;
        if children.len() > LONG_FROM_ENTRIES {
            self.disk.takes_long()?;
        }
        let mut text = String::new();
        let mut links = 0;
        for (count, child) in children.into_iter().enumerate() {
            if count % 1024 == 0 {
                self.asked.means.work.check()?;
            }
            if self.handle.is_own() || permits(child.name, child.member.is_none()) {
                let kind = self.member_kind(&child, &mut links)?;
                members::push_row(&mut text, child.name, &kind);
            }
        }
        if text.is_empty() {
            text.push_str(match path {
                "" => "(empty archive)\n",
                _ => "(empty directory)\n",
            });
        }
        let text = Text::new(&text);
        let total = text.len_lines() as u64;
        let mut document = self.document(Style::Listing, text);
        document.details.is_directory = Some(true);
        document.details.total_lines = Some(total);
        document.extras.open_lines = Some(SHOWN);
        document.extras.rows_are = Some("entries");
        let words = notices(index);
        document.notices = words.clone();
        document.extras.footers = words;
        Ok(Some(Opened {
            name: Some(self.name(asked_path)),
            selector: Some(selector),
            ..Opened::read_only(document)
        }))
    }

    fn member_kind(&self, child: &Child, links: &mut usize) -> Result<MemberKind, Refusal> {
        let Some(entry) = child.member else {
            return Ok(MemberKind::Directory);
        };
        Ok(match entry.kind {
            EntryKind::Directory => MemberKind::Directory,
            EntryKind::Special(what) => MemberKind::Special(what.in_words()),
            EntryKind::Symlink | EntryKind::Hardlink => {
                *links += 1;
                let is_free = self.known.form != ArchiveForm::Zip;
                MemberKind::Link(match is_free || *links <= LINKS_READ {
                    true => link_text(self.disk, self.known, entry)?,
                    false => None,
                })
            }
            EntryKind::File => MemberKind::File {
                size: match self.known.form {
                    ArchiveForm::Single(_) => self.inflated_size()?,
                    _ => Some(entry.size),
                },
                encrypted: entry.encrypted,
            },
        })
    }

    /// Bytes of the only member of a compressed file, which does not say them in a way that could
    /// be believed; `None` where there are too many.
    fn inflated_size(&self) -> Result<Option<u64>, Refusal> {
        let Some(entry) = self.known.index.entries().first() else {
            return Ok(None);
        };
        match member::unpack(self.asked, self.disk, self.known, entry) {
            Ok(unpacked) => Ok(Some(unpacked.bytes.len() as u64)),
            Err(Refusal::TooLarge { .. }) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }
}

/// What is wrong with the archive as a whole.
fn notices(index: &Index) -> Vec<String> {
    let mut words = index.notices.clone();
    words.extend(match index.unsafe_names {
        0 => None,
        1 => Some("1 entry with an unsafe name is not listed".to_owned()),
        count => Some(format!("{count} entries with unsafe names are not listed")),
    });
    words.extend(match index.repeated_names {
        0 => None,
        1 => Some(
            "1 name occurs more than once; the last member of that name is the one read".to_owned(),
        ),
        count => Some(format!(
            "{count} names occur more than once; the last member of each is the one read"
        )),
    });
    words
}
