//! Declarations by their names, `x.rs#Foo::bar`, with the lines that independent parsers give: `ast`, syn, TypeScript, universal-ctags.
//!
//! The short form has a few files of `fixtures/outline` in each language, and what those parsers said of them
//! (`fixtures/names/*.json`, made by `fixtures/names/make.sh`). The long form takes 500 declarations of each language from what
//! is on the machine; `setup-parsers.sh` here and `tests/outlines/setup-sources.sh` install what it needs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Daemon;

/// Of 500, how many may be told otherwise: true parsers differ where something has an error for one of them;
/// ctags takes uses of macros, and what stands in strings, for declarations.
const MAX_OTHERWISE: usize = 2;
const MAX_OTHERWISE_OF_CTAGS: usize = 10;
const TRUE_PARSERS: &[&str] = &["python", "rust", "typescript", "javascript"];

#[test]
fn declarations_have_the_lines_that_other_parsers_give() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for told in fs::read_dir(fixtures.join("names")).expect("fixtures") {
        let path = told.expect("a fixture").path();
        if path.extension().is_some_and(|it| it == "json") {
            let told = fs::read_to_string(&path).expect("a fixture");
            let misses = misses(&fixtures.join("outline"), &told);
            assert!(misses.is_empty(), "{}: {misses:#?}", path.display());
        }
    }
}

#[test]
fn five_hundred_declarations_of_each_language_are_found() {
    if std::env::var_os("PILCROW_LONG").is_none() {
        return;
    }
    let mut otherwise = Vec::new();
    for (language, roots) in sources() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/names/declarations.py");
        let told = Command::new(script)
            .arg(folder.path())
            .args(["500", language])
            .args(&roots)
            .output()
            .expect("python3");
        assert!(told.status.success(), "{language}: {told:?}");
        let told = String::from_utf8(told.stdout).expect("JSON");
        assert_eq!(told.lines().count(), 500, "{language}: {roots:?}");
        let misses = misses(folder.path(), &told);
        println!("{language}: {} of 500 otherwise", misses.len());
        for miss in &misses {
            println!("  {miss}");
        }
        let most = match TRUE_PARSERS.contains(&language) {
            true => MAX_OTHERWISE,
            false => MAX_OTHERWISE_OF_CTAGS,
        };
        if misses.len() > most {
            otherwise.push((language, misses.len()));
        }
    }
    assert!(otherwise.is_empty(), "{otherwise:?}");
}

/// Where the files of each language are.
fn sources() -> Vec<(&'static str, Vec<PathBuf>)> {
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    let of_outlines = cache.join("pilcrow-tests/outlines");
    let within = |path: &str| vec![of_outlines.join(path)];
    let crates = home.join(".cargo/registry/src");
    let python = Command::new("python3")
        .args(["-c", "import os; print(os.path.dirname(os.__file__))"])
        .output()
        .expect("python3");
    let python = String::from_utf8(python.stdout).expect("a path");
    vec![
        ("python", vec![PathBuf::from(python.trim())]),
        ("rust", vec![crates.clone()]),
        ("typescript", within("npm/rxjs@7.8.2")),
        (
            "javascript",
            vec![
                PathBuf::from("/usr/lib/node_modules/npm"),
                of_outlines.join("npm/vscode-languageclient@9.0.1"),
            ],
        ),
        ("go", within("debian/usr/share/go-1.19/src")),
        ("java", within("debian/java")),
        ("ruby", within("debian/usr/lib/ruby")),
        ("php", within("debian/usr/share/php")),
        ("c-sharp", within("npm/com.cysharp.unitask@2.2.5")),
        ("lua", vec![cache.join("pilcrow-editors")]),
        ("c", vec![crates.clone(), PathBuf::from("/usr/include")]),
        ("cpp", vec![crates, cache.join("pilcrow-editors")]),
    ]
}

/// What is not found by its name in the lines that are told, one declaration a line.
fn misses(root: &Path, told: &str) -> Vec<String> {
    let daemon = Daemon::start(root);
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let mut texts = HashMap::new();
    let mut misses = Vec::new();
    for some in told.chunks(8) {
        let reads: Vec<_> = some
            .iter()
            .map(|it| daemon.request("agent/read", json!({ "path": asked(it) })))
            .collect();
        for (told, id) in some.iter().zip(reads) {
            let path = root.join(told["path"].as_str().expect("a path"));
            let text: &String = texts.entry(path.clone()).or_insert_with(|| {
                String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned()
            });
            let mut answer = daemon.wait(&id);
            while answer.as_ref().is_err_and(|error| error.kind() == "busy") {
                answer = daemon.read(asked(told));
            }
            match answer {
                Err(error) => misses.push(format!("{}: {}", asked(told), error.message)),
                Ok(read) => {
                    let found = ranges(&read);
                    if !found.iter().any(|lines| agrees(*lines, told, text)) {
                        misses.push(format!("{}: {found:?}, not {told}", asked(told)));
                    }
                }
            }
        }
    }
    misses
}

/// A name behind its path; a JSON string where it has other characters.
fn asked(told: &Value) -> String {
    let path = told["path"].as_str().expect("a path");
    let name = told["name"].as_str().expect("a name");
    let is_plain = |c: char| c.is_alphanumeric() || "_.:#?!$@~".contains(c);
    let reads_as_selector = [
        "raw",
        "full",
        "conflicts",
        "outputs",
        "table",
        "links",
        "page",
    ];
    let is_selector = reads_as_selector.contains(&name.to_lowercase().as_str());
    match name.chars().all(is_plain) && !is_selector {
        true => format!("{path}#{name}"),
        false => format!("{path}#{}", json!(name)),
    }
}

/// The lines that are shown, or those of each row of a list; a last line of none where the answer was cut.
fn ranges(read: &Value) -> Vec<(u64, Option<u64>)> {
    let text = read["content"][0]["text"].as_str().unwrap_or_default();
    let listed = text.lines().filter_map(|row| {
        let (lines, _) = row.strip_prefix(':')?.split_once("  ")?;
        let (first, last) = lines.trim().split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()))
    });
    let listed: Vec<_> = listed.collect();
    if !listed.is_empty() {
        return listed;
    }
    let shown = read["details"]["shown"].as_array().into_iter().flatten();
    let is_cut = !read["details"]["truncation"].is_null();
    let shown: Vec<(u64, u64)> = shown
        .filter_map(|span| Some((span["start"].as_u64()?, span["end"].as_u64()?)))
        .collect();
    // A line that is cut is not shown, and not said here.
    let ends = shown.first().zip(shown.last());
    ends.map(|(first, last)| (first.0, (!is_cut).then_some(last.1)))
        .into_iter()
        .collect()
}

/// Whether these are the lines of what is told, but for comments: parsers do not agree whose those are. ctags
/// tells the line of the name: what is above it is attributes, comments, or the beginning of the declaration.
fn agrees((first, last): (u64, Option<u64>), told: &Value, text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let all = |from: u64, to: u64, is_it: fn(&str) -> bool| {
        let some = lines.get(from as usize - 1..to as usize - 1);
        some.is_some_and(|some| some.iter().all(|line| is_it(line.trim())))
    };
    let ends = match (last, told["last"].as_u64()) {
        (Some(last), Some(told)) => last == told || last > told && all(told + 1, last + 1, is_note),
        _ => true,
    };
    match (told["at"].as_u64(), told["first"].as_u64()) {
        (None, Some(told)) => ends && (first == told || first < told && all(first, told, is_note)),
        (Some(at), _) => {
            let is_inside = first <= at && last.is_none_or(|last| at <= last);
            ends && is_inside && (told["last"].is_null() || all(first, at, is_head))
        }
        (None, None) => false,
    }
}

fn is_note(line: &str) -> bool {
    let marks = ["/", "*", "#", "--"];
    line.is_empty() || marks.iter().any(|mark| line.starts_with(mark))
}

/// Whether a line above a name may belong to it.
fn is_head(line: &str) -> bool {
    is_note(line) || line.starts_with(['@', '[']) || !line.ends_with([';', '}'])
}
