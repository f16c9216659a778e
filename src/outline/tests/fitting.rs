//! Outlines that fold further, bodies that are opened, heads of files: what a row may stand for, whatever the room.

use crate::outline::{Outline, OutlineRow};
use crate::syntax::{detect, languages};
use crate::text::Text;

use super::{RULES, Unfold, folded, outline_with, rendered, work};

pub(super) fn holds_for_row(text: &Text, row: &OutlineRow) {
    let Some(fold) = &row.fold else { return };
    let (first, last) = (row.span.start as usize - 1, row.span.end as usize - 1);
    assert!(!fold.shows_first || fold.head == text.line(first).trim_end());
    assert!(!fold.shows_last || fold.tail == text.line(last).trim());
}

/// However few rows there is room for, they name every line once, and they are as many at most.
pub(super) fn holds_in_less_room(text: &Text, outline: &Outline) {
    let all = outline.rows.len();
    let mut before = usize::MAX;
    let mut rooms = [all, all - 1, all * 3 / 4, all / 2, all / 5, 3, 2, 1, 0];
    rooms.sort_unstable_by_key(|room| usize::MAX - room);
    for room in rooms {
        let (rows, is_further) = outline.fitted(text, |rows| rows.len() <= room);
        assert!(rows.len() <= room.max(1));
        assert_eq!(is_further, all > room);
        assert!(rows.len() <= before);
        before = rows.len();
        let mut next = 1;
        for shown in &rows {
            assert_eq!(shown.row.span.start, next);
            next = shown.row.span.end + 1;
            holds_for_row(text, &shown.row);
            let written = shown.row.fold.as_ref().map(|fold| {
                let mut written = String::new();
                fold.write_between(&fold.head, &fold.tail, &mut written);
                written
            });
            let line = text.line(shown.row.span.start as usize - 1);
            assert_eq!(shown.bytes, written.map_or(line.len(), |it| it.len()));
        }
        assert_eq!(next, text.len_lines() as u64 + 1);
    }
}

/// The rows that fit into so many, as they are written.
fn in_rows(name: &str, source: &str, room: usize) -> String {
    let text = Text::new(source);
    let language = detect(name, &text).expect("a language");
    let outline = outline_with(&text, language, RULES, Unfold::Nothing, &work());
    let outline = outline.expect("time enough").expect("an outline");
    let (rows, _) = outline.fitted(&text, |rows| rows.len() <= room);
    let mut written = String::new();
    for shown in rows {
        let (start, end) = (shown.row.span.start, shown.row.span.end);
        match &shown.row.fold {
            None => written.push_str(&format!("{start}:{}", text.line(start as usize - 1))),
            Some(fold) => {
                written.push_str(&format!("{start}-{end}:"));
                fold.write_between(&fold.head, &fold.tail, &mut written);
            }
        }
        written.push('\n');
    }
    written
}

#[test]
fn neighbours_of_one_kind_are_the_first_and_their_number() {
    let mut source = String::from("#ifndef A_H\n#define A_H\n\n");
    (0..9).for_each(|number| source.push_str(&format!("#define A_{number} {number}\n")));
    source.push_str("\nstruct a {\n  int x;\n  int y;\n  int z;\n};\n\nint f(void);\nint g(void);\nint h(void);\n\n#endif\n");
    insta::assert_snapshot!(in_rows("a.h", &source, 18), @r"
    1:#ifndef A_H
    2-12:#define A_H … (10 macros)
    13:
    14:struct a {
    15:  int x;
    16:  int y;
    17:  int z;
    18:};
    19:
    20:int f(void);
    21:int g(void);
    22:int h(void);
    23:
    24:#endif
    ");
    insta::assert_snapshot!(in_rows("a.h", &source, 9), @r"
    1:#ifndef A_H
    2-12:#define A_H … (10 macros)
    13:
    14-18:struct a { … (3 fields)
    19:
    20-22:int f(void); … (3 functions)
    23:
    24:#endif
    ");
    insta::assert_snapshot!(in_rows("a.h", &source, 1), @"1-24:#ifndef A_H … (14 declarations)");
}

#[test]
fn members_of_a_type_are_its_own() {
    let mut source = String::from("class A {\n");
    (0..8).for_each(|number| source.push_str(&format!("  private int x{number};\n")));
    (0..8).for_each(|number| {
        source.push_str(&format!("  int f{number}() {{\n    a();\n    b();\n  }}\n"))
    });
    source.push_str("}\n");
    insta::assert_snapshot!(in_rows("A.java", &source, 11), @r"
    1:class A {
    2-9:  private int x0; … (8 fields)
    10-13:  int f0() { … }
    14-17:  int f1() { … }
    18-21:  int f2() { … }
    22-25:  int f3() { … }
    26-29:  int f4() { … }
    30-33:  int f5() { … }
    34-37:  int f6() { … }
    38-41:  int f7() { … }
    42:}
    ");
    insta::assert_snapshot!(in_rows("A.java", &source, 10), @"1-42:class A { … (16 members)");
}

#[test]
fn a_body_of_many_lines_shows_its_functions_and_sections() {
    let mut source =
        String::from("def outer(a):\n    \"\"\"Does it.\"\"\"\n    b = a\n    c = b\n    d = c\n");
    source.push_str("    def inner():\n        x()\n        y()\n        z()\n        return 1\n");
    source.push_str("    for e in a:\n");
    source.push_str(&"        f(e)\n".repeat(140));
    source.push_str("    # ---- the end ----\n    g()\n    class Late:\n        def h(self):\n            pass\n    return d\n");
    insta::assert_snapshot!(folded("a.py", &source), @r#"
    1:def outer(a):
    2:    """Does it."""
    3-5:…
    6:    def inner():
    7-10:…
    11:    for e in a:
    12-151:…
    152:    # ---- the end ----
    153:    g()
    154:    class Late:
    155:        def h(self):
    156:            pass
    157:    return d
    "#);
    // Without any of these it is one row, however long.
    let plain = format!("fn f() {{\n{}}}\n", "    a();\n".repeat(200));
    assert_eq!(folded("a.rs", &plain), "1-202:fn f() { … }\n");
}

#[test]
fn lists_of_attributes_fold() {
    insta::assert_snapshot!(
        folded("a.ts", "@Component({\n  selector: 'a',\n  template: '',\n  styles: [],\n})\nclass A {\n  a = 1;\n}\n"),
        @r"
    1-5:@Component({ … })
    6:class A {
    7:  a = 1;
    8:}
    "
    );
    insta::assert_snapshot!(
        folded("a.rs", "#[a]\n#[b]\n#[c(\n    d\n)]\nfn f() {}\n\n#[a]\n#[b]\n#[c]\nfn g() {}\n"),
        @r"
    1-5:#[a] …
    6:fn f() {}
    7:
    8:#[a]
    9:#[b]
    10:#[c]
    11:fn g() {}
    "
    );
    insta::assert_snapshot!(
        folded("A.java", "@A\n@B(\n  c = 1,\n  d = 2\n)\nclass A {\n}\n"),
        @r"
    1-5:@A …
    6:class A {
    7:}
    "
    );
}

/// How comments are written, by language.
fn licence(language: &str) -> Option<String> {
    let lines = |before: &str| {
        let line = |number: usize| format!("{before}Line {number} of the licence.\n");
        (1..=12).map(line).collect::<String>()
    };
    Some(match language {
        "json" => return None,
        "python" | "ruby" | "bash" | "yaml" | "toml" | "make" | "dockerfile" | "r" | "julia"
        | "elixir" | "hcl" | "nix" | "cmake" | "powershell" => lines("# "),
        "graphql" => lines("# ") + "type A {\n  a: Int\n}\n",
        "zig" => lines("// "),
        "erlang" => lines("% "),
        "haskell" | "lua" | "sql" => lines("-- "),
        "ocaml" | "ocaml-interface" => format!("(* {} *)\n", lines("   ").trim()),
        "html" | "xml" | "vue" | "svelte" | "markdown" => format!("<!--\n{}-->\n", lines("  ")),
        "css" => format!("/*\n{} */\n", lines(" * ")),
        "php" => format!("<?php\n/*\n{} */\n", lines(" * ")),
        _ => format!("{}\n/*\n{} */\n", lines("// "), lines(" * ")),
    })
}

#[test]
fn comments_at_the_head_fold_in_every_language() {
    let mut wrong = Vec::new();
    for language in languages() {
        let Some(head) = licence(language.name()) else {
            continue;
        };
        let text = Text::new(&head);
        let outline = outline_with(&text, language, RULES, Unfold::Nothing, &work());
        let outline = outline.expect("time enough");
        let rows = outline.map_or(String::new(), |outline| rendered(&text, &outline));
        let folds = rows.lines().filter(|row| row.contains('…')).count();
        let wanted = head.matches("Line 1 of").count();
        if folds != wanted {
            wrong.push(format!("{}:\n{rows}", language.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
