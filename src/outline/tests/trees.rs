//! Outlines of what is on the machine anyway: crates, Python's library, npm's scripts; no file there is ever written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::syntax::detect;
use crate::task::{CancelToken, Work};
use crate::text::Text;

use super::goldens::rendered;
use super::partitions;
use super::rust_items;
use super::sqlite;
use crate::outline::{Outline, Rules, Unfold, outline_with};

/// What is asked of the median summary of files of 300 to 3,000 lines, of all trees together.
const MOST_OF_THE_FILE: f64 = 0.30;
/// What is asked of declarations.
const FOUND: f64 = 0.995;
/// Files of a tree in the short form; the long form takes all.
const SHORT_FORM: usize = 400;

pub(super) fn is_long() -> bool {
    std::env::var_os("PILCROW_LONG").is_some()
}

/// The sources of the crates that this one is built of.
fn crates() -> PathBuf {
    let home = || std::env::home_dir().expect("a home").join(".cargo");
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from);
    cargo.join("registry/src")
}

/// What a program says on its first line, if there is such a program.
pub(super) fn answer(program: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| PathBuf::from(line))
}

/// The files of crates that end so.
pub(super) fn files_named(ending: &str) -> Vec<PathBuf> {
    files(&crates(), &[ending])
}

/// The files below `root` that end so, evenly spread over the tree in the short form.
fn files(root: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let found = every_file(root, endings);
    let step = if is_long() {
        1
    } else {
        found.len().div_ceil(SHORT_FORM).max(1)
    };
    found.into_iter().step_by(step).collect()
}

/// The files below `root` that end so.
pub(super) fn every_file(root: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    let name = path.to_string_lossy();
                    if endings.iter().any(|ending| name.ends_with(ending)) {
                        found.push(path);
                    }
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The outline of a file as a bare read makes it, were there time enough.
fn outline_of(path: &Path) -> Option<(Text, Outline)> {
    let text = Text::new(&std::fs::read_to_string(path).ok()?);
    let outline = outline_of_text(&path.file_name()?.to_string_lossy(), &text)?;
    Some((text, outline))
}

/// The outline of a text that is called so.
pub(super) fn outline_of_text(name: &str, text: &Text) -> Option<Outline> {
    let lines = text.len_lines();
    if !(100..=20_000).contains(&lines) || text.len_bytes() > 2 * 1024 * 1024 {
        return None;
    }
    let language = detect(name, text)?;
    let rules = Rules {
        min_body_lines: 4,
        prose: true,
    };
    let work = Work::new(CancelToken::new(), Duration::from_secs(2));
    // What takes longer is read plainly, whatever it is.
    outline_with(text, language, rules, Unfold::ByBudget, &work).ok()?
}

/// The bytes of the summary by those of the text, of a text of 300 to 3,000 lines.
pub(super) fn share_of(text: &Text, outline: &Outline) -> Option<f64> {
    let counts = (300..=3000).contains(&text.len_lines());
    counts.then(|| rendered(text, outline).len() as f64 / text.len_bytes() as f64)
}

/// Of each file: its lines, and the bytes of its summary by those of its text. Every file obeys the
/// law that its rows name each line once.
fn measure(paths: &[PathBuf], mut each: impl FnMut(&Path, &Text, &Outline)) -> Vec<f64> {
    let mut shares = Vec::new();
    for path in paths {
        let Some((text, outline)) = outline_of(path) else {
            continue;
        };
        partitions(&outline, text.len_lines());
        shares.extend(share_of(&text, &outline));
        each(path, &text, &outline);
    }
    shares.sort_by(f64::total_cmp);
    shares
}

fn median(what: &str, shares: &[f64]) -> f64 {
    assert!(shares.len() >= 5, "only {} files of {what}", shares.len());
    let median = shares[shares.len() / 2];
    println!("{what}: {median:.3} of {} files", shares.len());
    median
}

/// Declarations, and those of them that stand in a row of their own.
#[derive(Default)]
pub(super) struct Score {
    all: usize,
    found: usize,
    missed: Vec<String>,
}

impl Score {
    pub(super) fn add(
        &mut self,
        path: &Path,
        text: &Text,
        outline: &Outline,
        lines: impl Iterator<Item = usize>,
    ) {
        let starts: HashSet<u64> = outline.rows.iter().map(|row| row.span.start).collect();
        for line in lines.filter(|line| *line <= text.len_lines()) {
            self.all += 1;
            if starts.contains(&(line as u64)) {
                self.found += 1;
            } else if self.missed.len() < 40 {
                let shown = text.line(line - 1).trim().to_owned();
                self.missed
                    .push(format!("{}:{line}: {shown}", path.display()));
            }
        }
    }

    pub(super) fn is_enough(&self, what: &str) {
        println!("{what}: {} of {} declarations", self.found, self.all);
        let share = self.found as f64 / self.all.max(1) as f64;
        assert!(self.all > 100, "{} declarations of {what}", self.all);
        assert!(
            share >= FOUND,
            "{what}: {share}\n{}",
            self.missed.join("\n")
        );
    }
}

#[test]
fn rust_of_the_registry() {
    let paths = files(&crates(), &[".rs"]);
    let mut score = Score::default();
    let shares = measure(&paths, |path, text, outline| {
        score.add(path, text, outline, rust_items::lines(text).into_iter());
    });
    median("Rust", &shares);
    score.is_enough("Rust");
}

/// Of headers only the law is asked: those of a registry are mostly declarations and macros, which stay.
#[test]
fn c_of_the_registry() {
    measure(&files(&crates(), &[".h"]), |_, _, _| {});
    let mut names = HashSet::new();
    let mut paths = files(&crates(), &[".c"]);
    // Of a crate that is there in several versions, one.
    paths.retain(|path| names.insert(path.file_name().map(OsStr::to_owned)));
    let shares = measure(&paths, |_, _, _| {});
    median("C", &shares);
}

#[test]
fn everything_else_of_the_registry() {
    let endings = [
        ".md", ".toml", ".json", ".js", ".yml", ".scm", ".py", ".sh", ".html", ".cc", ".cpp",
    ];
    let paths = files(&crates(), &endings);
    let mut count = 0;
    measure(&paths, |_, _, _| count += 1);
    assert!(count > 10, "{count} files");
}

/// Without Python there is nobody to ask for its declarations; the law holds for the files that crates
/// bring along.
#[test]
fn python_of_the_standard_library() {
    let program = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    let Some(root) = answer("python3", &["-c", program]) else {
        measure(&files(&crates(), &[".py"]), |_, _, _| {});
        return;
    };
    let paths = files(&root, &[".py"]);
    let script = ["fixtures/outline/declarations.py"];
    let declarations = declarations("python3", &script, &paths);
    let mut score = Score::default();
    let shares = measure(&paths, |path, text, outline| {
        let own = declarations.iter().find(|(of, _)| of == path);
        let lines = own.iter().flat_map(|(_, lines)| lines.iter().copied());
        score.add(path, text, outline, lines);
    });
    median("Python", &shares);
    score.is_enough("Python");
}

/// What a language's own parser finds.
pub(super) fn declarations(
    program: &str,
    arguments: &[&str],
    paths: &[PathBuf],
) -> Vec<(PathBuf, Vec<usize>)> {
    let mut parser = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it answered before");
    let asked: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let mut stdin = parser.stdin.take().expect("a pipe");
    // It reads all before it writes.
    stdin
        .write_all(asked.join("\n").as_bytes())
        .expect("written");
    drop(stdin);
    let output = parser.wait_with_output().expect("an answer");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let answers = text.lines().filter_map(|line| line.split_once('\t'));
    answers
        .map(|(path, lines)| {
            let lines = lines.split(',').filter_map(|line| line.parse().ok());
            (PathBuf::from(path), lines.collect())
        })
        .collect()
}

/// Without npm the law holds for the scripts that crates bring along.
#[test]
fn javascript_of_npm() {
    let Some(root) = answer("npm", &["root", "-g"]) else {
        measure(&files(&crates(), &[".js"]), |_, _, _| {});
        return;
    };
    let paths = files(&root, JAVASCRIPT);
    let script = ["--expose-internals", "fixtures/outline/declarations.js"];
    let declarations = declarations("node", &script, &paths);
    let mut score = Score::default();
    let shares = measure(&paths, |path, text, outline| {
        let own = declarations.iter().find(|(of, _)| of == path);
        let lines = own.iter().flat_map(|(_, lines)| lines.iter().copied());
        score.add(path, text, outline, lines);
    });
    median("JavaScript", &shares);
    score.is_enough("JavaScript");
}

const JAVASCRIPT: &[&str] = &[".js", ".mjs", ".cjs"];

/// All trees together: of the short form as many files of each, of the long form all.
#[test]
fn the_median_summary_of_all_trees() {
    let mut shares = measure(&files(&crates(), &[".rs", ".c"]), |_, _, _| {});
    let program = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    if let Some(root) = answer("python3", &["-c", program]) {
        shares.extend(measure(&files(&root, &[".py"]), |_, _, _| {}));
    }
    if let Some(root) = answer("npm", &["root", "-g"]) {
        shares.extend(measure(&files(&root, JAVASCRIPT), |_, _, _| {}));
    }
    let parts = sqlite::of_the_registry();
    shares.extend(parts.iter().filter_map(sqlite::AmalgamatedFile::share));
    shares.sort_by(f64::total_cmp);
    assert!(median("all trees", &shares) <= MOST_OF_THE_FILE);
}
