//! Texts parsed from earlier ones, in every language, beside the same texts parsed anew; nothing here looks at outlines.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::chance::Chance;
use crate::syntax::{Language, languages, named, parse};
use crate::task::CancelToken;
use crate::text::Text;

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

fn language(name: &str) -> &'static Language {
    named(name).expect("a language")
}

fn source(text: &str) -> Source {
    Source::new(&Text::new(text))
}

fn sound(text: &str, language: &'static Language) -> Option<Parsed> {
    let parsed = parse(source(text), language, &work()).expect("time enough");
    parsed.sound().is_some().then_some(parsed)
}

fn tree(parsed: &Parsed) -> String {
    parsed.pieces[0].tree.root_node().to_sexp()
}

/// The samples of the outlines, each with its language.
fn samples() -> Vec<(&'static Language, String)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outline");
    let mut found = Vec::new();
    for language in languages() {
        let Ok(entries) = std::fs::read_dir(fixtures.join(language.name())) else {
            continue;
        };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let is_golden = |path: &Path| path.extension().is_some_and(|end| end == "outline");
        for path in paths.iter().filter(|path| !is_golden(path)) {
            let text = std::fs::read_to_string(path).expect("a sample in UTF-8");
            found.push((language, text));
        }
    }
    found
}

/// The text with one or two of its lines taken out, doubled, put elsewhere or cut.
fn edited(text: &str, chance: &mut Chance) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..chance.below(2) + 1 {
        if lines.is_empty() {
            break;
        }
        let (at, other) = (chance.below(lines.len()), chance.below(lines.len()));
        match chance.below(4) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            _ => {
                let half: String = lines[at].chars().take(chance.below(40)).collect();
                lines[at] = half + "\n";
            }
        }
    }
    lines.concat()
}

/// What is sound this way is sound the other way, and the same tree. Each text is parsed from the
/// one before it, so that what went wrong once would go on.
#[test]
fn a_text_parsed_again_has_the_tree_of_the_text_parsed_anew() {
    let mut chance = Chance(9);
    let mut others = Vec::new();
    let (mut again, mut sounds) = (0, 0);
    for (language, sample) in samples() {
        let (Some(mut now), mut text) = (sound(&sample, language), sample) else {
            continue;
        };
        for _ in 0..40 {
            let next = edited(&text, &mut chance);
            let anew = sound(&next, language);
            let found = now.parse_again(&source(&next), &work());
            sounds += usize::from(anew.is_some());
            let Some(found) = found.expect("time enough") else {
                continue;
            };
            again += 1;
            if anew.as_ref().is_none_or(|anew| tree(anew) != tree(&found)) {
                others.push((language.name(), anew.is_some()));
            }
            (now, text) = (found, next);
        }
    }
    assert_eq!(others, []);
    assert!(again > 300 && sounds > 300, "{again} of {sounds}");
}

#[test]
fn an_edit_is_between_whole_characters_and_within_the_text() {
    let place = |old: &str, new: &str| {
        let edit = between(&source(old), &source(new))?;
        Some((edit.start_byte, edit.old_end_byte, edit.new_end_byte))
    };
    assert_eq!(place("a\nb\n", "a\nb\n"), None);
    // The source of a text without a last line end has one all the same.
    assert_eq!(place("a\nb", "a\nb\n"), None);
    assert_eq!(place("a\nb\nc\n", "a\nx y\nc\n"), Some((2, 3, 5)));
    assert_eq!(place("aa\n", "aaa\n"), Some((2, 2, 3)));
    assert_eq!(place("aaa\n", "aa\n"), Some((2, 3, 2)));
    // U+00E9 and U+00E8 begin with one byte, U+00E9 and U+0129 end with one.
    assert_eq!(place("\u{e9}\n", "\u{e8}\n"), Some((0, 2, 2)));
    assert_eq!(place("\u{e9}\n", "\u{129}\n"), Some((0, 2, 2)));
    let long = |middle: &str| format!("{}{middle}{}", "line\n".repeat(100), "line\n".repeat(100));
    assert_eq!(place(&long(""), &long("more\n")), Some((500, 500, 505)));
    let edit = between(&source(&long("")), &source(&long("more\n"))).expect("they differ");
    assert_eq!(edit.start_position, Point::new(100, 0));
    assert_eq!(edit.old_end_position, Point::new(100, 0));
    assert_eq!(edit.new_end_position, Point::new(101, 0));
}

#[test]
fn what_has_an_error_is_not_sound() {
    let rust = language("rust");
    assert!(sound("fn a() {\n", rust).is_none());
    assert!(sound("", rust).is_none());
    let first = sound("fn a() {}\nfn b() {}\n", rust).expect("it parses");
    let again = |text: &str| {
        let found = first.parse_again(&source(text), &work());
        found.expect("time enough").is_some()
    };
    assert!(again("fn a() {}\nfn c() {}\n"));
    assert!(again("fn a() {}\nfn b() {}\n"));
    assert!(!again("fn a() {\nfn b() {}\n"));
    assert!(!again("fn a() {}\n\0"));
    assert!(!again(""));
    let cancelled = CancelToken::new();
    cancelled.cancel();
    let work = Work::new(cancelled, Duration::from_secs(60));
    let stopped = first.parse_again(&source("fn b() {}\n"), &work);
    assert_eq!(stopped.err(), Some(Stopped::Cancelled));
}
