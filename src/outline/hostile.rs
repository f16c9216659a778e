//! Texts made to break parsers, in every language; a test here runs in a process of its own, so that an abort is a failure with a name.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::chance::Chance;
use crate::syntax::{Language, Sound, languages, parse};
use crate::task::{CancelToken, Work};
use crate::text::Text;

use super::tests::partitions;
use super::{Rules, Unfold, goldens, outline_with};

/// Set in the process that does the work.
const INNER: &str = "PILCROW_HOSTILE";
/// No text may take longer, however slow the machine: the parser is asked to stop long before.
const HANG: Duration = Duration::from_secs(60);
/// Threads that a short job may run on have no more.
const STACK_BYTES: usize = 2 * 1024 * 1024;

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

thread_local! {
    /// The last text that parsed.
    static SOUND: RefCell<Option<Sound>> = const { RefCell::new(None) };
}

/// Outlines `source` in `language`, on a small stack. What comes out names every line once. It is
/// parsed from the last text of that language which had no error, too.
fn outlines(language: &'static Language, source: &str, time: Duration) {
    let text = Text::new(source);
    let rules = Rules {
        min_body_lines: 4,
        prose: true,
    };
    let work = Work::new(CancelToken::new(), time);
    if let Ok(Some(outline)) = outline_with(&text, language, rules, Unfold::ByBudget, &work) {
        partitions(&outline, text.len_lines());
    }
    let work = Work::new(CancelToken::new(), time);
    let before = SOUND
        .take()
        .filter(|sound| sound.language().name() == language.name());
    let again = before
        .as_ref()
        .map(|before| before.parse_again(&text, &work));
    let sound = match again {
        Some(Ok(Some(sound))) => Some(sound),
        Some(_) => before,
        None => parse(&text, language, &work).ok().and_then(Sound::of),
    };
    SOUND.set(sound);
}

/// Runs the test of this name again in another process, and fails with the text it ended at.
fn in_another_process(test: &str) {
    let program = std::env::current_exe().expect("the path of the tests");
    let mut child = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INNER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tests run again");
    let stdout = child.stdout.take().expect("a pipe");
    let mut last = String::new();
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if line.starts_with("hostile: ") {
            last = line;
        }
    }
    let status = child.wait().expect("an exit status");
    assert!(status.success(), "{status}; the last was {last}");
}

/// In the inner process: does `all`, which announces every text, on a small stack.
fn on_a_small_stack(
    all: impl FnOnce(&dyn Fn(&'static Language, &str, &str, Duration)) + Send + 'static,
) {
    let (announce, announced) = mpsc::channel::<()>();
    let worker = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            all(&|language, name, source, time| {
                let shown: String = name.chars().take(60).collect();
                let mut stdout = std::io::stdout().lock();
                let _ = writeln!(
                    stdout,
                    "hostile: {} {shown:?} of {}",
                    language.name(),
                    source.len()
                );
                drop(stdout);
                // The watch below ends with the sender.
                let _ = announce.send(());
                outlines(language, source, time);
            });
        })
        .expect("a thread");
    watch(&announced);
    worker.join().expect("no panic");
}

/// Ends the process when nothing new is announced for too long.
fn watch(announced: &Receiver<()>) {
    loop {
        match announced.recv_timeout(HANG) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("a parse does not end");
                std::process::abort();
            }
        }
    }
}

fn is_long() -> bool {
    std::env::var_os("PILCROW_LONG").is_some()
}

#[test]
fn no_nesting_ends_the_process() {
    if std::env::var_os(INNER).is_none() {
        return in_another_process("outline::hostile::no_nesting_ends_the_process");
    }
    on_a_small_stack(|run| {
        let counts: &[usize] = if is_long() {
            &[260, 520, 1100, 5000]
        } else {
            &[520]
        };
        let time = Duration::from_millis(if is_long() { 1000 } else { 20 });
        // The short form gives each language one text in twelve, and what is known to be hard.
        let stride = if is_long() { 1 } else { 12 };
        let known = ["python", "ruby", "yaml"];
        for (number, language) in languages().iter().enumerate() {
            let is_known = known.contains(&language.name());
            let (hard, step) = (deep_blocks(), if is_known { 1 } else { stride });
            for source in hard.iter().skip(number % step).step_by(step) {
                run(language, "deep blocks", source, Duration::from_secs(1));
            }
            for &count in counts {
                let texts = nestings(count).into_iter().chain(long_things(count));
                for source in texts.skip(number % stride).step_by(stride) {
                    run(language, &source, &source, time);
                }
            }
        }
    });
}

#[test]
fn half_a_million_brackets_end_no_process() {
    if std::env::var_os(INNER).is_none() {
        return in_another_process("outline::hostile::half_a_million_brackets_end_no_process");
    }
    on_a_small_stack(|run| {
        let time = Duration::from_millis(if is_long() { 10_000 } else { 100 });
        let pairs = [
            ("(", ")"),
            ("[", "]"),
            ("{", "}"),
            ("<a>", "</a>"),
            ("a(", ")"),
            ("-", ""),
        ];
        let step = if is_long() { 1 } else { 3 };
        for (number, language) in languages().iter().enumerate() {
            for (opener, closer) in pairs.iter().skip(number % step).step_by(step) {
                let open = opener.repeat(500_000);
                run(language, opener, &open, time);
                if is_long() {
                    let closed = format!("{open}{}", closer.repeat(500_000));
                    run(language, opener, &closed, time);
                }
            }
        }
    });
}

/// What OCaml's and Svelte's scanners recurse on, around the depth from which on they are not asked.
#[test]
fn no_recursion_of_a_scanner_ends_the_process() {
    if std::env::var_os(INNER).is_none() {
        return in_another_process("outline::hostile::no_recursion_of_a_scanner_ends_the_process");
    }
    on_a_small_stack(|run| {
        let time = Duration::from_secs(if is_long() { 10 } else { 1 });
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
        for levels in [9_999, 10_000, 40_000] {
            for (begin, opener, closer) in texts {
                let open = format!("{begin}{}", opener.repeat(levels));
                let closed = format!("{open}{}", closer.repeat(levels));
                for language in languages() {
                    let recurses = ["ocaml", "ocaml-interface", "svelte"];
                    if is_long() || recurses.contains(&language.name()) {
                        run(language, opener, &open, time);
                        run(language, opener, &closed, time);
                    }
                }
            }
        }
    });
}

#[test]
fn no_damage_ends_the_process() {
    if std::env::var_os(INNER).is_none() {
        return in_another_process("outline::hostile::no_damage_ends_the_process");
    }
    on_a_small_stack(|run| {
        let rounds = if is_long() { 100_000 } else { 2_000 };
        let time = Duration::from_millis(if is_long() { 500 } else { 100 });
        let all = goldens::samples();
        let of = |language: &Language| -> Vec<String> {
            let own = all.iter().filter(|(folder, _)| folder == language.name());
            own.map(|(_, path)| std::fs::read_to_string(path).expect("a sample"))
                .collect()
        };
        let samples: Vec<_> = languages()
            .iter()
            .map(|language| (language, of(language)))
            .collect();
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        for round in 0..rounds {
            let (language, samples) = &samples[round % samples.len()];
            let source = damaged(samples, &mut chance);
            run(language, &format!("round {round}"), &source, time);
        }
    });
}
