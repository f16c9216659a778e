//! What folds and what stays, on small texts; goldens of real-looking files are in `fixtures/outline`.

mod definitions;
mod fitting;
mod goldens;
mod rust_items;
mod sources;
mod sqlite;
mod trees;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::syntax::{Language, detect, languages};
use crate::task::{CancelToken, Work};
use crate::text::Text;

use self::fitting::{holds_for_row, holds_in_less_room};
use self::goldens::rendered;
use super::{Outline, Rules, Unfold, outline, outline_with};

const RULES: Rules = Rules {
    min_body_lines: 4,
    prose: true,
};

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

fn folded(name: &str, source: &str) -> String {
    let text = Text::new(source);
    let language = detect(name, &text).expect("a language");
    let outline = outline_with(&text, language, RULES, Unfold::Nothing, &work());
    match outline
        .expect("time enough")
        .filter(|it| !it.is_whole_text())
    {
        Some(outline) => rendered(&text, &outline),
        None => "nothing folds".to_owned(),
    }
}

fn unfolded(name: &str, source: &str) -> Option<Outline> {
    let text = Text::new(source);
    let language = detect(name, &text).expect("a language");
    outline(&text, language, RULES, &work()).expect("time enough")
}

#[track_caller]
pub(super) fn partitions(outline: &Outline, lines: usize) {
    let mut next = 1;
    for row in &outline.rows {
        assert_eq!(row.span.start, next);
        assert!(row.span.end >= row.span.start);
        assert!(row.fold.is_some() || row.span.end == row.span.start);
        next = row.span.end + 1;
    }
    assert_eq!(next, lines as u64 + 1);
}

#[test]
fn a_body_folds_from_four_lines_up() {
    insta::assert_snapshot!(
        folded("a.ts", "f(() => 1);\nfunction g() {\n  a();\n}\nfunction h() {\n  a();\n  b();\n}\n"),
        @r"
    1:f(() => 1);
    2:function g() {
    3:  a();
    4:}
    5-8:function h() { … }
    "
    );
}

#[test]
fn a_fold_saves_two_rows_whatever_the_setting() {
    let text = Text::new("fn f() {\n}\nfn g() {\n    1;\n}\n");
    let rust = detect("a.rs", &text).expect("rust");
    let rules = Rules {
        min_body_lines: 0,
        prose: true,
    };
    let outline = outline_with(&text, rust, rules, Unfold::Nothing, &work()).expect("time enough");
    insta::assert_snapshot!(rendered(&text, &outline.expect("a fold")), @r"
    1:fn f() {
    2:}
    3-5:fn g() { … }
    ");
}

#[test]
fn a_line_that_ends_one_fold_and_begins_another_is_the_head_of_the_second() {
    insta::assert_snapshot!(
        folded("a.js", "request(function () {\n  a();\n  b();\n  c();\n}, function () {\n  d();\n  e();\n  f();\n});\n"),
        @r"
    1-4:request(function () { …
    5-9:}, function () { … });
    "
    );
}

#[test]
fn a_last_line_with_text_before_its_closer_is_not_shown_whole() {
    let text = Text::new("X = [\n    1,\n    2,\n    3]\n");
    let python = detect("a.py", &text).expect("python");
    let outline =
        outline_with(&text, python, RULES, Unfold::Nothing, &work()).expect("time enough");
    let outline = outline.expect("a fold");
    insta::assert_snapshot!(rendered(&text, &outline), @"1-4:X = [ … ]");
    let fold = outline.rows[0].fold.as_ref().expect("a fold");
    assert!(fold.shows_first && !fold.shows_last);
}

#[test]
fn a_comment_is_its_first_sentence_and_shows_no_line() {
    let source = "/**\n * The size, e.g. of J. Doe's shoe,\n * in mm. Never negative.\n */\nfn f() {}\n\n\
        // ---------\n// One.\n// Two.\n// ---------\n";
    insta::assert_snapshot!(folded("a.rs", source), @r"
    1-4:/** The size, e.g. of J. Doe's shoe, in mm. …
    5:fn f() {}
    6:
    7-10:// One. …
    ");
}

/// A blank of two bytes before a word that a sentence may end with.
#[test]
fn a_sentence_ends_after_any_blank() {
    let source = "/**\n * A\u{a0}b. Two.\n * Three.\n */\nfn f() {}\n";
    let rows = folded("a.rs", source);
    assert!(rows.starts_with("1-4:/** A\u{a0}b. Two. …\n"), "{rows}");
}

#[test]
fn a_python_body_keeps_its_head_and_docstring() {
    let source = "class A:\n    @cached(\n        1,\n        2,\n    )\n    def f(self, a,\n          b):\n        \
        '''Does it.\n\n        Well.\n        '''\n        a()\n        b()\n        c()\n        return 1\n\n    x = 1\n";
    insta::assert_snapshot!(folded("a.py", source), @r"
    1:class A:
    2-5:    @cached( … )
    6:    def f(self, a,
    7:          b):
    8-11:        '''Does it. …
    12-15:…
    16:
    17:    x = 1
    ");
}

#[test]
fn groups_of_tests_show_their_tests() {
    let test = |name: &str| format!("  it(\"{name}\", () => {{\n    a();\n    b();\n  }});\n");
    let tests = [test("one"), test("two"), test("three")].concat();
    insta::assert_snapshot!(folded("a.test.js", &format!("describe(\"it\", () => {{\n{tests}}});\n")), @r#"
    1:describe("it", () => {
    2-5:  it("one", () => { … });
    6-9:  it("two", () => { … });
    10-13:  it("three", () => { … });
    14:});
    "#);
}

#[test]
fn lines_that_end_in_cr_alone_are_lines() {
    let source = "fn f() {\r    1;\r    2;\r    3;\r}\r";
    insta::assert_snapshot!(folded("a.rs", source), @"1-5:fn f() { … }");
}

#[test]
fn crlf_is_no_text_of_a_row() {
    let source = "fn f() {\r\n    1;\r\n    2;\r\n    3;\r\n}\r\n";
    insta::assert_snapshot!(folded("a.rs", source), @"1-5:fn f() { … }");
}

#[test]
fn what_is_empty_or_short_has_no_outline() {
    for language in languages() {
        for source in ["", "\n", "\n\n\n\n\n\n", "x", "\u{feff}"] {
            let text = Text::new(source);
            let found = outline(&text, language, RULES, &work()).expect("time enough");
            assert_eq!(found, None, "{} {source:?}", language.name());
        }
    }
}

#[test]
fn one_body_with_an_error_stays_open_and_many_fold() {
    let broken = |number: usize| {
        format!("int f{number}(void)\n{{\n\tif unlikely(a) {{\n\t\tb();\n\t}}\n\tc();\n}}\n")
    };
    let sound = "int g(void)\n{\n\ta();\n\tb();\n}\n";
    insta::assert_snapshot!(folded("a.c", &format!("{}{sound}", broken(1))), @r"
    1:int f1(void)
    2:{
    3:	if unlikely(a) {
    4:		b();
    5:	}
    6:	c();
    7:}
    8:int g(void)
    9-12:{ … }
    ");
    let many: String = (0..4).map(broken).collect();
    insta::assert_snapshot!(folded("a.c", &format!("{many}{sound}")), @r"
    1:int f0(void)
    2-7:{ … }
    8:int f1(void)
    9-14:{ … }
    15:int f2(void)
    16-21:{ … }
    22:int f3(void)
    23-28:{ … }
    29:int g(void)
    30-33:{ … }
    ");
}

/// A class of twenty members, of which one has lost two of its closing parentheses.
fn with_a_broken_member(head: &str, member: &str, broken: &str, end: &str) -> String {
    let members = |range: std::ops::Range<usize>| -> String {
        range
            .map(|number| member.replace('N', &number.to_string()))
            .collect()
    };
    format!("{head}{}{broken}{}{end}", members(0..8), members(8..20))
}

#[test]
fn a_parenthesis_that_never_closes_hides_one_member_and_no_other() {
    let braces = "    public int mN(int a) {\n        a();\n        b();\n        c();\n    }\n\n";
    let bad = "    public int bad(int a {\n        int x = (a;\n        return x;\n    }\n\n";
    let java = with_a_broken_member("class A {\n", braces, bad, "}\n");
    let function = |text: &str| text.replace("public int", "public function");
    let cases = [
        ("A.java", java.clone()),
        ("a.cs", java.clone()),
        (
            "a.js",
            java.replace("public int ", "")
                .replace("(int a", "(a")
                .replace("int ", "let "),
        ),
        (
            "a.php",
            format!("<?php\n{}", function(&java).replace("int a", "$a")),
        ),
        (
            "a.rs",
            with_a_broken_member(
                "impl A {\n",
                "    pub fn mN(a: u32) -> u32 {\n        a();\n        b();\n        c()\n    }\n\n",
                "    pub fn bad(a: u32 -> u32 {\n        let x = (a;\n        x\n    }\n\n",
                "}\n",
            ),
        ),
        (
            "a.py",
            with_a_broken_member(
                "class A:\n",
                "    def mN(a):\n        a()\n        b()\n        c()\n        return 1\n\n",
                "    def bad(a:\n        x = (a\n        return x\n\n",
                "",
            ),
        ),
        (
            "a.rb",
            with_a_broken_member(
                "class A\n",
                "  def mN(a)\n    a()\n    b()\n    c()\n    d()\n  end\n\n",
                "  def bad(a\n    x = (a\n    x\n  end\n\n",
                "end\n",
            ),
        ),
    ];
    for (name, source) in cases {
        let rows = folded(name, &source);
        for number in 0..20 {
            assert!(
                rows.contains(&format!("m{number}(")),
                "m{number} of {name} in {rows}"
            );
        }
        let folds = rows.lines().filter(|row| row.contains('…')).count();
        // In Python nothing behind an open parenthesis is a block any more.
        let expected = if name == "a.py" { 8 } else { 20 };
        assert_eq!(folds, expected, "{name}: {rows}");
    }
}

#[test]
fn the_script_of_a_component_shows_its_functions() {
    let script = "function a(b: number): string {\n  c();\n  d();\n  e();\n}\n";
    let source = format!(
        "<script setup lang=\"ts\">\n{script}</script>\n\n<template>\n  <p>\n    a\n  </p>\n</template>\n"
    );
    for name in ["a.vue", "a.svelte"] {
        let rows = folded(name, &source);
        let shown =
            "1:<script setup lang=\"ts\">\n2-6:function a(b: number): string { … }\n7:</script>\n";
        assert!(rows.starts_with(shown), "{name}: {rows}");
    }
    let data = "<script type=\"application/json\">\n{\n\"a\": [\n1,\n2\n]\n}\n</script>\n";
    assert_eq!(folded("a.html", data), "nothing folds");
}

#[test]
fn prose_is_left_alone_where_it_is_to_be() {
    let text = Text::new(&"# A\n\na\nb\nc\nd\ne\nf\n".repeat(40));
    let markdown = detect("a.md", &text).expect("markdown");
    let rules = Rules {
        prose: false,
        ..RULES
    };
    assert_eq!(
        outline(&text, markdown, rules, &work()).expect("time"),
        None
    );
    assert!(
        outline(&text, markdown, RULES, &work())
            .expect("time")
            .is_some()
    );
}

fn functions(count: usize, lines: usize) -> String {
    let body = "    step();\n".repeat(lines - 2);
    (0..count)
        .map(|number| format!("fn f{number}() {{\n{body}}}\n"))
        .collect()
}

#[test]
fn the_smallest_bodies_are_opened_while_there_is_room() {
    let source = format!("{}{}", functions(3, 30), functions(2, 20));
    let outline = unfolded("a.rs", &source).expect("an outline");
    partitions(&outline, 130);
    // 5 rows; both of 20 lines, then the first of 30, which makes 5 + 2 * 19 + 29.
    assert_eq!(outline.rows.len(), 72);
    let folds: Vec<_> = outline
        .rows
        .iter()
        .filter(|row| row.fold.is_some())
        .collect();
    assert_eq!(folds.len(), 2);
    assert_eq!(folds[0].span.start, 31);
}

#[test]
fn nothing_is_opened_past_the_most_rows() {
    let outline = unfolded("a.rs", &functions(4, 130)).expect("an outline");
    assert_eq!(outline.rows.len(), 4);
}

#[test]
fn what_is_opened_keeps_the_folds_inside() {
    let inner = format!(
        "    let f = || {{\n{}    }};\n",
        "        step();\n".repeat(150)
    );
    let source = format!("fn outer() {{\n{inner}    step();\n}}\n");
    let outline = unfolded("a.rs", &source).expect("an outline");
    partitions(&outline, 155);
    assert_eq!(outline.rows.len(), 4);
}

#[test]
fn a_class_of_two_hundred_methods_shows_them_all() {
    let methods = (0..200).map(|number| format!("  m{number}() {{\n    a();\n    b();\n  }}\n"));
    let source = format!("class A {{\n{}}}\n", methods.collect::<String>());
    assert_eq!(
        unfolded("a.ts", &source).expect("an outline").rows.len(),
        202
    );
}

#[test]
fn nesting_without_end_is_no_danger() {
    let closed = format!("{}{}", "[\n".repeat(3000), "]\n".repeat(3000));
    let open = |line: &str| line.repeat(30_000);
    let sources = [
        ("a.json", closed),
        ("a.json", open("[\n")),
        ("a.js", open("f(() => {\n")),
        ("a.html", open("<div>\n")),
        ("a.md", open("> - a\n> ")),
    ];
    for (name, source) in sources {
        let text = Text::new(&source);
        let language = detect(name, &text).expect("a language");
        let work = Work::new(CancelToken::new(), Duration::from_millis(100));
        let begun = Instant::now();
        if let Ok(Some(outline)) = outline(&text, language, RULES, &work) {
            partitions(&outline, text.len_lines());
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{name}");
    }
}

/// Pieces of code and prose of many languages, to be put together at random.
const PIECES: &[&str] = &[
    "fn f() {",
    "}",
    "};",
    "});",
    "def f(self):",
    "    return 1",
    "class A {",
    "class A:",
    "{",
    "[",
    "]",
    "(",
    ")",
    "/**",
    " * Text.",
    " */",
    "// text",
    "# text",
    "\"\"\"",
    "```",
    "- item",
    "| a | b |",
    "key: value",
    "  a: [",
    "x = {",
    "end",
    "do |x|",
    "begin",
    "import a",
    "use b;",
    "#include <a>",
    "",
    "  ",
    "\t\tx();",
    "<div>",
    "</div>",
    "} else {",
    "}, function() {",
    "SELECT 1",
    "CREATE TABLE a (",
    "$$",
    "## Heading",
    "\u{1f600} é \u{2028}",
    "/* x",
    "*/ y",
    "impl A {",
    "'",
    "`",
    "%{",
    "=> {",
    "@a(",
    "template <",
    "#if A",
    "#endif",
];

fn cases() -> ProptestConfig {
    let long = std::env::var_os("PILCROW_LONG").is_some();
    ProptestConfig::with_cases(if long { 20_000 } else { 400 })
}

/// The laws that hold for every text and every language.
fn holds(text: &Text, language: &'static Language, min_body_lines: usize) {
    let rules = Rules {
        min_body_lines,
        prose: true,
    };
    let work = Work::new(CancelToken::new(), Duration::from_secs(5));
    for unfold in [Unfold::Nothing, Unfold::ByBudget] {
        let Ok(Some(outline)) = outline_with(text, language, rules, unfold, &work) else {
            continue;
        };
        partitions(&outline, text.len_lines());
        for row in &outline.rows {
            holds_for_row(text, row);
            assert!(row.fold.is_none() || row.span.count() >= 3);
        }
        holds_in_less_room(text, &outline);
    }
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn rows_name_every_line_once(
        pieces in prop::collection::vec((0..PIECES.len(), 0usize..3), 0..60),
        language in 0..languages().len(),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        final_newline: bool,
        min_body_lines in 0usize..6,
    ) {
        let lines: Vec<_> = pieces
            .into_iter()
            .map(|(piece, depth)| format!("{}{}", "  ".repeat(depth), PIECES[piece]))
            .collect();
        let mut source = lines.join(ending);
        if final_newline {
            source.push_str(ending);
        }
        holds(&Text::new(&source), &languages()[language], min_body_lines);
    }

    #[test]
    fn rows_name_every_line_of_a_damaged_sample_once(
        sample in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..3, 0usize..40), 1..8),
    ) {
        static SAMPLES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
            let read = |(language, path)| (language, std::fs::read_to_string(path).expect("a sample"));
            goldens::samples().into_iter().map(read).collect()
        });
        let (name, source) = sample.get(&SAMPLES);
        let mut lines: Vec<&str> = source.lines().collect();
        for (at, how, count) in damage {
            if lines.is_empty() {
                break;
            }
            let at = at.index(lines.len());
            let end = (at + count).min(lines.len());
            match how {
                0 => drop(lines.drain(at..end)),
                1 => lines.splice(at..at, lines[at..end].to_vec()).for_each(drop),
                _ => lines[at] = lines[at].get(..count).unwrap_or(""),
            }
        }
        let language = languages().iter().find(|language| language.name() == name);
        holds(&Text::new(&lines.join("\n")), language.expect("a language"), 4);
    }
}

/// Delimiters at the ends of a body that belong to two of its statements are none.
#[test]
fn a_fold_never_pretends_to_be_its_neighbour() {
    insta::assert_snapshot!(
        folded("a.py", "def f():\n    \"\"\"Doc.\"\"\"\n    a = 1\n    b = 2\n    return \"s\"\n\n\ndef g(x):\n    (a, b) = x\n    c = 1\n    d = 2\n    return (a, c)\n"),
        @r#"
    1:def f():
    2:    """Doc."""
    3-5:…
    6:
    7:
    8:def g(x):
    9-12:…
    "#
    );
    insta::assert_snapshot!(
        folded("a.rb", "def f\n  \"a\".b\n  c\n  d\n  puts \"e\"\nend\n"),
        @r"
    1:def f
    2-5:…
    6:end
    "
    );
    insta::assert_snapshot!(
        folded("a.ps1", "function f {\n  \"a\"\n  b\n  c\n  \"d\"\n}\n"),
        @r"
    1:function f {
    2-5:…
    6:}
    "
    );
    insta::assert_snapshot!(
        folded("a.scala", "def f(a: Int) =\n  (a, 1).swap\n  b\n  c\n  g(1)\n"),
        @r"
    1:def f(a: Int) =
    2-5:…
    "
    );
    // Delimiters of one thing are, whatever stands before them.
    insta::assert_snapshot!(
        folded("b.scala", "def f(a: Int) = g {\n  b\n  c\n  d\n}\n"),
        @"1-5:def f(a: Int) = g { … }"
    );
}
