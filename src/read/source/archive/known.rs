//! What is known of an archive: its form by its content, and its index, both kept warm; its name alone proves nothing.

use std::io;
use std::sync::Arc;

use crate::buffer::FileState;
use crate::protocol::Refusal;
use crate::task::LONG_FROM_BYTES;
use crate::text::{NotText, decode};
use crate::workspace::Handle;

use super::index::{Builder, Entry, EntryKind, Index, Packing, RawName};
use super::inflate::{Codec, Disk, Halt, Inflow, MAX_PASS};
use super::tar::{self, BLOCK};
use super::zip;
use super::{Asked, MAKER};

/// How an archive is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveForm {
    Zip,
    /// Compressed as a whole, or not at all.
    Tar(Option<Codec>),
    /// One compressed file.
    Single(Codec),
}

/// An archive that was looked at.
#[derive(Debug)]
pub struct Known {
    pub form: ArchiveForm,
    pub index: Index,
}

/// Bytes by which text is told from what is damaged.
const HEAD: usize = 8192;

/// Looks at the archive, or takes what was kept of it; `None` where it is none, and text. Also says
/// whether it was warm.
pub fn know(
    asked: &Asked,
    (state, handle): (&FileState, &Handle),
    disk: &Disk,
) -> Result<Option<(Arc<Known>, bool)>, Refusal> {
    let warm = asked.means.warm;
    if let Some(known) = warm.get::<Known>(state, MAKER, "") {
        return Ok(Some((known, true)));
    }
    let refuse = |error: io::Error| Refusal::io(asked.spelled, &error);
    let Some(sniffed) = sniff(disk).map_err(refuse)? else {
        let head = disk.bytes(0, HEAD).map_err(refuse)?;
        return match decode(&head, asked.encoding) {
            Err(NotText::Binary { .. }) if !super::is_office(&asked.subject.file_name()) => {
                Err(nothing(asked, "no archive was found in it"))
            }
            _ => Ok(None),
        };
    };
    if sniffed.bytes(disk) > LONG_FROM_BYTES && disk.takes_long()? {
        return know(asked, (state, handle), disk);
    }
    let known = Arc::new(look(asked, disk, sniffed)?);
    let weight = known.index.weight();
    warm.keep((state, handle), MAKER, "", Arc::clone(&known), weight);
    Ok(Some((known, false)))
}

/// Nothing can be had of it.
fn nothing(asked: &Asked, what: &str) -> Refusal {
    Refusal::Damaged {
        path: asked.spelled.to_owned(),
        what: what.to_owned(),
        instead: "Nothing in it can be read; get the archive again.".to_owned(),
    }
}

/// What an archive is by its first bytes and its last.
enum Sniffed {
    Compressed(Codec),
    Tar,
    /// With its directory, where that is found.
    Zip(Option<zip::CentralDirectory>),
}

impl Sniffed {
    /// Bytes to be gone through to know what it holds.
    fn bytes(&self, disk: &Disk) -> u64 {
        match self {
            Sniffed::Zip(Some(found)) => found.directory_bytes(),
            Sniffed::Compressed(_) | Sniffed::Tar | Sniffed::Zip(None) => disk.len,
        }
    }
}

fn sniff(disk: &Disk) -> io::Result<Option<Sniffed>> {
    let head = disk.bytes(0, 2 * BLOCK)?;
    if let Some(codec) = Codec::of(&head) {
        return Ok(Some(Sniffed::Compressed(codec)));
    }
    let is_empty_tar = head == [0; 2 * BLOCK];
    if is_empty_tar || head.first_chunk().is_some_and(tar::is_header) {
        return Ok(Some(Sniffed::Tar));
    }
    let found = zip::find(disk)?;
    let is_zip = found.is_some() || zip::begins(&head);
    Ok(is_zip.then_some(Sniffed::Zip(found)))
}

fn look(asked: &Asked, disk: &Disk, sniffed: Sniffed) -> Result<Known, Refusal> {
    let found = match sniffed {
        Sniffed::Compressed(codec) => return compressed(asked, disk, codec),
        Sniffed::Tar => {
            let mut builder = Builder::new(0, false);
            let walked = tar::index(&mut tar::Plain::new(disk), &mut builder, disk.work);
            return Ok(Known {
                form: ArchiveForm::Tar(None),
                index: finished(asked, builder, walked)?,
            });
        }
        Sniffed::Zip(found) => found,
    };
    let refuse = |error: io::Error| Refusal::io(asked.spelled, &error);
    let index = zip::index(disk, found)?.map_err(refuse)?;
    if index.entries().is_empty() && !index.notices.is_empty() {
        return Err(nothing(
            asked,
            "neither its directory nor a whole member of it is there",
        ));
    }
    Ok(Known {
        form: ArchiveForm::Zip,
        index,
    })
}

/// A tar, if what comes out begins like one; else one file.
fn compressed(asked: &Asked, disk: &Disk, codec: Codec) -> Result<Known, Refusal> {
    let refuse = |error: io::Error| Refusal::io(asked.spelled, &error);
    let inflow = || -> Result<Inflow, Refusal> {
        let from = disk.range(0, disk.len).map_err(refuse)?;
        let decoder = codec.decoder(from).map_err(refuse)?;
        Ok(Inflow::new(decoder, disk.len, MAX_PASS, disk))
    };
    let mut first = [0; BLOCK];
    let is_tar = match inflow()?.fill(&mut first) {
        Ok(count) => {
            count == BLOCK && (tar::is_header(&first) || first == [0; BLOCK] && says_tar(asked))
        }
        Err(Halt::Refused(refusal)) => return Err(refusal),
        Err(Halt::Broken(error)) => {
            return Err(nothing(
                asked,
                &format!("nothing of it can be inflated ({error})"),
            ));
        }
        Err(Halt::Window) => return Err(too_large(asked, WIDE)),
        Err(Halt::TooMuch | Halt::Bomb) => false,
    };
    if !is_tar {
        let mut builder = Builder::new(1, false);
        let mut entry = Entry::new(EntryKind::File, Packing::Plain);
        entry.packed = disk.len;
        let name = single_name(&asked.subject.file_name());
        let raw = RawName {
            bytes: name.as_bytes(),
            link: b"",
            utf8: true,
        };
        builder.add(raw, entry, None);
        return Ok(Known {
            form: ArchiveForm::Single(codec),
            index: builder.finish(disk.work)?,
        });
    }
    let mut builder = Builder::new(0, false);
    let walked = tar::index(&mut inflow()?, &mut builder, disk.work);
    Ok(Known {
        form: ArchiveForm::Tar(Some(codec)),
        index: finished(asked, builder, walked)?,
    })
}

/// Whether a file's name says that there is a tar inside.
fn says_tar(asked: &Asked) -> bool {
    let name = asked.subject.file_name().to_ascii_lowercase();
    super::TAR_ENDINGS
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// The name of what a single compressed file holds: its own without the last ending.
fn single_name(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => match ending.to_ascii_lowercase().as_str() {
            "tgz" | "tbz" | "tbz2" | "txz" | "tzst" => format!("{stem}.tar"),
            _ => stem.to_owned(),
        },
        _ => "content".to_owned(),
    }
}

/// What was found before the pass came to its end, or to where it had to stop.
fn finished(
    asked: &Asked,
    mut builder: Builder,
    walked: Result<(), Halt>,
) -> Result<Index, Refusal> {
    match walked {
        Ok(()) => {}
        Err(Halt::Refused(refusal)) => return Err(refusal),
        Err(_) if builder.len() == 0 => {
            return Err(nothing(asked, "not one member of it can be read"));
        }
        Err(Halt::TooMuch) => builder.stop(
            "Only the first 256 MiB of what is inflated are looked at: later members are not listed".to_owned(),
        ),
        Err(Halt::Bomb) => builder.stop(
            "It inflates to more than 1,000 times its size, as only a decompression bomb does: later members are not looked at"
                .to_owned(),
        ),
        Err(Halt::Window) => builder.stop(
            "To inflate what follows the last member listed takes a window of more than 128 MiB: it is not looked at"
                .to_owned(),
        ),
        Err(Halt::Broken(error)) => {
            builder.notice(format!("The archive is damaged or cut: what follows the last member listed cannot be read ({error})"));
        }
    }
    builder.finish(asked.means.work)
}

/// Why what was packed with a window over [`MAX_WINDOW_LOG`](super::inflate::MAX_WINDOW_LOG) is not unpacked.
pub const WIDE: &str = "to unpack it takes a window of more than 128 MiB";

pub fn too_large(asked: &Asked, what: &str) -> Refusal {
    Refusal::TooLarge {
        path: asked.spelled.to_owned(),
        what: what.to_owned(),
        instead: "Extract it with a tool, and read the lines you need from the file.".to_owned(),
    }
}
