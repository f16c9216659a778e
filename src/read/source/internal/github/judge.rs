//! Whether a file of the workspace is a version that a diff is about: by git's id of its bytes. Git itself is not asked, since its filters run programs.

use std::io::Read;

use sha1::{Digest, Sha1};

use crate::workspace::FileType;

use super::super::InternalContext;
use super::diff::FileDiff;

/// Bytes of a file that is judged.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// What is said of the workspace's file; `None` where there is none, or the diff does not say which versions it is about.
pub fn judgement(file: &FileDiff, context: &InternalContext) -> Option<String> {
    let (old, new) = file.blobs.as_ref()?;
    let is_id = |id: &str| id.len() >= 7 && id.bytes().any(|c| c != b'0');
    let mut names = vec![file.name.as_str()];
    names.extend(file.before.as_deref());
    for name in names {
        let Some(bytes) = bytes(name, context) else {
            continue;
        };
        let ids = ids(&bytes);
        let is_it = |id: &str| is_id(id) && ids.iter().any(|it| it.starts_with(id));
        return Some(match (is_it(new), is_it(old)) {
            (true, _) => format!("{name} here is this version: the numbers hold"),
            (false, true) => format!("{name} here is the version before"),
            (false, false) => {
                format!("{name} here is another version: read it before editing")
            }
        });
    }
    None
}

/// The file that has this name in a root, as far as the session may read it.
fn bytes(name: &str, context: &InternalContext) -> Option<Vec<u8>> {
    let is_plain =
        !name.starts_with('/') && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_plain {
        return None;
    }
    let found = context.scope.roots().iter().find_map(|root| {
        let handle = context.scope.open(&root.spelled().join(name)).ok()?;
        (handle.file_type() == FileType::Regular).then_some(handle)
    })?;
    let file = found.open_read().ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_BYTES).then_some(bytes)
}

/// Git's ids of the bytes, and of them with LF at the ends of lines.
fn ids(bytes: &[u8]) -> Vec<String> {
    let mut ids = vec![id(bytes)];
    if memchr::memmem::find(bytes, b"\r\n").is_some() {
        let mut unix = Vec::with_capacity(bytes.len());
        for (at, byte) in bytes.iter().enumerate() {
            if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
                unix.push(*byte);
            }
        }
        ids.push(id(&unix));
    }
    ids
}

fn id(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()).as_bytes());
    hash.update(bytes);
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        // git hash-object of "hello\n".
        let id = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert_eq!(ids(b"hello\n"), [id]);
        assert_eq!(ids(b"hello\r\n")[1], id);
    }
}
