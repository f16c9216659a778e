//! Files that edits of ours deleted, with their bytes, so that they can be brought back; bounded, the oldest goes first.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::hashline::Tag;
use crate::session::Form;
use crate::text::Text;
use crate::workspace::RealPath;

use super::disk::Attributes;

/// Files that are kept, and bytes of all of them.
const MAX_FILES: usize = 64;
const MAX_BYTES: usize = 64 << 20;

/// A file as it was when it was deleted.
#[derive(Debug, Clone)]
pub struct DeletedFile {
    pub real: RealPath,
    /// By which it was named, and in which form.
    pub tag: Tag,
    pub form: Form,
    pub bytes: Arc<[u8]>,
    /// The bytes, decoded.
    pub text: Text,
    pub attributes: Attributes,
}

/// What was deleted last.
#[derive(Debug, Default)]
pub struct DeletedFiles {
    /// The oldest first, one of each path.
    files: VecDeque<DeletedFile>,
}

impl DeletedFiles {
    /// Keeps one.
    pub fn keep(&mut self, file: DeletedFile) {
        self.forget(&file.real);
        self.files.push_back(file);
        let bytes = |files: &VecDeque<DeletedFile>| -> usize {
            files.iter().map(|file| file.bytes.len()).sum()
        };
        while self.files.len() > MAX_FILES || bytes(&self.files) > MAX_BYTES {
            self.files.pop_front();
        }
    }

    /// What was deleted last at a place.
    pub fn at(&self, real: &RealPath) -> Option<DeletedFile> {
        self.files.iter().find(|file| file.real == *real).cloned()
    }

    /// It is there again.
    pub fn forget(&mut self, real: &RealPath) {
        self.files.retain(|file| file.real != *real);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_one_of_each_path() {
        let file = |name: usize, length: usize| DeletedFile {
            real: RealPath::for_tests(&format!("/w/{name}")),
            tag: Tag(1),
            form: Form::Text,
            bytes: vec![0; length].into(),
            text: Text::default(),
            attributes: Attributes {
                mode: 0o644,
                user: 0,
                group: 0,
            },
        };
        let mut deleted = DeletedFiles::default();
        for number in 0..=MAX_FILES {
            deleted.keep(file(number, 1));
            deleted.keep(file(number, 2));
        }
        assert_eq!(deleted.files.len(), MAX_FILES);
        assert!(deleted.at(&file(0, 0).real).is_none());
        let kept = deleted.at(&file(1, 0).real).expect("it is kept");
        assert_eq!(kept.bytes.len(), 2);
        for number in 0..3 {
            deleted.keep(file(number, MAX_BYTES / 2));
        }
        assert_eq!(deleted.files.len(), 2);
        deleted.forget(&file(1, 0).real);
        assert!(deleted.at(&file(1, 0).real).is_none());
    }
}
