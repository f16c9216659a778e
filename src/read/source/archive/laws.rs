//! What is true of the index of any archive, whatever its bytes; for the fuzz targets.
//!
//! An index has only paths that stay inside, each once, in order; every member is reached from the
//! root and found by its path; and there are no more members and no longer names than the bytes can
//! hold.

use std::collections::BTreeSet;

use crate::task::Work;
use crate::workspace::Handle;

use super::index::{Builder, Entry, EntryKind, Index, IndexNode};
use super::inflate::Disk;
use super::{tar, zip};

/// Bytes of the shortest member: a zip's local header.
const SHORTEST: u64 = 30;

/// The laws of an index and of what a zip says of its members.
pub fn zip(handle: &Handle, work: &Work) {
    let disk = Disk::new(handle, handle.stamp().size, work);
    let found = zip::find(&disk).expect("the file can be read");
    let index = zip::index(&disk, found);
    let index = index.expect("there is time enough");
    holds(&index.expect("the file can be read"), disk.len, work);
}

/// The laws of an index, and that a member that is not cut is within the file.
pub fn tar(handle: &Handle, work: &Work) {
    let disk = Disk::new(handle, handle.stamp().size, work);
    let mut builder = Builder::new(0, false);
    // Where it is halted, what came before stays.
    let _ = tar::index(&mut tar::Plain::new(&disk), &mut builder, work);
    let index = builder.finish(work).expect("there is time enough");
    for entry in index.entries().iter().filter(|entry| !entry.cut) {
        let end = entry.offset.checked_add(entry.packed);
        assert!(end.is_some_and(|end| end <= disk.len), "{entry:?}");
    }
    holds(&index, disk.len, work);
}

fn holds(index: &Index, len: u64, work: &Work) {
    let entries = index.entries();
    assert!(entries.len() as u64 <= len / SHORTEST);
    let names: usize = entries.iter().map(|entry| index.path(entry).len()).sum();
    // A byte of an old code page is up to three of UTF-8.
    assert!(names as u64 <= 3 * len);
    let is_directory = |entry: &Entry| entry.kind == EntryKind::Directory;
    let key = |entry: &Entry| (index.path(entry).to_owned(), is_directory(entry));
    assert!(entries.windows(2).all(|two| key(&two[0]) < key(&two[1])));
    for entry in entries {
        let path = index.path(entry);
        let stays = path.split('/').all(|part| !["", ".", ".."].contains(&part));
        assert!(stays && !path.contains('\0'), "{path:?}");
        match index.find(path) {
            Some(IndexNode::Directory) => assert!(index.is_directory(path)),
            Some(IndexNode::Member(found)) => assert!(!is_directory(found)),
            None => panic!("{path:?} is listed and not found"),
        }
    }
    let members = entries.iter().filter(|entry| !is_directory(entry));
    let members: BTreeSet<String> = members.map(|entry| index.path(entry).to_owned()).collect();
    assert_eq!(reached(index, work), members);
}

/// The paths of all members that listings lead to, from the root on.
fn reached(index: &Index, work: &Work) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let children = index.children(&folder, work);
        for child in children.expect("there is time enough") {
            let path = match folder.is_empty() {
                true => child.name.to_owned(),
                false => format!("{folder}/{}", child.name),
            };
            match child.member {
                Some(_) => assert!(reached.insert(path), "a member is listed twice"),
                None => folders.push(path),
            }
        }
    }
    reached
}
