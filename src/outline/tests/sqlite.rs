//! SQLite's own C, taken apart again at the marks in its amalgamation and held against what a C compiler writes down of it; no file there is ever written.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::text::Text;

use super::trees::{Score, files_named, outline_of_text, share_of};

/// One of the files that the amalgamation was made of.
#[derive(Debug)]
pub(super) struct AmalgamatedFile {
    pub(super) name: String,
    text: String,
    /// Where each of its lines stands in the amalgamation, 1-indexed.
    lines: Vec<usize>,
}

/// What a line of marks says: `Begin file x.c` or `End of x.c`.
fn mark<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let inner = line.strip_prefix("/***")?.trim_start_matches('*');
    let name = inner.trim_start().strip_prefix(word)?;
    name.split_whitespace().next()
}

/// The parts; what stands between the marks of another part belongs to that alone.
fn parts(amalgamation: &str) -> Vec<AmalgamatedFile> {
    let mut done = Vec::new();
    let mut open: Vec<AmalgamatedFile> = Vec::new();
    for (number, line) in (1..).zip(amalgamation.split_inclusive('\n')) {
        if let Some(name) = mark(line, "Begin file ") {
            open.push(AmalgamatedFile {
                name: name.to_owned(),
                text: String::new(),
                lines: Vec::new(),
            });
        } else if mark(line, "End of ").is_some() {
            done.extend(open.pop());
        } else if let Some(part) = open.last_mut() {
            part.text.push_str(line);
            part.lines.push(number);
        }
    }
    done
}

/// The parts of the SQLite that a crate brings along; none where that crate is not there.
pub(super) fn of_the_registry() -> Vec<AmalgamatedFile> {
    let found = files_named("sqlite3/sqlite3.c");
    let text = found
        .first()
        .and_then(|path| std::fs::read_to_string(path).ok());
    text.map(|text| parts(&text)).unwrap_or_default()
}

impl AmalgamatedFile {
    /// The summary's bytes by the text's, of a part of 300 to 3,000 lines.
    pub(super) fn share(&self) -> Option<f64> {
        let text = Text::new(&self.text);
        let outline = outline_of_text(&self.name, &text)?;
        share_of(&text, &outline)
    }
}

/// Lines of the amalgamation on which the compiler says that something is declared: functions,
/// variables, types and their members. Names that macros make stand on no line.
fn declared(path: &Path, amalgamation: &str) -> Option<BTreeSet<usize>> {
    let folder = tempfile::tempdir().ok()?;
    let object = folder.path().join("sqlite3.o");
    let kept = [
        "-fno-eliminate-unused-debug-types",
        "-fno-eliminate-unused-debug-symbols",
    ];
    let compiled = Command::new("gcc")
        .args(["-g", "-O0", "-w", "-c"])
        .args(kept)
        .arg(path)
        .arg("-o")
        .arg(&object)
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut reader = Command::new("readelf")
        .args(["--debug-dump=info", "--wide"])
        .arg(&object)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let lines: Vec<&str> = amalgamation.lines().collect();
    let mut found = BTreeSet::new();
    let mut entry = DwarfEntry::default();
    for line in BufReader::new(reader.stdout.take()?).lines() {
        let line = line.ok()?;
        if line.contains("Abbrev Number:") {
            entry.add_to(&mut found, &lines);
            entry = DwarfEntry::of(&line);
        } else {
            entry.read(&line);
        }
    }
    reader.wait().ok()?;
    Some(found)
}

/// One entry of the debugging information (DWARF 5, 2.3).
#[derive(Debug, Default)]
struct DwarfEntry {
    depth: usize,
    tag: String,
    name: String,
    line: usize,
}

impl DwarfEntry {
    /// ` <1><2e>: Abbrev Number: 3 (DW_TAG_typedef)`.
    fn of(line: &str) -> DwarfEntry {
        let depth = line.trim_start().strip_prefix('<');
        let depth = depth.and_then(|rest| rest.split_once('>')?.0.parse().ok());
        let tag = line.rsplit_once("DW_TAG_").map(|(_, tag)| tag);
        DwarfEntry {
            depth: depth.unwrap_or(usize::MAX),
            tag: tag.unwrap_or_default().trim_end_matches(')').to_owned(),
            ..DwarfEntry::default()
        }
    }

    fn read(&mut self, line: &str) {
        let value = || line.rsplit_once(": ").map_or("", |(_, value)| value.trim());
        if line.contains("DW_AT_name ") {
            self.name = value().to_owned();
        } else if line.contains("DW_AT_decl_line") {
            // It says in which form the number is kept, too.
            let number = value().rsplit(' ').next();
            self.line = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        }
    }

    fn add_to(&self, found: &mut BTreeSet<usize>, lines: &[&str]) {
        let is_declaration = match self.tag.as_str() {
            "subprogram" | "variable" | "typedef" | "structure_type" | "union_type"
            | "enumeration_type" => self.depth == 1,
            "member" => self.depth == 2,
            _ => false,
        };
        let line = lines.get(self.line.wrapping_sub(1));
        let is_here = line.is_some_and(|line| line.contains(&self.name) && !self.name.is_empty());
        // A file of the system has lines of the same numbers, but not with these words.
        if is_declaration && is_here {
            found.insert(self.line);
        }
    }
}

/// Without that crate or a C compiler there is nothing to hold it against.
#[test]
fn sqlite_of_the_registry() {
    let Some(path) = files_named("sqlite3/sqlite3.c").into_iter().next() else {
        return;
    };
    let amalgamation = std::fs::read_to_string(&path).expect("it was there");
    let parts = parts(&amalgamation);
    assert!(parts.len() > 100, "{} parts", parts.len());
    let declared = declared(&path, &amalgamation);
    let mut score = Score::default();
    for part in &parts {
        let text = Text::new(&part.text);
        let Some(outline) = outline_of_text(&part.name, &text) else {
            continue;
        };
        super::partitions(&outline, text.len_lines());
        let of_part = (1..).zip(&part.lines);
        let own = of_part.filter(|(_, at)| declared.as_ref().is_some_and(|all| all.contains(at)));
        score.add(
            Path::new(&part.name),
            &text,
            &outline,
            own.map(|(line, _)| line),
        );
    }
    if declared.is_some() {
        score.is_enough("SQLite's C");
    }
}
