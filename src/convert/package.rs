//! ZIP packages with some of their parts changed, for what a converter does not say by itself; the package on disk is never touched.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Bytes of one part that is changed.
const MAX_PART: u64 = 64 * 1024 * 1024;

/// Bytes of one part that is looked at.
const MAX_READ: u64 = 128 * 1024 * 1024;

/// The package with those parts changed that are `wanted`; the others are copied as they are
/// packed. `None` where nothing is changed.
pub(super) fn rewritten(
    bytes: &[u8],
    wanted: impl Fn(&str) -> bool,
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
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

pub(super) type Package<'b> = ZipArchive<Cursor<&'b [u8]>>;

/// A package to be looked into.
pub(super) fn opened(bytes: &[u8]) -> Option<Package<'_>> {
    ZipArchive::new(Cursor::new(bytes)).ok()
}

/// One part, unpacked.
pub(super) fn part(package: &mut Package, name: &str) -> Option<Vec<u8>> {
    let file = package.by_name(name).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The parts that a part in `folder` names, by the names that it has for them.
pub(super) fn relations(
    package: &mut Package,
    folder: &str,
    name: &str,
) -> Option<BTreeMap<String, String>> {
    let targets = part(package, &format!("{folder}/_rels/{name}.rels"))?;
    let mut parts = BTreeMap::new();
    each_tag(&targets, |tag| {
        if let (Some(id), Some(target)) = (attribute(tag, b"Id"), attribute(tag, b"Target")) {
            let target = match target.strip_prefix('/') {
                Some(absolute) => absolute.to_owned(),
                None => format!("{folder}/{target}"),
            };
            parts.insert(id, target);
        }
    })?;
    Some(parts)
}

/// The parts to which a part has a relation of that kind, which is the last word of its address.
pub(super) fn related(package: &mut Package, name: &str, kind: &str) -> Vec<String> {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let relations = part(package, &format!("{folder}/_rels/{file}.rels")).unwrap_or_default();
    let mut parts = Vec::new();
    let _ = each_tag(&relations, |tag| {
        let address = attribute(tag, b"Type").unwrap_or_default();
        if address.rsplit('/').next() == Some(kind) {
            parts.extend(attribute(tag, b"Target").map(|target| within(folder, &target)));
        }
    });
    parts
}

/// The name of a part that is named from within a folder.
fn within(folder: &str, target: &str) -> String {
    let whole = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("{folder}/{target}"),
    };
    let mut names = Vec::new();
    for name in whole.split('/') {
        match name {
            ".." => drop(names.pop()),
            "." | "" => {}
            name => names.push(name),
        }
    }
    names.join("/")
}

/// An attribute by its name without a prefix.
pub(super) fn attribute(tag: &BytesStart, name: &[u8]) -> Option<String> {
    attribute_where(tag, |key| key.local_name().as_ref() == name)
}

/// An attribute that has that name and a prefix.
pub(super) fn prefixed_attribute(tag: &BytesStart, name: &[u8]) -> Option<String> {
    attribute_where(tag, |key| {
        key.prefix().is_some() && key.local_name().as_ref() == name
    })
}

fn attribute_where(tag: &BytesStart, is: impl Fn(QName) -> bool) -> Option<String> {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|attribute| is(attribute.key))?;
    let raw = String::from_utf8_lossy(&found.value).into_owned();
    Some(quick_xml::escape::unescape(&raw).map_or(raw.clone(), |text| text.into_owned()))
}

/// Calls `see` with each start tag.
pub(super) fn each_tag(xml: &[u8], mut see: impl FnMut(&BytesStart)) -> Option<()> {
    each_event(xml, |event| {
        if let Event::Start(tag) | Event::Empty(tag) = event {
            see(tag);
        }
    })
}

/// Calls `see` with everything up to the end; `None` where that is not reached.
pub(super) fn each_event(xml: &[u8], mut see: impl FnMut(&Event)) -> Option<()> {
    let mut reader = Reader::from_reader(xml);
    reader.config_mut().check_end_names = false;
    loop {
        match reader.read_event().ok()? {
            Event::Eof => return Some(()),
            event => see(&event),
        }
    }
}

/// The characters that an event stands for, if it stands for any.
pub(super) fn text_of(event: &Event) -> Option<String> {
    match event {
        Event::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        Event::CData(text) => Some(String::from_utf8_lossy(text).into_owned()),
        Event::GeneralRef(name) => {
            let reference = format!("&{};", String::from_utf8_lossy(name));
            let text = quick_xml::escape::unescape(&reference).ok()?;
            Some(text.into_owned())
        }
        _ => None,
    }
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
