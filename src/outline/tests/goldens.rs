//! The outlines of `fixtures/outline`, compared with the goldens beside them; nothing here is made by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::syntax::{self, Language, languages};
use crate::task::{CancelToken, Work};
use crate::text::Text;

use crate::outline::{Outline, OutlineRow, Rules, ShownRow, Unfold, outline_with};

const RULES: Rules = Rules {
    min_body_lines: 4,
    prose: true,
};

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outline")
}

/// Rows as the `hashline` dialect writes them, without a header.
pub(super) fn rendered(text: &Text, outline: &Outline) -> String {
    rendered_rows(text, &outline.rows)
}

fn rendered_rows<'r>(text: &Text, rows: impl IntoIterator<Item = &'r OutlineRow>) -> String {
    let mut written = String::new();
    for row in rows {
        let (start, end) = (row.span.start, row.span.end);
        let _ = match &row.fold {
            None => writeln!(written, "{start}:{}", text.line(start as usize - 1)),
            Some(fold) if fold.head.is_empty() => writeln!(written, "{start}-{end}:…"),
            Some(fold) if fold.tail.is_empty() => {
                writeln!(written, "{start}-{end}:{} …", fold.head)
            }
            Some(fold) => writeln!(written, "{start}-{end}:{} … {}", fold.head, fold.tail),
        };
    }
    written
}

fn outline_of(path: &Path) -> (Text, &'static Language, Option<Outline>) {
    let text = Text::new(&fs::read_to_string(path).expect("a sample"));
    let name = path.file_name().expect("a file name").to_string_lossy();
    let language = syntax::detect(&name, &text).expect("a language");
    // A read folds nothing in so short a file; its sample is there to show what would fold.
    let unfold = if text.len_lines() < 120 {
        Unfold::Nothing
    } else {
        Unfold::ByBudget
    };
    let outline = outline_with(&text, language, RULES, unfold, &work()).expect("time enough");
    (text, language, outline)
}

/// All samples with the name of the folder they are in.
pub(super) fn samples() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).expect("fixtures/outline") {
        let entry = entry.expect("an entry");
        if !entry.path().is_dir() {
            continue;
        }
        let language = entry.file_name().to_string_lossy().into_owned();
        for sample in fs::read_dir(entry.path()).expect("a folder of samples") {
            let path = sample.expect("a sample").path();
            if path
                .extension()
                .is_none_or(|extension| extension != "outline")
            {
                found.push((language.clone(), path));
            }
        }
    }
    found.sort();
    found
}

fn golden_of(sample: &Path) -> PathBuf {
    let mut name = sample.as_os_str().to_owned();
    name.push(".outline");
    name.into()
}

#[test]
fn samples_have_their_goldens() {
    let mut wrong = Vec::new();
    for (folder, path) in samples() {
        let (text, language, outline) = outline_of(&path);
        assert_eq!(language.name(), folder, "{}", path.display());
        let written = match outline.filter(|outline| !outline.is_whole_text()) {
            Some(outline) => rendered(&text, &outline),
            None => "nothing folds\n".to_owned(),
        };
        let golden = golden_of(&path);
        if std::env::var_os("PILCROW_BLESS").is_some() {
            fs::write(&golden, written).expect("a golden written");
        } else if fs::read_to_string(&golden).ok() != Some(written) {
            wrong.push(golden.display().to_string());
        }
    }
    assert!(
        wrong.is_empty(),
        "missing or not what comes out (PILCROW_BLESS=1 writes them, then read them):\n{}",
        wrong.join("\n")
    );
}

#[test]
fn samples_parse_without_an_error() {
    let mut wrong = Vec::new();
    for (_, path) in samples() {
        let is_broken = path
            .file_stem()
            .is_some_and(|stem| stem.eq_ignore_ascii_case("broken"));
        let text = Text::new(&fs::read_to_string(&path).expect("a sample"));
        let name = path.file_name().expect("a file name").to_string_lossy();
        let language = syntax::detect(&name, &text).expect("a language");
        let parsed =
            syntax::parse(syntax::Source::new(&text), language, &work()).expect("time enough");
        let has_error = |piece: &syntax::ParsedPiece| piece.tree.root_node().has_error();
        if parsed.pieces.iter().any(has_error) != is_broken {
            wrong.push(format!("{}\n{}", path.display(), errors(&parsed)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the trees have errors, for whoever has to mend a sample.
fn errors(parsed: &syntax::Parsed) -> String {
    let mut written = String::new();
    for piece in &parsed.pieces {
        let mut nodes = vec![piece.tree.root_node()];
        while let Some(node) = nodes.pop() {
            if node.is_error() || node.is_missing() {
                let line = node.start_position().row + 1;
                let text = parsed.source.line(line - 1);
                let _ = writeln!(written, "  {line}: {} in {text}", node.kind());
            }
            let mut cursor = node.walk();
            nodes.extend(node.children(&mut cursor).filter(|child| child.has_error()));
        }
    }
    written
}

#[test]
fn every_language_has_a_sample() {
    let samples = samples();
    let without: Vec<_> = languages()
        .iter()
        .map(Language::name)
        .filter(|name| !samples.iter().any(|(folder, _)| folder == name))
        .collect();
    assert!(without.is_empty(), "no sample of {}", without.join(", "));
}

/// `PILCROW_OUTLINE=FILE cargo test --lib outline::tests::goldens::shows -- --nocapture` prints the outline
/// of any file (or of several with commas between), with `PILCROW_ROOM=BYTES` folded until it fits, with
/// `PILCROW_TREE=1` its tree as well, without what stands on one line.
#[test]
fn shows_the_outlines_of_named_files() {
    let Ok(named) = std::env::var("PILCROW_OUTLINE") else {
        return;
    };
    for path in named.split(',').map(Path::new) {
        let (text, language, outline) = outline_of(path);
        println!("== {} ({})", path.display(), language.name());
        if std::env::var_os("PILCROW_TREE").is_some() {
            let parsed =
                syntax::parse(syntax::Source::new(&text), language, &work()).expect("time enough");
            for piece in &parsed.pieces {
                print_tree(piece.tree.root_node(), None, 0);
            }
            println!("{}", errors(&parsed));
        }
        match outline {
            Some(outline) => println!("{}", in_room(&text, &outline)),
            None => println!("nothing folds"),
        }
    }
}

fn in_room(text: &Text, outline: &Outline) -> String {
    let room = std::env::var("PILCROW_ROOM").ok();
    let room = room
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or(usize::MAX);
    let bytes = |row: &ShownRow| row.bytes + 8;
    let (rows, _) = outline.fitted(text, |rows| rows.iter().map(bytes).sum::<usize>() <= room);
    rendered_rows(text, rows.iter().map(|shown| &*shown.row))
}

fn print_tree(node: tree_sitter::Node<'_>, field: Option<&str>, depth: usize) {
    let (start, end) = (node.start_position(), node.end_position());
    if start.row == end.row {
        return;
    }
    if node.is_named() {
        let field = field.map(|field| format!("{field}: ")).unwrap_or_default();
        let (line, last) = (start.row + 1, end.row + 1);
        println!("{:depth$}{field}{} {line}-{last}", "", node.kind());
    }
    for at in 0..node.child_count() {
        if let Some(child) = node.child(at) {
            print_tree(child, node.field_name_for_child(at), depth + 2);
        }
    }
}
