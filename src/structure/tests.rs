//! Blocks of every language, by the numbers of the scenarios and by a law over all samples; never through a patch.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::blocks::Blocks;
use super::errors::syntax_errors;
use crate::hashline::{BlockAt, NoBlock, NoBlockReason};
use crate::protocol::read::LineSpan;
use crate::syntax::{self, Language, Parsed, Source, detect, languages, named};
use crate::task::{CancelToken, Work};
use crate::text::Text;

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

/// What `replace block` takes.
fn item(line: u64) -> BlockAt {
    let with_docs = false;
    BlockAt { line, with_docs }
}

fn parsed(text: &Text, language: &'static Language) -> Parsed {
    syntax::parse(Source::new(text), language, &work()).expect("time enough")
}

fn language(name: &str) -> &'static Language {
    named(name).expect("a language")
}

/// `2-5` for a block, else the reason and the block around.
fn written(found: &Result<LineSpan, NoBlock>) -> String {
    match found {
        Ok(span) => format!("{}-{}", span.start, span.end),
        Err(NoBlock { reason, enclosing }) => match enclosing {
            Some(span) => format!("{reason:?} in {}-{}", span.start, span.end),
            None => format!("{reason:?}"),
        },
    }
}

/// Each line of `input` is an expectation (or none), a bar, and a line of the text.
#[track_caller]
fn check(name: &str, input: &str) {
    let rows: Vec<(&str, &str)> = input
        .lines()
        .filter_map(|line| line.split_once('|'))
        .collect();
    let text: String = rows.iter().map(|(_, line)| format!("{line}\n")).collect();
    let text = Text::new(&text);
    let parsed_text = parsed(&text, language(name));
    let blocks = Blocks::new(&parsed_text, language(name));
    let (mut found, mut expect) = (String::new(), String::new());
    for (at, (wanted, line)) in rows.iter().enumerate() {
        let wanted = wanted.trim();
        let got = written(&blocks.at(item(at as u64 + 1)));
        // Most refusals are of one line, and say so in one word.
        let got = if wanted.is_empty() { "" } else { &got };
        let wanted = match wanted {
            "in" if got.starts_with("Inside") => got,
            "one" if got.starts_with("OneLine") => got,
            "end" if got.starts_with("Closing") => got,
            other => other,
        };
        let _ = writeln!(found, "{got:20}|{line}");
        let _ = writeln!(expect, "{wanted:20}|{line}");
    }
    assert!(
        found == expect,
        "{name}: found\n{found}\nexpected\n{expect}"
    );
}

#[test]
fn scenario_52_nested_blocks_and_refusals() {
    let text = "\
1-4                 |function x(){
2-3                 |  if (y) {
Closing in 2-3      |  }
Closing in 1-4      |}
Blank               |
OneLine             |f();";
    check("typescript", text);
    let text = Text::new("a {\n  b\n}\n");
    let parsed_text = parsed(&text, language("rust"));
    let rust = Blocks::new(&parsed_text, language("rust"));
    assert_eq!(written(&rust.at(item(99))), "Blank");
    assert_eq!(written(&rust.at(item(u64::MAX))), "Blank");
    let empty = Text::new("");
    let parsed_text = parsed(&empty, language("rust"));
    let empty = Blocks::new(&parsed_text, language("rust"));
    assert_eq!(written(&empty.at(item(1))), "Blank");
}

#[test]
fn scenario_53_python() {
    let text = "\
1-9                 |def f(items):
2-4                 |    for item in items:
OneLine in 2-4      |        a(item)
OneLine in 2-4      |        b(item)
5-8                 |    if a:
OneLine in 5-8      |        b()
7-8                 |    else:
OneLine in 7-8      |        c()
OneLine in 1-9      |    return 1
Blank               |
11-20               |@deco
11-20               |@deco2(
one                 |    1,
end                 |)
15-20               |class A(
OneLine in 15-20    |    B,
Inside in 15-20     |):
18-20               |    @property
19-20               |    def x(self):
OneLine in 19-20    |        return 1
OneLine             |a, b = 1, 2";
    check("python", text);
}

#[test]
fn scenario_54_comments_and_errors() {
    let text = "\
OneLine             |/// A struct.
2-6                 |#[derive(Debug)]
3-6                 |pub struct S {
OneLine in 3-6      |    /// Its field.
one                 |    a: u8,
end                 |}
Blank               |
Broken              |fn b() {
Broken              |    let = 1;
                    |}
Blank               |
12-14               |fn c() {
one                 |    1
end                 |}";
    check("rust", text);
}

#[test]
fn scenario_54_an_error_spoils_what_holds_it() {
    let text = "\
1-8                 |class A {
2-4                 |  a() {
one                 |    x();
end                 |  }
Blank in 1-8        |
6-7                 |  b() {
Closing in 6-7      |  }
end                 |}";
    check("javascript", text);
    // An error in one method spoils that, and what holds it.
    let text = "\
Broken              |class A:
2-4                 |    def a(self):
one                 |        x()
one                 |        y()
Blank               |
Broken              |    def b(self):
                    |        x = = 1
                    |        y()";
    check("python", text);
}

#[test]
fn scenario_54_swift() {
    let text = "\
1-10                |struct A: View {
OneLine in 1-10     |    let a: Int
Blank in 1-10       |
4-9                 |    var body: some View {
5-8                 |        VStack {
OneLine in 5-8      |            Text(a)
OneLine in 5-8      |            Text(b)
end                 |        }
end                 |    }
end                 |}
Blank               |
12-20               |@discardableResult
Inside in 12-20     |func f() -> Int {
14-17               |    if x {
one                 |        g()
Inside in 14-17     |    } else {
end                 |    }
one                 |    h()
one                 |    return 2
end                 |}";
    check("swift", text);
}

#[test]
fn scenario_55_markdown_sections() {
    let text = "\
OneLine             |one paragraph
Blank               |
3-4                 |another
Inside in 3-4       |paragraph
Blank               |
6-23                |# Title
7-15                |## A
Blank in 7-15       |
9-10                |- one
Inside in 9-10      |  more
OneLine in 7-15     |- two
12-15               |### B
13-15               |```
Inside in 13-15     |fn x() {
Closing in 13-15    |```
16-23               |## C
OneLine in 16-23    |text
18-21               |### D
Blank in 18-21      |
20-21               |> quote
Inside in 20-21     |> more
OneLine in 16-23    |### E
OneLine in 16-23    |### F
24-30               |Setext
one                 |======
26-28               |Lower
one                 |-----
Blank in 26-28      |
29-30               |## G
one                 |text";
    check("markdown", text);
}

#[test]
fn scenario_56_one_line_names_the_plain_form() {
    let text = Text::new("fn f() {\n    let x = 1;\n    g(x);\n}\n");
    let parsed_text = parsed(&text, language("rust"));
    let blocks = Blocks::new(&parsed_text, language("rust"));
    let refused = blocks.at(item(2)).expect_err("one line");
    insta::assert_snapshot!(refused, @"what begins there is one line. Use the plain form, with the line number alone. The block around it is 1..4.");
}

#[test]
fn scenario_57_58_closing_lines_are_those_where_the_block_ends() {
    let text = "\
1-18                |void f() {
2-6                 |    if (a) {
OneLine in 2-6      |        b();
Inside in 2-6       |    } else {
one                 |        c();
Closing in 2-6      |    }
7-9                 |    do {
one                 |        b();
Closing in 7-9      |    } while (x);
10-13               |    g(
one                 |        a,
one                 |        b
Closing in 10-13    |    );
14-16               |    switch (a) {
one                 |    case 1: b(); break;
end                 |    }
OneLine in 1-18     |    last();
Closing in 1-18     |}";
    check("c", text);
    check(
        "typescript",
        "1-3|useEffect(() => {\none|  a();\nend|}, [a]);\n4-6|x\nin|  .map(() => {\nend|  })\n7-10|x\nin|  .map(() => {\nin|  })\nin|  .y",
    );
}

#[test]
fn the_first_tier() {
    check(
        "rust",
        "1-9|impl A {\n2-8|    fn f() {\n3-7|        match x {\n4-6|            1 => {\none|                a();\nend|            }\nend|        }\nend|    }\nend|}",
    );
    check(
        "tsx",
        "1-8|const A = () => (\n2-7|  <div\none|    a=\"x\"\nin|  >\none|    <p>one</p>\none|    <p>two</p>\nend|  </div>\nend|);",
    );
    check(
        "javascript",
        "1-5|const o = {\n2-4|  a: [\none|    1,\nend|  ],\nend|};\n6-10|switch (x) {\n7-9|  case 1:\none|    a();\none|    break;\nend|}",
    );
    check(
        "go",
        "1-13|func f() error {\n2-5|\tif a {\none|\t\tb()\none|\t\tc()\nend|\t}\n6-12|\tswitch a {\n7-9|\tcase 1:\none|\t\tb()\none|\t\tc()\n10-11|\tdefault:\none|\t\td()\nend|\t}\nend|}",
    );
    check(
        "java",
        "1-9|class A {\n2-8|    @Override\nin|    public void f() {\n4-7|        for (int i : x) {\none|            a();\none|            b();\nend|        }\nend|    }\nend|}\n10-12|@A\nin|class B {\nend|}",
    );
    check(
        "cpp",
        "1-9|namespace a {\n2-8|template <typename T>\n3-8|class X {\none|public:\n5-7|  X() : a(1) {\none|    b();\nend|  }\nend|};\nend|}  // namespace a",
    );
    check(
        "c-sharp",
        "1-9|class A\n2-9|{\n3-8|    [HttpGet]\nin|    public int F()\n5-8|    {\none|        A();\none|        B();\nend|    }\nend|}",
    );
    check(
        "ruby",
        "1-14|class A\n2-13|  def f\n3-5|    if x\none|      a\nend|    end\n6-9|    items.each do |i|\none|      a i\none|      b i\nend|    end\none|    c\n11-12|  rescue B\none|    d\nend|  end\nend|end",
    );
    check(
        "php",
        "one|<?php\n2-10|class A {\n3-9|    function f() {\n4-8|        if ($x) {\none|            a();\nin|        } else {\none|            b();\nend|        }\nend|    }\nend|}",
    );
    check(
        "kotlin",
        "1-9|class A {\n2-8|    fun f() {\n3-7|        when (x) {\n4-6|            1 -> {\none|                a()\nend|            }\nend|        }\nend|    }\nend|}",
    );
    check(
        "sql",
        "1-4|CREATE TABLE a (\none|  id INT,\none|  name TEXT\nend|);\n|\n6-9|SELECT\none|  a,\none|  b\none|FROM t;",
    );
}

#[test]
fn more_languages() {
    check(
        "lua",
        "1-11|function f(x)\n2-7|  if x then\none|    a()\none|    b()\n5-6|  else\none|    c()\nend|  end\n8-10|  for i = 1, 2 do\none|    a(i)\nend|  end\nend|end",
    );
    check(
        "yaml",
        "1-6|on:\n2-5|  push:\n3-5|    branches:\none|      - a\none|      - b\none|  pull: {}\n7-12|jobs:\n8-10|  - uses: a\n9-10|    with:\none|      x: 1\n11-12|  - run: |\nin|      foo",
    );
    check(
        "bash",
        "1-14|f() {\n2-4|  if [ \"$x\" ]; then\none|    a\nend|  fi\n5-8|  for i in 1 2; do\none|    a\none|    b\nend|  done\n9-13|  case \"$1\" in\n10-12|    a)\none|      x\nin|      ;;\nend|  esac\nend|}",
    );
    check(
        "json",
        "1-9|{\n2-7|  \"a\": [\none|    1,\n4-6|    {\none|      \"x\": 1\nend|    }\nend|  ],\none|  \"b\": 2\nend|}",
    );
    check(
        "css",
        "1-3|.a {\none|  color: red;\nend|}\n4-9|@media (x: 1) {\n5-8|  .b,\nin|  .c {\none|    a: b;\nend|  }\nend|}",
    );
    check(
        "html",
        "1-12|<html>\n2-11|  <body\none|    class=\"a\"\nin|  >\none|    <p>one</p>\n6-8|    <p>\none|      two\nend|    </p>\none|    text\none|    <br>\nend|  </body>\nend|</html>",
    );
    check(
        "toml",
        "1-3|a = [\none|  1,\nend|]\n|\n5-8|[b]\none|x = 1\n7-8|y = [\nend|]\n9-10|[[c]]\none|z = 1",
    );
    check(
        "elixir",
        "1-15|defmodule A do\n2-4|  @doc \"\"\"\nin|  Foo.\nend|  \"\"\"\n5-14|  def f(x) do\n6-8|    if x do\none|      a()\nend|    end\n|\n10-13|    case x do\n11-12|      1 ->\none|        a()\nend|    end\nend|  end\nend|end",
    );
}

#[test]
fn a_comment_on_what_comes_next_is_no_part() {
    check(
        "yaml",
        "1-2|a:\none|  x: 1\n|\nOneLine|# on b\n5-6|b:\none|  y: 1",
    );
    check(
        "toml",
        "1-2|[a]\none|x = 1\n|\nOneLine|# on b\n5-7|[b]\none|y = 1\none|z = 1",
    );
}

/// What may stand at the column of a block and begin a block, and yet be part of the first.
fn goes_on(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "{", "[", "@", "|", "#", "<", "\"", "else", "elif", "elsif", "elseif", "except", "finally",
        "catch", "rescue", "ensure", "case", "when", "default", "where", "in", "let", "class",
        "struct", "def", "async", "public", "private", "FROM", "WHERE", "GROUP", "SELECT", "AS",
    ];
    WORDS.iter().any(|word| line.starts_with(word))
}

/// Where the members of a block stand at its own column.
fn is_flat(language: &str, first: &str) -> bool {
    match language {
        "cpp" => first.starts_with("namespace") || first.starts_with("template"),
        "julia" => first.starts_with("module"),
        "markdown" | "toml" | "vue" | "nix" | "ocaml" | "ocaml-interface" | "sql" | "c" => true,
        _ => false,
    }
}

fn samples() -> Vec<(String, &'static Language, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outline");
    let mut found = Vec::new();
    for language in languages() {
        for sample in std::fs::read_dir(folder.join(language.name())).expect("samples") {
            let path = sample.expect("a sample").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            let text = std::fs::read_to_string(&path).expect("a text");
            let of = detect(&name, &Text::new(&text)).map(Language::name);
            if of == Some(language.name()) {
                found.push((name.into_owned(), language, text));
            }
        }
    }
    found
}

fn all_blocks(language: &'static Language, text: &Text) -> Vec<Result<LineSpan, NoBlock>> {
    let parsed_text = parsed(text, language);
    let blocks = Blocks::new(&parsed_text, language);
    let lines = 1..=text.len_lines() as u64;
    lines.map(|line| blocks.at(item(line))).collect()
}

#[test]
fn the_laws_hold_for_every_line_of_every_sample() {
    let mut spans = 0;
    for (name, language, text) in samples() {
        let text = Text::new(&text);
        let found = all_blocks(language, &text);
        check_spans(&name, &text, &found);
        check_siblings(&name, language, &text, &found);
        spans += found.iter().flatten().count();
    }
    assert!(spans > 1000, "{spans}");
}

#[test]
fn the_laws_hold_for_damaged_samples() {
    for (name, language, text) in samples() {
        for left_out in [3, 11] {
            let kept = text.split_inclusive('\n').enumerate();
            let kept = kept.filter(|(at, _)| at % left_out != left_out - 1);
            let damaged: String = kept.map(|(_, line)| line).collect();
            let text = Text::new(&damaged);
            check_spans(&name, &text, &all_blocks(language, &text));
        }
    }
}

#[test]
fn line_ends_do_not_matter() {
    let mut differ = Vec::new();
    for (name, language, text) in samples() {
        let plain = all_blocks(language, &Text::new(&text));
        let other = all_blocks(language, &Text::new(&text.replace('\n', "\r\n")));
        for (line, (plain, other)) in (1..).zip(plain.iter().zip(&other)) {
            let (plain, other) = (written(plain), written(other));
            // With CRLF its grammar takes the lines of a comment one by one.
            let is_comment = language.name() == "haskell" && other.starts_with("OneLine");
            if plain != other && !is_comment {
                differ.push(format!("{name}:{line} {plain}, with CRLF {other}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Spans are of the text, nest, and the block named around a line is one that holds it.
fn check_spans(name: &str, text: &Text, found: &[Result<LineSpan, NoBlock>]) {
    let total = found.len() as u64;
    let mut open: Vec<LineSpan> = Vec::new();
    for (line, at) in (1..).zip(found) {
        let is_blank = text.line(line as usize - 1).trim().is_empty();
        match at {
            Ok(span) => {
                // At an attribute it is the block of the first one.
                let begins = found[span.start as usize - 1].as_ref() == Ok(span);
                let fits = span.start <= line && begins && span.end > line && span.end <= total;
                assert!(fits && !is_blank, "{name}:{line} {span:?}");
                open.retain(|outer| outer.end >= line);
                let nests = open.last().is_none_or(|outer| span.end <= outer.end);
                assert!(nests, "{name}:{line} {span:?} crosses {:?}", open.last());
                open.push(*span);
            }
            Err(none) => {
                assert_eq!(
                    none.reason == NoBlockReason::Blank,
                    is_blank,
                    "{name}:{line}"
                );
                if let Some(around) = none.enclosing {
                    let holds = around.start < line && line <= around.end;
                    assert!(holds, "{name}:{line} is not in {around:?}");
                    let own = &found[around.start as usize - 1];
                    assert_eq!(own.as_ref(), Ok(&around), "{name}:{line}");
                }
            }
        }
    }
}

/// No block takes in one that begins at its own column, unless that is how the language is written:
/// where it does, a kind of node that holds siblings is not listed as one.
fn check_siblings(
    name: &str,
    language: &Language,
    text: &Text,
    found: &[Result<LineSpan, NoBlock>],
) {
    let line_at = |line: u64| text.line(line as usize - 1).into_owned();
    let column = |line: u64| line_at(line).find(|c: char| !c.is_whitespace());
    for span in found.iter().flatten() {
        let first = line_at(span.start);
        let is_blank = !language.is_prose() && column(span.end).is_none();
        assert!(!is_blank, "{name}: the block of '{first}' ends blank");
        for inner in span.start + 1..=span.end {
            let begins = found[inner as usize - 1].is_ok() && column(inner) == column(span.start);
            let text = line_at(inner);
            let is_attribute = ["#[", "@", "["]
                .iter()
                .any(|mark| first.trim_start().starts_with(mark));
            let is_its_item = is_attribute
                && found[inner as usize - 1]
                    .as_ref()
                    .is_ok_and(|it| it.end == span.end);
            let may = goes_on(text.trim_start())
                || is_its_item
                || is_flat(language.name(), first.trim_start());
            assert!(
                !begins || may,
                "{name}: the block of '{first}' takes in '{text}'"
            );
        }
    }
}

#[test]
fn many_blocks_of_a_long_text_are_quick() {
    let body: String = (0..2000)
        .map(|n| format!("fn f{n}() {{\n    if a {{\n        b();\n    }}\n}}\n"))
        .collect();
    let text = Text::new(&body);
    let parsed_text = parsed(&text, language("rust"));
    let blocks = Blocks::new(&parsed_text, language("rust"));
    assert_eq!(written(&blocks.at(item(1))), "1-5");
    let begun = Instant::now();
    for line in (9_000..10_000).step_by(10) {
        assert!(blocks.at(item(line + 1)).is_ok() && blocks.at(item(line + 2)).is_ok());
        assert!(blocks.at(item(line + 4)).is_err());
    }
    let taken = begun.elapsed();
    // A guard against a walk over the whole tree for each, which takes longer by far.
    assert!(taken < Duration::from_secs(2), "{taken:?}");
}

#[test]
fn deep_texts_are_walked_without_a_stack() {
    let deep = 3_000;
    let text = format!("x = [\n{}{}]\n", "[\n".repeat(deep), "]\n".repeat(deep));
    let text = Text::new(&text);
    let parsed_text = parsed(&text, language("javascript"));
    let blocks = Blocks::new(&parsed_text, language("javascript"));
    for line in [1, 2, deep as u64, deep as u64 + 1, deep as u64 + 2] {
        let _ = blocks.at(item(line));
    }
    let parsed = parsed(&text, language("javascript"));
    let _ = syntax_errors(&parsed);
}

#[track_caller]
fn check_error(name: &str, text: &str, expect: Option<u64>) {
    let parsed = self::parsed(&Text::new(text), language(name));
    let errors = syntax_errors(&parsed);
    assert_eq!(errors.lines.first().copied(), expect, "{text}");
}

#[test]
fn scenario_46_51_the_first_error() {
    check_error("rust", "fn a() {\n    1\n}\n", None);
    check_error("rust", "", None);
    check_error(
        "rust",
        "fn a() {\n    1\n}\n\nfn b() {\n    let = 1;\n}\n",
        Some(6),
    );
    check_error("typescript", "f(() => {\n  a();\n\ng();\n", Some(1));
    check_error("javascript", "a();\nb();\n});\nc();\n", Some(3));
    check_error("python", "a()\nif x\n    b()\n", Some(2));
    check_error("json", "{\n  \"a\": 1,\n  \"b\": }\n", Some(3));
    check_error("markdown", "# A\n\n``` {\n", None);
}
