//! Texts made to break parsers, in every language, given to a daemon as unsaved documents: each is answered, and nothing is lost.

use std::path::Path;

use serde_json::json;

use pilcrow::syntax::{Language, languages};

use crate::chance::Chance;
use crate::client::Daemon;
use crate::processes::zombies;
use crate::tree::Tree;

/// What opens something, in one language or another.
const OPENERS: &[&str] = &[
    "(",
    "[",
    "{",
    "<",
    "[[",
    "{{",
    "${",
    "#{",
    "$(",
    "$((",
    "\\(",
    "%{",
    "@{",
    "@(",
    "f\"{",
    "\"${",
    "\"#{",
    "\"\\(",
    "`${",
    "$\"{",
    "$@\"{",
    "s\"${",
    "<a>",
    "<div>",
    "<p>",
    "<script>",
    "<x-element-of-our-own>",
    "{#if a}",
    "{@html ",
    "<!--",
    "/*",
    "/**",
    "(*",
    "{-",
    "#|",
    "#=",
    "--[[",
    "<#",
    "begin ",
    "do ",
    "if a then ",
    "if (a) ",
    "case a of ",
    "let a = ",
    "a(",
    "fn a() {",
    "class A {",
    "def a ",
    "module A ",
    "function a() ",
    "\\a -> ",
    "a => ",
    "not ",
    "-",
    "*",
    "&",
    "!",
    "?",
    "<<A ",
    "<<~A ",
    "<<-\"A\" ",
    "<<<A\n",
    "<<'A'\n",
    "$a$",
    "\"\"\"",
    "'''",
    "```",
    "~~~",
    "'",
    "\"",
    "`",
    "%w(",
    "%q{",
    "r#\"",
    "R\"a(",
    "[=[",
    "{a|",
    "<<",
    "- ",
    "? ",
    "* ",
    "> ",
    "1. ",
    "+ ",
    "a: ",
    "a:\n",
    "- a: - b: ",
    "if a:\n",
    "for a in b:\n",
    "a = match b\n",
    "where\n",
    "@\"\n",
    "@'\n",
    "template <",
    "A<",
    "#if a\n",
    "\\\n",
    "@a(",
];

/// What is one long thing.
fn long_things(count: usize) -> Vec<String> {
    let word = "A".repeat(count);
    let mut found = vec![
        word.clone(),
        format!("<<{word}\na\n{word}\n"),
        format!("x = <<~\"{word}\"\na\n{word}\n"),
        format!("cat <<'{word}'\na\n{word}\n"),
        format!("<?php\n$a = <<<{word}\na\n{word};\n"),
        format!("RUN <<{word}\na\n{word}\n"),
        format!("a = <<{word}\na\n{word}\n"),
        format!("R\"{word}(a){word}\""),
        format!("{{{word}|a|{word}}}"),
        format!("${word}$ a ${word}$"),
        format!("<{word}>a</{word}>"),
        format!("<a {word}=\"{word}\"/>"),
        format!("`{word}`"),
    ];
    for sign in [
        "#", "\"", "'", "`", "=", "-", "~", "$", "@", "\\", "\t", " ",
    ] {
        let signs = sign.repeat(count);
        found.push(format!("r{signs}\"a\"{signs}"));
        found.push(format!("[{signs}[a]{signs}]"));
        found.push(format!("{signs}\"a {signs}"));
        found.push(format!("a\n{signs}a\n{signs}"));
    }
    // Many that are open at once, of every length modulo a few.
    for length in [1, 2, 3, 7, 121, 254, 255, 256] {
        let word = "B".repeat(length);
        let many = count / (length + 1) + 2;
        found.push(format!(
            "f({})\n",
            vec![format!("<<{word}"); many].join(", ")
        ));
        found.push(format!(
            "cat {}\n",
            vec![format!("<<{word}"); many].join(" ")
        ));
        found.push(format!("<<{word}\n#{{").repeat(many));
    }
    found
}

/// Each opener `count` times: on one line, on lines, and on lines ever further in, closed or not.
fn nestings(count: usize) -> Vec<String> {
    let mut found = Vec::new();
    for opener in OPENERS {
        found.push(opener.repeat(count));
        found.push(format!("{opener}\n").repeat(count));
        let further_in = |level: usize| format!("{}{opener}\n", " ".repeat(level));
        found.push((0..count).map(further_in).collect());
        let string_inside = |level: usize| format!("{}{opener} f\"\"\"\n", " ".repeat(level));
        found.push((0..count).map(string_inside).collect());
        if let Some(closer) = opener.chars().last().and_then(closer_of) {
            let closers = closer.to_string().repeat(count);
            found.push(format!("{}{closers}", opener.repeat(count)));
        }
    }
    found
}

fn closer_of(opener: char) -> Option<char> {
    "()[]{}<>"
        .find(opener)
        .filter(|at| at % 2 == 0)
        .and_then(|at| "()[]{}<>"[at + 1..].chars().next())
}

/// Python and YAML, with every parity of what else they save.
fn deep_blocks() -> Vec<String> {
    let mut found = Vec::new();
    for strings in 0..3 {
        for levels in [250, 253, 254, 255, 382, 384, 509, 510, 511, 512, 513] {
            let block = |level| format!("{}if a:\n", " ".repeat(level));
            let mut text: String = (0..levels).map(block).collect();
            text.push_str(&" ".repeat(levels));
            text.push_str(&"f\"{".repeat(strings));
            text.push_str("'a'\n");
            found.push(text);
            let key = |level| format!("{}a:\n", " ".repeat(level));
            let mut text: String = (0..levels).map(key).collect();
            text.push_str(&" ".repeat(levels));
            text.push_str(&"- ".repeat(strings));
            text.push_str("a: |\n");
            found.push(text);
        }
    }
    found
}

/// A sample with some of its lines and characters taken out, doubled, put elsewhere or exchanged for openers.
fn damaged(samples: &[String], chance: &mut Chance) -> String {
    let mut chars: Vec<char> = samples[chance.below(samples.len())].chars().collect();
    for _ in 0..chance.below(6) + 1 {
        if chars.is_empty() {
            break;
        }
        let at = chance.below(chars.len());
        let end = (at + chance.below(120)).min(chars.len());
        match chance.below(6) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let again = chars[at..end].repeat(chance.below(40) + 1);
                chars.splice(at..at, again).for_each(drop);
            }
            2 => chars.truncate(at),
            3 => chars[at] = char::from_u32(chance.below(0x3000) as u32).unwrap_or('\u{fffd}'),
            4 => {
                let opener = OPENERS[chance.below(OPENERS.len())].repeat(chance.below(300) + 1);
                chars.splice(at..at, opener.chars()).for_each(drop);
            }
            _ => {
                let other: Vec<char> = samples[chance.below(samples.len())].chars().collect();
                let from = chance.below(other.len());
                let piece = other[from..].iter().take(2000).copied();
                chars.splice(at..end, piece).for_each(drop);
            }
        }
    }
    chars.into_iter().collect()
}

fn is_long() -> bool {
    std::env::var_os("PILCROW_LONG").is_some()
}

/// A daemon that folds what it can, however short, and an unsaved text in it.
struct Tried {
    daemon: Daemon,
    pid: u32,
    _tree: Tree,
    texts: usize,
}

impl Tried {
    fn begin() -> Tried {
        let tree = Tree::new().file("a.txt", "disk\n");
        let summaries = json!({ "read": { "summarize": { "minTotalLines": 1 } } });
        let builder = Daemon::builder().root(tree.path()).settings(summaries);
        let daemon = builder.start();
        daemon.ignore_changes();
        let tried = Tried {
            pid: daemon.pid(),
            daemon,
            _tree: tree,
            texts: 0,
        };
        tried.open("untitled:kept", "plaintext", "typed\n");
        tried
    }

    fn open(&self, uri: &str, language: &str, text: &str) {
        let opened = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        let opened = json!({ "textDocument": opened });
        self.daemon.notify("textDocument/didOpen", opened);
    }

    /// Reads the text as a document of that language. What is folded of it lies in its lines.
    fn run(&mut self, language: &Language, what: &str, text: &str) {
        let uri = format!("untitled:{}", self.texts);
        self.texts += 1;
        self.open(&uri, language.name(), text);
        let read = self.daemon.read(&uri);
        let read = read.unwrap_or_else(|error| panic!("{what} in {}: {error:?}", language.name()));
        let spans = read["details"]["summary"]["elidedSpans"].as_array();
        let mut next = 1;
        for span in spans.into_iter().flatten() {
            let (start, end) = (span["start"].as_u64(), span["end"].as_u64());
            assert!(start >= Some(next) && end >= start, "{what}: {read}");
            next = end.expect("an end") + 1;
        }
        let lines = text.split_inclusive('\n').count() as u64;
        assert!(next <= lines + 1, "{what}: {read}");
        let closed = json!({ "textDocument": { "uri": uri } });
        self.daemon.notify("textDocument/didClose", closed);
    }

    fn end(self) {
        let kept = self.daemon.read_text("untitled:kept");
        assert!(kept.ends_with("\n1:typed"), "{kept}");
        assert_eq!(self.daemon.pid(), self.pid);
        self.daemon.call("agent/status", json!({})).expect("status");
        assert_eq!(zombies(self.pid), Vec::<u32>::new());
    }
}

#[test]
fn no_nesting_ends_the_daemon() {
    let mut tried = Tried::begin();
    let counts: &[usize] = match is_long() {
        true => &[260, 520, 1100, 5000],
        false => &[520],
    };
    // The short form gives each language one text in sixty, and what is known to be hard.
    let stride = if is_long() { 1 } else { 60 };
    let known = ["python", "ruby", "yaml"];
    for (number, language) in languages().iter().enumerate() {
        let step = match known.contains(&language.name()) {
            true => stride.min(6),
            false => stride,
        };
        let hard = deep_blocks();
        for text in hard.iter().skip(number % step).step_by(step) {
            tried.run(language, "deep blocks", text);
        }
        for &count in counts {
            let texts = nestings(count).into_iter().chain(long_things(count));
            for text in texts.skip(number % stride).step_by(stride) {
                let what: String = text.chars().take(60).collect();
                tried.run(language, &what, &text);
            }
        }
    }
    tried.end();
}

#[test]
fn half_a_million_brackets_do_not_end_the_daemon() {
    let mut tried = Tried::begin();
    let pairs = [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("<a>", "</a>"),
        ("a(", ")"),
        ("-", ""),
    ];
    let step = if is_long() { 1 } else { pairs.len() };
    for (number, language) in languages().iter().enumerate() {
        for (opener, closer) in pairs.iter().skip(number % step).step_by(step) {
            let open = opener.repeat(500_000);
            tried.run(language, opener, &open);
            if is_long() {
                let closed = format!("{open}{}", closer.repeat(500_000));
                tried.run(language, opener, &closed);
            }
        }
    }
    tried.end();
}

/// What OCaml's and Svelte's scanners recurse on, deeper than any stack.
#[test]
fn no_recursion_of_a_scanner_ends_the_daemon() {
    let mut tried = Tried::begin();
    let texts = [
        ("", "(*", "*)"),
        ("", "(* \"*)\" ", "*)"),
        ("(* \"", "(* '\"' ", "*)"),
        ("let a = {|", "(* {|*)|} '", "*)"),
        ("{", "`${", "}`"),
        ("{@const a=", "`${", "}`"),
        ("{#snippet a(", "`${`}", "}`"),
        ("<p a={", "{`${'`'", "}`}"),
    ];
    for levels in [10_000, 150_000] {
        for (begin, opener, closer) in texts {
            let open = format!("{begin}{}\n", opener.repeat(levels));
            let closed = format!(
                "{begin}{}{}\n",
                opener.repeat(levels),
                closer.repeat(levels)
            );
            for language in languages() {
                let recurses = ["ocaml", "ocaml-interface", "svelte"];
                if is_long() || recurses.contains(&language.name()) {
                    tried.run(language, opener, &open);
                    tried.run(language, opener, &closed);
                }
            }
        }
    }
    tried.end();
}

/// The samples of the outlines in that language.
fn samples(language: &Language) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outline");
    let entries = std::fs::read_dir(folder.join(language.name())).expect("samples");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_none_or(|end| end != "outline"));
    paths.sort();
    let text = |path| std::fs::read_to_string(path).expect("a sample");
    paths.iter().map(text).collect()
}

/// 20,000 of them in the long form.
#[test]
fn no_damaged_sample_ends_the_daemon() {
    let mut tried = Tried::begin();
    let rounds = if is_long() { 20_000 } else { 400 };
    let samples: Vec<_> = languages().iter().map(|it| (it, samples(it))).collect();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        let (language, samples) = &samples[round % samples.len()];
        let text = damaged(samples, &mut chance);
        tried.run(language, &format!("round {round}"), &text);
    }
    tried.end();
}
