//! ZIP packages with some of their parts changed, for what a converter does not say by itself; the package on disk is never touched.

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Bytes of one part that is changed.
const MAX_PART: u64 = 64 * 1024 * 1024;

/// The package with those parts changed that are `wanted`; the others are copied as they are
/// packed. `None` where nothing is changed.
pub(super) fn rewritten(
    bytes: &[u8],
    wanted: impl Fn(&str) -> bool,
    change: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut package = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let mut is_changed = false;
    for index in 0..package.len() {
        let (name, size) = {
            let file = package.by_index_raw(index).ok()?;
            (file.name().ok()?.into_owned(), file.size())
        };
        let changed = match size <= MAX_PART && wanted(&name) {
            false => None,
            true => {
                let mut part = Vec::new();
                let file = package.by_index(index).ok()?;
                file.take(MAX_PART).read_to_end(&mut part).ok()?;
                change(&part)
            }
        };
        match changed {
            None => out.raw_copy_file(package.by_index_raw(index).ok()?).ok()?,
            Some(part) => {
                is_changed = true;
                let stored = SimpleFileOptions::default();
                let stored = stored.compression_method(CompressionMethod::Stored);
                out.start_file(name, stored).ok()?;
                out.write_all(&part).ok()?;
            }
        }
    }
    let out = out.finish().ok()?;
    is_changed.then(|| out.into_inner())
}

/// One part, unpacked.
pub(super) fn part(bytes: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut package = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut part = Vec::new();
    let file = package.by_name(name).ok()?;
    file.take(MAX_PART).read_to_end(&mut part).ok()?;
    Some(part)
}

/// The package with `/` in the names of its parts where some program has written `\\`; `None` where
/// none has.
pub(super) fn with_slashes(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut package = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let names: Vec<String> = (0..package.len())
        .map(|index| Some(package.by_index_raw(index).ok()?.name().ok()?.into_owned()))
        .collect::<Option<_>>()?;
    if !names.iter().any(|name| name.contains('\\')) {
        return None;
    }
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for (index, name) in names.iter().enumerate() {
        let file = package.by_index_raw(index).ok()?;
        out.raw_copy_file_rename(file, name.replace('\\', "/"))
            .ok()?;
    }
    Some(out.finish().ok()?.into_inner())
}
