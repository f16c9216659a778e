//! What an archive holds, compactly: a million entries fit; no byte of a member is ever kept here.

use std::collections::HashMap;

use crate::protocol::Refusal;
use crate::task::Work;

use super::names::{Charset, MemberName, normalised, path_of};

/// Entries after which an archive is not looked at further.
pub const MAX_ENTRIES: usize = 1_000_000;

/// Bytes of all names and link targets after which it is not looked at further.
const MAX_NAME_BYTES: usize = 64 * 1024 * 1024;

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    /// What it says is in `link`, or, in a zip, the member's content.
    Symlink,
    /// Another name of the member that `link` names.
    Hardlink,
    Special(Special),
}

/// A member that is neither file, directory nor link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    Fifo,
    CharacterDevice,
    BlockDevice,
    Socket,
}

impl Special {
    pub fn in_words(self) -> &'static str {
        match self {
            Special::Fifo => "FIFO",
            Special::CharacterDevice => "character device",
            Special::BlockDevice => "block device",
            Special::Socket => "socket",
        }
    }
}

/// How a member's bytes are to be had from where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// By a method of zip.
    Method(u16),
    /// As they are, in a tar.
    Plain,
    /// With a map of its holes in front (PAX 1.0), which the size is not part of.
    SparseInFront,
    /// With a map of its holes in the index.
    SparseMapped,
}

/// One member. Sizes are as the archive says, and never believed.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub(super) path: (u32, u32),
    pub(super) link: (u32, u32),
    pub kind: EntryKind,
    pub packing: Packing,
    pub encrypted: bool,
    /// Zip: the stream must tell its own end.
    pub self_ending: bool,
    /// It ends beyond the end of the archive.
    pub cut: bool,
    /// There were others of this name before it.
    pub repeated: bool,
    /// Bytes when it is unpacked.
    pub size: u64,
    /// Bytes in the archive.
    pub packed: u64,
    /// Zip: of its local header. Tar: of its bytes, in what the archive inflates to.
    pub offset: u64,
    pub crc: Option<u32>,
    pub(super) order: u32,
}

impl Entry {
    pub fn new(kind: EntryKind, packing: Packing) -> Entry {
        Entry {
            path: (0, 0),
            link: (0, 0),
            kind,
            packing,
            encrypted: false,
            self_ending: false,
            cut: false,
            repeated: false,
            size: 0,
            packed: 0,
            offset: 0,
            crc: None,
            order: 0,
        }
    }
}

/// The regions of a sparse member that are in the archive: offset and length, one after the other.
pub type Regions = Vec<(u64, u64)>;

/// The members of an archive by their paths.
#[derive(Debug)]
pub struct Index {
    text: String,
    /// Sorted by path; of one path the file comes before the directory.
    entries: Vec<Entry>,
    sparse: HashMap<u32, Regions>,
    pub unsafe_names: u64,
    /// Paths that more than one member has.
    pub repeated_names: u64,
    /// Damage, and where looking ended; one sentence each.
    pub notices: Vec<String>,
    /// Set where not all of it was looked at: a missing name may be in the rest.
    pub incomplete: bool,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
pub enum IndexNode<'a> {
    Member(&'a Entry),
    Directory,
}

/// A child of a directory, as a listing shows it.
#[derive(Debug, Clone, Copy)]
pub struct Child<'a> {
    /// The last part of its path.
    pub name: &'a str,
    /// `None` for a directory.
    pub member: Option<&'a Entry>,
}

impl Index {
    pub fn path(&self, entry: &Entry) -> &str {
        &self.text[entry.path.0 as usize..][..entry.path.1 as usize]
    }

    /// What a link says, where the index knows.
    pub fn link(&self, entry: &Entry) -> &str {
        &self.text[entry.link.0 as usize..][..entry.link.1 as usize]
    }

    pub fn regions(&self, entry: &Entry) -> Option<&Regions> {
        self.sparse.get(&entry.order)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Bytes in memory.
    pub fn weight(&self) -> u64 {
        let entries = self.entries.capacity() * size_of::<Entry>();
        let regions: usize = self.sparse.values().map(|map| map.len() * 16 + 64).sum();
        (self.text.capacity() + entries + regions) as u64
    }

    /// What has this path, in its normal form; a file before a directory of the same name.
    pub fn find(&self, path: &str) -> Option<IndexNode<'_>> {
        if path.is_empty() {
            return Some(IndexNode::Directory);
        }
        let at = self
            .entries
            .partition_point(|entry| self.path(entry) < path);
        match self
            .entries
            .get(at)
            .filter(|entry| self.path(entry) == path)
        {
            Some(entry) if entry.kind == EntryKind::Directory => Some(IndexNode::Directory),
            Some(entry) => Some(IndexNode::Member(entry)),
            None => self.is_directory(path).then_some(IndexNode::Directory),
        }
    }

    /// Whether there is a directory of this path, be it only implied by what is in it.
    pub fn is_directory(&self, path: &str) -> bool {
        if path.is_empty() {
            return true;
        }
        let at = self
            .entries
            .partition_point(|entry| self.path(entry) < path);
        let same = self.entries[at..].iter();
        let mut same = same.take_while(|entry| self.path(entry) == path);
        if same.any(|entry| entry.kind == EntryKind::Directory) {
            return true;
        }
        let below = format!("{path}/");
        let at = self
            .entries
            .partition_point(|entry| self.path(entry) < &*below);
        let next = self.entries.get(at);
        next.is_some_and(|entry| self.path(entry).starts_with(&below))
    }

    /// The children of a directory: directories first, then by name.
    pub fn children(&self, directory: &str, work: &Work) -> Result<Vec<Child<'_>>, Refusal> {
        let prefix = match directory {
            "" => String::new(),
            directory => format!("{directory}/"),
        };
        let (mut directories, mut members) = (Vec::new(), Vec::new());
        let mut at = self
            .entries
            .partition_point(|entry| self.path(entry) < &*prefix);
        while let Some(entry) = self.entries.get(at) {
            if (directories.len() + members.len()).is_multiple_of(4096) {
                work.check()?;
            }
            let Some(below) = self.path(entry).strip_prefix(&*prefix) else {
                break;
            };
            at += 1;
            match below.split_once('/') {
                Some((name, _)) => {
                    directories.push(name);
                    // All that is below it stands together; '0' is what follows '/'.
                    let end = format!("{prefix}{name}0");
                    let rest = &self.entries[at..];
                    at += rest.partition_point(|entry| self.path(entry) < &*end);
                }
                None if entry.kind == EntryKind::Directory => directories.push(below),
                None => members.push(Child {
                    name: below,
                    member: Some(entry),
                }),
            }
        }
        directories.sort_unstable();
        directories.dedup();
        let mut children: Vec<Child> = directories
            .into_iter()
            .map(|name| Child { name, member: None })
            .collect();
        children.append(&mut members);
        Ok(children)
    }
}

/// A name that was not UTF-8, until all of them are there and can be told what they are.
#[derive(Debug)]
struct Undecoded {
    name: Box<[u8]>,
    link: Box<[u8]>,
    entry: Entry,
    charset: Option<Charset>,
}

/// An index that is being made.
#[derive(Debug)]
pub struct Builder {
    index: Index,
    undecoded: Vec<Undecoded>,
    undecoded_bytes: usize,
    count: u32,
    /// Backslashes part names; and names are in an OEM code page where nothing else is said.
    is_zip: bool,
}

/// A name as an archive writes it.
#[derive(Debug, Clone, Copy)]
pub struct RawName<'a> {
    pub bytes: &'a [u8],
    /// What a link says.
    pub link: &'a [u8],
    /// The archive says that it is UTF-8.
    pub utf8: bool,
}

impl Builder {
    /// For about so many members.
    pub fn new(expected: usize, is_zip: bool) -> Builder {
        Builder {
            index: Index {
                text: String::new(),
                entries: Vec::with_capacity(expected.min(MAX_ENTRIES)),
                sparse: HashMap::new(),
                unsafe_names: 0,
                repeated_names: 0,
                notices: Vec::new(),
                incomplete: false,
            },
            undecoded: Vec::new(),
            undecoded_bytes: 0,
            count: 0,
            is_zip,
        }
    }

    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Says what is damaged, or where looking ended.
    pub fn notice(&mut self, notice: String) {
        if !self.index.notices.contains(&notice) && self.index.notices.len() < 8 {
            self.index.notices.push(notice);
        }
    }

    /// Says why the rest was not looked at.
    pub fn stop(&mut self, notice: String) {
        self.notice(notice);
        self.index.incomplete = true;
    }

    /// Adds a member; `false` where no more are taken.
    pub fn add(&mut self, name: RawName, mut entry: Entry, regions: Option<Regions>) -> bool {
        let bytes = self.index.text.len() + self.undecoded_bytes;
        if self.count as usize >= MAX_ENTRIES || bytes > MAX_NAME_BYTES {
            self.stop(match self.count as usize >= MAX_ENTRIES {
                true => format!("Only the first {MAX_ENTRIES} entries are looked at"),
                false => "The names take more than 64 MiB; the rest is not looked at".to_owned(),
            });
            return false;
        }
        entry.order = self.count;
        self.count += 1;
        if let Some(regions) = regions {
            self.index.sparse.insert(entry.order, regions);
        }
        match (
            std::str::from_utf8(name.bytes),
            std::str::from_utf8(name.link),
        ) {
            (Ok(text), Ok(link)) => self.insert(text, link, entry),
            _ => {
                // One byte may become three.
                let bytes = 3 * (name.bytes.len() + name.link.len());
                self.undecoded_bytes += bytes + size_of::<Undecoded>();
                self.undecoded.push(Undecoded {
                    name: name.bytes.into(),
                    link: name.link.into(),
                    charset: name.utf8.then_some(Charset::BROKEN_UTF8),
                    entry,
                });
            }
        }
        true
    }

    fn insert(&mut self, name: &str, link: &str, mut entry: Entry) {
        let mut put = |text: &str| {
            let at = self.index.text.len() as u32;
            self.index.text.push_str(text);
            (at, text.len() as u32)
        };
        match path_of(name, self.is_zip) {
            MemberName::Root => {}
            MemberName::Unsafe => self.index.unsafe_names += 1,
            MemberName::Path(path) => {
                entry.path = put(&path);
                entry.link = match entry.kind {
                    // Unlike a symbolic link it says its target as members are named.
                    EntryKind::Hardlink => match normalised(link.trim_start_matches('/')) {
                        Some(path) => put(&path),
                        None => put(link),
                    },
                    _ => put(link),
                };
                self.index.entries.push(entry);
            }
        }
    }

    /// Decodes what is left, sorts, and of one path keeps the last member.
    pub fn finish(mut self, work: &Work) -> Result<Index, Refusal> {
        let undecoded = std::mem::take(&mut self.undecoded);
        let unsaid = undecoded.iter().filter(|name| name.charset.is_none());
        let unsaid = unsaid.map(|name| match name.name.is_ascii() {
            true => &*name.link,
            false => &*name.name,
        });
        let charset = match undecoded.is_empty() {
            true => Charset::Cp437,
            false => Charset::guess(unsaid, self.is_zip),
        };
        for Undecoded {
            name,
            link,
            entry,
            charset: said,
        } in undecoded
        {
            let charset = said.unwrap_or(charset);
            let decode = |bytes: &[u8]| match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => charset.decode(bytes),
            };
            self.insert(&decode(&name), &decode(&link), entry);
        }
        work.check()?;
        let mut index = self.index;
        index.text.shrink_to_fit();
        let text = std::mem::take(&mut index.text);
        let path = |entry: &Entry| &text[entry.path.0 as usize..][..entry.path.1 as usize];
        let is_directory = |entry: &Entry| entry.kind == EntryKind::Directory;
        index.entries.sort_unstable_by(|a, b| {
            let by_path = path(a).cmp(path(b));
            let by_kind = by_path.then_with(|| is_directory(a).cmp(&is_directory(b)));
            by_kind.then_with(|| a.order.cmp(&b.order))
        });
        work.check()?;
        let mut repeated_names = 0;
        // The last member of a path stays, in the place of those before it.
        index.entries.dedup_by(|later, kept| {
            let same = path(later) == path(kept) && is_directory(later) == is_directory(kept);
            if same {
                repeated_names += u64::from(!kept.repeated && !is_directory(kept));
                later.repeated = true;
                *kept = *later;
            }
            same
        });
        index.repeated_names = repeated_names;
        index.text = text;
        Ok(index)
    }
}
