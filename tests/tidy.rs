//! Keeps the house in order: layers, headers, sizes, and the README's tables; it never looks at behaviour.

use std::fs;
use std::path::{Path, PathBuf};

use pilcrow::server::METHODS;
use pilcrow::view::dialect::DIALECTS;

/// The rooms by line, lowest first: a room may name only rooms on lower lines.
const LINES: &[&[&str]] = &[
    // Of unit tests alone.
    &["chance"],
    &["picture", "protocol", "text"],
    &["task"],
    &["rpc"],
    &["worker"],
    &["syntax", "convert"],
    &["hashline", "notebook", "outline"],
    &["structure"],
    &["view"],
    &["sqlite"],
    &["workspace"],
    &["buffer"],
    &["session"],
    &["read"],
    &["edit"],
    &["server"],
    &["cli"],
];

/// Lines of code after which a file is too long.
const MAX_LINES: usize = 600;

struct Source {
    path: PathBuf,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let path = path
                    .strip_prefix(root())
                    .expect("below the root")
                    .to_owned();
                found.push(Source { path, text });
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

fn line_of(room: &str) -> Option<usize> {
    LINES.iter().position(|line| line.contains(&room))
}

/// The rooms that a source names by `crate::`, or by more `super::`s than it has parents in its
/// own room.
fn named_rooms(source: &Source) -> Vec<String> {
    let is_module_root = source.path.ends_with("mod.rs");
    let depth = source.path.components().count() - if is_module_root { 2 } else { 1 };
    let to_crate = "super::".repeat(depth);
    let mut rooms = Vec::new();
    for line in code_lines(&source.text) {
        for prefix in ["crate::", to_crate.as_str()] {
            for (at, _) in line.match_indices(prefix) {
                let before = line[..at].chars().next_back();
                let rest = &line[at + prefix.len()..];
                let name: String = rest
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                if before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != ':') {
                    rooms.push(name);
                }
            }
        }
    }
    rooms
}

/// The lines that are no comments, without the module of unit tests, which is last in its file and
/// one `super` deeper.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("\nmod tests {").next().unwrap_or(text);
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn rooms_name_only_lower_rooms() {
    let mut wrong = Vec::new();
    for source in sources("src") {
        let parts: Vec<_> = source
            .path
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        let room = parts[1].trim_end_matches(".rs").to_owned();
        let Some(line) = line_of(&room) else {
            assert!(
                ["lib", "main", "logging"].contains(&room.as_str()),
                "{room} has no line in the table"
            );
            continue;
        };
        for named in named_rooms(&source) {
            let allowed = named == room || line_of(&named).is_some_and(|lower| lower < line);
            if !allowed {
                wrong.push(format!("{} names {named}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_open_with_what_they_hold_and_are_short() {
    for folder in ["src", "tests", "benches"] {
        for source in sources(folder) {
            let path = source.path.display();
            assert!(source.text.starts_with("//! "), "{path} has no //! line");
            let lines = source.text.lines().count();
            assert!(lines <= MAX_LINES, "{path} has {lines} lines");
        }
    }
}

/// The first column of the README's table under a heading, without backticks.
fn readme_column(heading: &str) -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let section = readme
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("README.md has no section {heading}"))
        .1;
    let section = section.split("\n## ").next().unwrap_or(section);
    let cell = |row: &str| row.split('|').nth(1).unwrap_or("").trim().replace('`', "");
    section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(cell)
        .collect()
}

#[test]
fn the_readme_lists_what_the_registries_hold() {
    assert_eq!(readme_column("Methods"), METHODS);
    let dialects: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
    assert_eq!(readme_column("Dialects"), dialects);
    let kinds = pilcrow::read::kinds();
    let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    assert_eq!(readme_column("Kinds"), kinds);
}
