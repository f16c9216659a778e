//! The goal of outlines, measured on what is on the machine: declarations told by ctags, in twelve languages; no file there is ever written.
//!
//! `tests/outlines/setup-sources.sh` installs ctags and sources of languages that no machine has by
//! itself. Without ctags there is nobody to ask, and the laws alone hold.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::outline::{Outline, ShownRow};
use crate::text::Text;

use super::rust_items;
use super::trees::{answer, declarations, every_file, is_long, outline_of_text};

/// Bytes of an answer with an outline, and of the rows in it.
const MOST_BYTES: usize = 24 * 1024;
const MOST_ROW_BYTES: usize = MOST_BYTES - 512;
/// Lines up to which what is inside of a function is nobody's business.
const GIANT: usize = 150;
/// Files of a language in the short form, and in the long.
const FEW: usize = 25;
const MANY: usize = 400;
/// What is asked of declarations, and in the long form of functions and of the median.
const NAMED: f64 = 0.995;
const REACHED: f64 = 0.98;
const MEDIAN: f64 = 0.30;

/// Who tells the declarations of a language.
#[derive(Clone, Copy)]
enum Teller {
    /// These kinds of ctags.
    Ctags(&'static [&'static str]),
    /// A parser of the language's own, or one of these tests; ctags tells where bodies end.
    Parser(Parser),
}

#[derive(Clone, Copy)]
enum Parser {
    Node,
    Python,
    RustItems,
}

/// Name, how files end, and who tells.
const LANGUAGES: &[(&str, &[&str], Teller)] = &[
    (
        "C",
        &[".c"],
        Teller::Ctags(&["function", "struct", "union", "enum", "typedef", "macro"]),
    ),
    (
        "C headers",
        &[".h"],
        Teller::Ctags(&[
            "function",
            "struct",
            "union",
            "enum",
            "typedef",
            "macro",
            "prototype",
            "class",
        ]),
    ),
    (
        "C++",
        &[".cpp", ".cc", ".hpp"],
        Teller::Ctags(&[
            "function",
            "class",
            "struct",
            "union",
            "enum",
            "namespace",
            "macro",
        ]),
    ),
    (
        "C#",
        &[".cs"],
        Teller::Ctags(&["class", "struct", "interface", "enum", "method", "property"]),
    ),
    (
        "Go",
        &[".go"],
        Teller::Ctags(&["func", "struct", "interface", "type"]),
    ),
    (
        "Java",
        &[".java"],
        Teller::Ctags(&["class", "interface", "enum", "method"]),
    ),
    ("JavaScript", &[".js", ".mjs"], Teller::Parser(Parser::Node)),
    (
        "PHP",
        &[".php"],
        Teller::Ctags(&["class", "interface", "trait", "function"]),
    ),
    ("Python", &[".py"], Teller::Parser(Parser::Python)),
    (
        "Ruby",
        &[".rb"],
        Teller::Ctags(&["class", "module", "method", "singletonMethod"]),
    ),
    ("Rust", &[".rs"], Teller::Parser(Parser::RustItems)),
    (
        "TypeScript",
        &[".ts"],
        Teller::Ctags(&[
            "function",
            "class",
            "interface",
            "enum",
            "method",
            "namespace",
        ]),
    ),
];

/// What has a body.
const FUNCTIONS: &[&str] = &[
    "function",
    "method",
    "func",
    "member",
    "singletonMethod",
    "generator",
];

/// Where sources are on machines: folders that are there are looked through.
fn roots() -> Vec<PathBuf> {
    let home = std::env::home_dir().expect("a home");
    let mut roots: Vec<PathBuf> = [
        ".cargo/registry/src",
        ".cache/pilcrow-tests/outlines",
        ".cache/pilcrow-editors",
        ".cache/pilcrow-agents",
        ".cache/pilcrow-dist",
    ]
    .iter()
    .map(|folder| home.join(folder))
    .collect();
    roots.extend(["/usr/include", "/usr/share", "/usr/lib/node_modules"].map(PathBuf::from));
    let program = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    roots.extend(answer("python3", &["-c", program]));
    roots
}

/// A declaration as ctags tells it.
struct CtagsTag {
    line: usize,
    end: Option<usize>,
    kind: String,
}

/// The declarations of files.
fn tags(paths: &[PathBuf]) -> HashMap<PathBuf, Vec<CtagsTag>> {
    let mut program = Command::new("ctags");
    program
        .args([
            "--options=NONE",
            "-f",
            "-",
            "-u",
            "--excmd=number",
            "--fields=Kne",
            "-L",
            "-",
        ])
        .args(["--kinds-C=+p", "--kinds-C++=+p", "--links=no"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut program = program.spawn().expect("it answered before");
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let mut stdin = program.stdin.take().expect("a pipe");
    let feeder = std::thread::spawn(move || {
        use std::io::Write as _;
        // It may have enough before the end.
        let _ = stdin.write_all(names.join("\n").as_bytes());
    });
    let output = program.wait_with_output().expect("an answer");
    feeder.join().expect("written");
    let mut found: HashMap<PathBuf, Vec<CtagsTag>> = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split('\t');
        let (Some(_), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let mut tag = CtagsTag {
            line: 0,
            end: None,
            kind: String::new(),
        };
        for field in fields.skip(1) {
            match field.split_once(':') {
                Some(("line", number)) => tag.line = number.parse().unwrap_or(0),
                Some(("end", number)) => tag.end = number.parse().ok(),
                None => tag.kind = field.to_owned(),
                _ => {}
            }
        }
        if tag.line > 0 {
            found.entry(PathBuf::from(path)).or_default().push(tag);
        }
    }
    found
}

/// The rows of the one answer that a bare read gives.
fn fitted<'o>(outline: &'o Outline, text: &'o Text) -> Vec<ShownRow<'o>> {
    let bytes = |rows: &[ShownRow]| rows.iter().map(written_bytes).sum::<usize>();
    outline.fitted(text, |rows| bytes(rows) <= MOST_ROW_BYTES).0
}

fn written_bytes(row: &ShownRow) -> usize {
    let span = row.row.span;
    let numbers = match row.row.fold {
        None => format!("{}:", span.start),
        Some(_) => format!("{}-{}:", span.start, span.end),
    };
    numbers.len() + row.bytes.min(2000) + 1
}

/// What was found of the declarations and functions of one language.
#[derive(Default)]
struct LanguageScore {
    files: usize,
    declarations: usize,
    named: usize,
    functions: usize,
    reached: usize,
    shares: Vec<f64>,
    missed: Vec<String>,
}

impl LanguageScore {
    fn add(&mut self, (path, text, outline): &(PathBuf, Text, Outline), declared: &[CtagsTag]) {
        let rows = fitted(outline, text);
        let bytes: usize = rows.iter().map(written_bytes).sum();
        assert!(bytes <= MOST_ROW_BYTES, "{}: {bytes}", path.display());
        let mut next = 1;
        for row in &rows {
            assert_eq!(row.row.span.start, next, "{}", path.display());
            next = row.row.span.end + 1;
        }
        assert_eq!(next, text.len_lines() as u64 + 1, "{}", path.display());
        self.files += 1;
        if (300..=3000).contains(&text.len_lines()) {
            self.shares.push(bytes as f64 / text.len_bytes() as f64);
        }
        let starts: HashSet<u64> = rows.iter().map(|row| row.row.span.start).collect();
        for tag in declared {
            self.declarations += 1;
            let line = tag.line as u64;
            let counts = |row: &&ShownRow| is_count(row) && row.row.span.lines().contains(&line);
            let counted = rows.iter().find(counts);
            let is_named = starts.contains(&line) || counted.is_some();
            self.named += usize::from(is_named);
            if !is_named && self.missed.len() < 25 {
                let shown = text.line(tag.line - 1).trim().to_owned();
                self.missed
                    .push(format!("{}:{line}: {shown}", path.display()));
            }
            let Some(end) = tag.end.filter(|end| *end > tag.line + 3) else {
                continue;
            };
            self.functions += 1;
            let (from, to) = match counted.map(|row| row.row.span) {
                Some(span) => (span.start as usize, span.end as usize),
                None => (tag.line, end),
            };
            let bytes = (from..=to)
                .map(|line| text.line_bytes(line - 1) + 1)
                .sum::<usize>();
            let is_one_read = to >= end && to - from < 3000 && bytes <= 50 * 1024;
            self.reached += usize::from(is_named && is_one_read);
        }
    }

    fn print(&mut self, what: &str) {
        self.shares.sort_by(f64::total_cmp);
        let median = self.shares.get(self.shares.len() / 2);
        println!(
            "{what}: {} files, {} of {} declarations, {} of {} bodies, median {median:.3?} of {}",
            self.files,
            self.named,
            self.declarations,
            self.reached,
            self.functions,
            self.shares.len()
        );
        self.missed
            .iter()
            .for_each(|missed| println!("    {missed}"));
    }
}

/// Whether a row is a number of declarations.
fn is_count(row: &ShownRow) -> bool {
    let fold = row.row.fold.as_ref();
    fold.is_some_and(|fold| {
        fold.tail.starts_with('(') && fold.tail.ends_with(')') && fold.shows_first
    })
}

/// The tags of a text of these kinds, where functions end, and without what stands in a function that is
/// no giant, or in one that stands in another. What a giant only names for itself (macros) is none.
fn outer(tags: &[CtagsTag], text: &Text, kinds: &[&str]) -> Vec<CtagsTag> {
    let total = text.len_lines();
    let ended = |tag: &CtagsTag| CtagsTag {
        line: tag.line,
        end: match FUNCTIONS.contains(&tag.kind.as_str()) {
            true => tag
                .end
                .or_else(|| end_of(text, tag.line))
                .map(|end| end.min(total)),
            false => None,
        },
        kind: tag.kind.clone(),
    };
    let mut all: Vec<CtagsTag> = tags
        .iter()
        .filter(|tag| tag.line <= total)
        .map(ended)
        .collect();
    let functions: Vec<(usize, usize)> = all
        .iter()
        .filter_map(|tag| Some((tag.line, tag.end?)))
        .collect();
    all.retain(|tag| {
        let around = functions
            .iter()
            .filter(|(line, end)| *line < tag.line && tag.line <= *end);
        let around: Vec<_> = around.collect();
        let is_open = match around[..] {
            [] => true,
            [(line, end)] => end - line > GIANT && FUNCTIONS.contains(&tag.kind.as_str()),
            _ => false,
        };
        is_open && (kinds.is_empty() || kinds.contains(&tag.kind.as_str()))
    });
    all
}

/// Where what begins on a line ends, of a language with braces: the next line that is no further in.
fn end_of(text: &Text, line: usize) -> Option<usize> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let own = indentation(&text.line(line - 1));
    let opens = |line: &str| line.trim_end().ends_with('{');
    let mut is_open = opens(&text.line(line - 1));
    for number in line + 1..=text.len_lines() {
        let next = text.line(number - 1);
        if next.trim().is_empty() || indentation(&next) > own {
            continue;
        }
        match next.trim_start().chars().next() {
            Some('}') if is_open => return Some(number),
            Some(')' | '{') if !is_open && opens(&next) => is_open = true,
            _ => return None,
        }
    }
    None
}

/// The declarations of files.
fn declared(teller: Teller, texts: &[(PathBuf, Text, Outline)]) -> Option<Vec<Vec<CtagsTag>>> {
    let paths: Vec<PathBuf> = texts.iter().map(|(path, ..)| path.clone()).collect();
    let tags = tags(&paths);
    let of = |path: &PathBuf| tags.get(path).map_or(&[][..], |tags| tags);
    let parser = match teller {
        Teller::Ctags(kinds) => {
            let outer = |(path, text, _): &(PathBuf, Text, Outline)| outer(of(path), text, kinds);
            return Some(texts.iter().map(outer).collect());
        }
        Teller::Parser(parser) => parser,
    };
    let told = match parser {
        Parser::RustItems => None,
        Parser::Python => {
            answer("python3", &["--version"])?;
            Some(declarations(
                "python3",
                &["fixtures/outline/declarations.py"],
                &paths,
            ))
        }
        Parser::Node => {
            answer("node", &["--version"])?;
            let script = ["--expose-internals", "fixtures/outline/declarations.js"];
            Some(declarations("node", &script, &paths))
        }
    };
    let told: Option<HashMap<PathBuf, Vec<usize>>> = told.map(|told| told.into_iter().collect());
    let each = |(path, text, _): &(PathBuf, Text, Outline)| {
        let functions = outer(of(path), text, &[]);
        let lines = match &told {
            Some(told) => told.get(path).cloned().unwrap_or_default(),
            None => rust_items::lines(text).into_iter().collect(),
        };
        let tag = |line| CtagsTag {
            line,
            end: functions
                .iter()
                .find(|it| it.line == line)
                .and_then(|it| it.end),
            kind: String::new(),
        };
        lines
            .into_iter()
            .filter(|line| *line <= text.len_lines())
            .map(tag)
            .collect()
    };
    Some(texts.iter().map(each).collect())
}

#[test]
fn declarations_of_twelve_languages_have_rows_or_are_counted() {
    if answer("ctags", &["--version"])
        .is_none_or(|line| !line.to_string_lossy().contains("Universal"))
    {
        return;
    }
    let endings: Vec<&str> = LANGUAGES
        .iter()
        .flat_map(|(_, endings, _)| *endings)
        .copied()
        .collect();
    let everything: Vec<PathBuf> = roots()
        .iter()
        .flat_map(|root| every_file(root, &endings))
        .collect();
    let mut all = LanguageScore::default();
    for (name, endings, teller) in LANGUAGES {
        let of_language = |path: &&PathBuf| {
            let path = path.to_string_lossy();
            endings.iter().any(|ending| path.ends_with(ending)) && !path.contains(".min.")
        };
        let paths: Vec<&PathBuf> = everything.iter().filter(of_language).collect();
        let most = if is_long() { MANY } else { FEW };
        let step = (paths.len() / (most * 3)).max(1);
        let mut score = LanguageScore::default();
        let mut texts = Vec::new();
        let mut seen = HashSet::new();
        for path in paths.into_iter().step_by(step) {
            let read = std::fs::read_to_string(path).ok();
            let Some(text) = read.filter(|text| seen.insert(text.clone())) else {
                continue;
            };
            let text = Text::new(&text);
            let file_name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            if let Some(outline) = file_name.and_then(|name| outline_of_text(&name, &text)) {
                texts.push((path.clone(), text, outline));
            }
            if texts.len() == most {
                break;
            }
        }
        let Some(declared) = declared(*teller, &texts) else {
            continue;
        };
        for (each, declared) in texts.iter().zip(&declared) {
            score.add(each, declared);
        }
        score.print(name);
        all.files += score.files;
        all.declarations += score.declarations;
        all.named += score.named;
        all.functions += score.functions;
        all.reached += score.reached;
        all.shares.append(&mut score.shares);
    }
    all.print("all");
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    assert!(share(all.named, all.declarations) >= NAMED);
    // How short outlines are depends on the mix: what happens to be on a machine is a few files, and of
    // some languages none.
    if !is_long() {
        return;
    }
    assert!(share(all.reached, all.functions) >= REACHED);
    assert!(
        all.shares
            .get(all.shares.len() / 2)
            .is_none_or(|median| *median <= MEDIAN)
    );
}
