//! What the fuzz targets run: for each parser of bytes from outside one function that takes any
//! bytes and panics where a law is broken.
//!
//! `fuzz/` calls them with what libFuzzer makes up, `tests` with fixtures and some hundred mutants
//! of each. A law is about more than not to panic: what was written is read back, parts add up,
//! lengths stay within what is there. The module is in no build but those two
//! (`cfg(any(test, fuzzing))`).

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::hashline::Patch;
use crate::hashline::apply::{FileBytes, new_bytes, new_text};
use crate::hashline::patch::MAX_FAULTS;
use crate::notebook;
use crate::protocol::Settings;
use crate::read;
use crate::rpc::{Frame, Frames};
use crate::task::{CancelToken, Work};
use crate::text::{decode, encode};
use crate::view::Selector;
use crate::view::selector::continuation;
use crate::workspace::{Handle, Scope, decode_file_uri};

/// Largest body of a frame that is taken here: small, so that frames over it are met as well.
const FRAME_CAP: u64 = 4096;

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

/// Gives away so many bytes at a time.
struct Trickle<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.step.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.bytes = later;
        Ok(count)
    }
}

/// The bodies of the frames that are in `bytes`, `None` for what was refused.
fn bodies(bytes: &[u8], step: usize) -> Vec<Option<Vec<u8>>> {
    let mut frames = Frames::new(Trickle { bytes, step }, FRAME_CAP);
    let mut found = Vec::new();
    while let Some(frame) = frames.next().expect("reading from memory never fails") {
        found.push(match frame {
            Frame::Body(body) => Some(body.to_vec()),
            Frame::BadHeader | Frame::TooLarge => None,
        });
    }
    found
}

/// Frames end, are no more than there are bytes, are the same however the bytes come in, and one
/// that is whole is found behind any that are.
pub fn frame(bytes: &[u8]) {
    let found = bodies(bytes, usize::MAX);
    let taken: usize = found.iter().flatten().map(Vec::len).sum();
    assert!(taken + found.len() <= bytes.len());
    assert_eq!(bodies(bytes, 1), found);
    assert_eq!(bodies(bytes, 7), found);
    let body = &bytes[..bytes.len().min(FRAME_CAP as usize)];
    let whole = [
        format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(),
        body,
    ]
    .concat();
    let twice = [whole.as_slice(), whole.as_slice()].concat();
    assert_eq!(bodies(&twice, 5), vec![Some(body.to_vec()); 2]);
}

/// What a patch is read as is what it is read as once it is written canonically; what is refused
/// has a reason and a place.
pub fn patch(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let said = |patch: &Patch| -> Vec<_> {
        let sections = patch.sections.iter().map(|section| {
            let ops = section.hunks.iter().map(|hunk| hunk.op.clone());
            (section.path.clone(), section.tag, ops.collect::<Vec<_>>())
        });
        sections.collect()
    };
    match Patch::parse(text) {
        Ok(patch) => {
            let canonical = patch.to_string();
            let again = Patch::parse(&canonical).unwrap_or_else(|faulty| {
                panic!("{faulty} in what was made of {text:?}: {canonical}")
            });
            assert_eq!(said(&again), said(&patch), "{canonical}");
        }
        Err(faulty) => {
            assert!((1..=MAX_FAULTS).contains(&faulty.faults.len()));
            let lines = text.split('\n').count() as u64;
            for fault in &faulty.faults {
                let line = fault.origin.patch_line().expect("a patch has lines");
                assert!((1..=lines.max(1)).contains(&line), "{fault}");
            }
        }
    }
}

/// A path string is split at characters only; the lines of a selector are in order and within the
/// text; and the selector that is offered for lines means these lines.
pub fn path(bytes: &[u8]) {
    let Ok(path) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(Some(decoded)) = decode_file_uri(path) {
        assert!(decoded.is_absolute());
    }
    for kind in read::KINDS {
        let splits = kind.splits(path);
        assert!(splits.is_sorted(), "{splits:?}");
        assert!(splits.iter().all(|at| path.is_char_boundary(*at)));
    }
    let whole = Selector::parse(path).ok();
    let splits = Selector::splits(path);
    assert!(splits.iter().all(|(at, _)| path[*at..].starts_with(':')));
    for selector in splits.into_iter().map(|(_, found)| found).chain(whole) {
        for total in [0, 1, 7, 100_000] {
            selects_lines_of(&selector, total);
        }
    }
}

fn selects_lines_of(selector: &Selector, total: u64) {
    let wanted = selector.resolve(total);
    let spans = wanted.lines.spans();
    for span in spans {
        assert!(1 <= span.start && span.start <= span.end && span.end <= total);
    }
    assert!(spans.windows(2).all(|two| two[0].end < two[1].start));
    if spans.is_empty() || spans.len() > 1000 {
        return;
    }
    let to_end = spans.last().is_some_and(|last| last.end == total);
    for raw in [false, true] {
        let offered = continuation(spans, to_end, raw);
        let again = Selector::parse(&offered).expect("what is offered can be sent");
        assert_eq!(again.resolve(total).lines, wanted.lines, "{offered}");
        assert_eq!(again.raw, raw);
        assert!(!again.bounded || raw, "{offered} would be given context");
    }
}

/// The bytes as an opened file, for what reads archives by seeking.
fn with_file(bytes: &[u8], ending: &str, look: impl FnOnce(&Handle)) {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("pilcrow-fuzz-{}-{number}.{ending}", std::process::id());
    let folder = std::env::temp_dir();
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("temporary files can be written");
    let scope = Scope::new(vec![folder], Arc::new(Settings::default()), Arc::default());
    let opened = scope.open(&path);
    // An opened file has its bytes for as long as it is open, whatever its name.
    let opened = opened.expect("what is in a root can be opened");
    look(&opened);
    std::fs::remove_file(Path::new(&path)).expect("what was written can be removed");
}

/// See [`read::archive_laws`].
pub fn zip(bytes: &[u8]) {
    with_file(bytes, "zip", |file| read::archive_laws::zip(file, &work()));
}

/// See [`read::archive_laws`].
pub fn tar(bytes: &[u8]) {
    with_file(bytes, "tar", |file| read::archive_laws::tar(file, &work()));
}

/// A notebook's text that nobody changed changes no byte of the JSON, and one with another line in
/// its last cell is read back with that line.
pub fn notebook(bytes: &[u8]) {
    let Ok(json) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(found) = notebook::parse(json, &work()) else {
        return;
    };
    notebook::with_outputs(json, &found, &work()).expect("there is time enough");
    if !found.is_known() || found.cells().next().is_none() {
        return;
    }
    let as_text = |found: &notebook::Notebook| {
        let cells = found.cells();
        notebook::render(cells.map(|cell| (cell.kind.as_str(), cell.source.as_str())))
    };
    let rendered = as_text(&found);
    let kept: Vec<Option<usize>> = rendered.markers.iter().copied().map(Some).collect();
    let same = notebook::rewrite(json, &found, &rendered.text, &kept, &BTreeSet::new())
        .expect("it is its own text");
    assert_eq!(same.splices, Vec::new());
    assert_eq!(same.rendered, rendered);
    let longer = format!("{}one more line\n", rendered.text);
    let Ok(changed) = notebook::rewrite(json, &found, &longer, &kept, &BTreeSet::new()) else {
        return;
    };
    let mut after = json.to_owned();
    for splice in changed.splices.iter().rev() {
        after.replace_range(splice.place.clone(), &splice.text);
    }
    let again = notebook::parse(&after, &work()).expect("what is written is a notebook");
    assert_eq!(as_text(&again).text, changed.rendered.text);
}

/// Encodings that files are declared to be in, chosen by the first byte.
const DECLARED: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "windows-1251",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "euc-kr",
    "gbk",
    "gb18030",
    "big5",
    "iso-2022-jp",
];

/// Bytes of which none is said to be bad are all kept: written again they are the same in encodings
/// that have one form for a text, and an edit of nothing changes none of them in any. What can be
/// encoded is read back.
pub fn encoding(bytes: &[u8]) {
    let (choice, bytes) = bytes.split_first().unwrap_or((&0, bytes));
    let declared = DECLARED
        .get(usize::from(*choice))
        .map(|label| Encoding::for_label(label.as_bytes()).expect("labels of the standard"));
    let Ok(decoded) = decode(bytes, declared) else {
        assert!(declared.is_none(), "what is declared is always read");
        return;
    };
    // With the line ends of the file.
    let text = new_text(&decoded.text, &[]);
    let one_form = [UTF_8, UTF_16LE, UTF_16BE].contains(&decoded.encoding);
    if one_form && decoded.bad_bytes == 0 {
        let body = encode(&text, decoded.encoding).expect("Unicode has every character");
        assert!(bytes.ends_with(&body));
        let bom = bytes.len() - body.len();
        assert_eq!(bom > 0, decoded.bom, "{bom} bytes are lost");
    }
    let file = FileBytes {
        bytes,
        text: &decoded.text,
        encoding: decoded.encoding,
        confidence: decoded.confidence,
        bom: decoded.bom,
    };
    if let Ok(written) = new_bytes(&file, &[]) {
        assert_eq!(written, bytes);
    }
    // A BOM at the beginning would be read as one.
    if let Ok(written) = encode(&text, decoded.encoding)
        && !text.starts_with('\u{feff}')
    {
        let again = decode(&written, Some(decoded.encoding)).expect("it is declared");
        assert_eq!(new_text(&again.text, &[]), text);
        assert_eq!(again.bad_bytes, 0);
    }
}
