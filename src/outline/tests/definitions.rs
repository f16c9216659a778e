//! What the samples of `fixtures/outline` define and declare, compared with two golden files; and what is no definition.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::syntax;
use crate::task::{CancelToken, Work};
use crate::text::Text;

use super::goldens::samples;
use crate::outline::{Definition, Rank, definitions};

fn found(name: &str, text: &str) -> Vec<Definition> {
    let work = Work::new(CancelToken::new(), Duration::from_secs(60));
    let text = Text::new(text);
    let language = syntax::detect(name, &text).expect("a language");
    let parsed = syntax::parse(syntax::Source::new(&text), language, &work).expect("time enough");
    definitions(&parsed, &work).expect("time enough")
}

/// As lists of definitions have it.
fn listed(name: &str, text: &str) -> String {
    let mut listed = String::new();
    for definition in found(name, text) {
        if definition.rank.is_listed() {
            let (span, signature) = (definition.span, definition.signature);
            let _ = writeln!(listed, "{}-{} | {signature}", span.start, span.end);
        }
    }
    listed
}

/// By its names, with all lines that belong to it.
fn named(name: &str, text: &str) -> String {
    let mut named = String::new();
    for definition in found(name, text) {
        let names: Vec<String> = definition.names.iter().map(ToString::to_string).collect();
        let mark = match definition.rank {
            Rank::Definition => "",
            Rank::Declaration => "~",
            Rank::Extension => "+",
        };
        let (lines, names) = (definition.whole, names.join(" | "));
        let _ = writeln!(named, "{}-{} {mark}{names}", lines.start, lines.end);
    }
    named
}

#[test]
fn samples_define_what_the_golden_says() {
    compare("definitions.golden", &listed);
}

#[test]
fn samples_have_the_names_that_the_golden_says() {
    compare("names.golden", &named);
}

fn compare(golden: &str, written: &dyn Fn(&str, &str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outline");
    let mut all = String::new();
    for (_, path) in samples() {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a sample");
        let shown = path.strip_prefix(&folder).expect("below the folder");
        let _ = writeln!(all, "== {}\n{}", shown.display(), written(&name, &text));
    }
    let golden = folder.join(golden);
    if std::env::var_os("PILCROW_BLESS").is_some() {
        std::fs::write(&golden, all).expect("a golden written");
        return;
    }
    let wanted = std::fs::read_to_string(&golden).unwrap_or_default();
    let differs = all
        .lines()
        .zip(wanted.lines())
        .find(|(now, then)| now != then);
    assert!(
        all == wanted,
        "PILCROW_BLESS=1 writes it, then read it: {differs:?}"
    );
}

#[test]
fn a_signature_is_without_notes_and_body() {
    let cases = [
        (
            "a.java",
            "class A {\n  @Override\n  @Named(\n    \"x\")\n  public int f(int a,\n      int b) { return a; }\n}\n",
            "1-7 | class A\n5-6 | public int f(int a, int b)\n",
        ),
        (
            "a.ts",
            "export default class A<T> extends B {\n  @memo() f(): T { return 1 }\n}\nexport const g = async (a: number) => {\n  a;\n};\ninterface I { f(): void }\n",
            "1-3 | export default class A<T> extends B\n2-2 | f(): T\n4-6 | export const g = async (a: number) =>\n7-7 | interface I\n",
        ),
        (
            "a.c",
            "typedef struct {\n  int a;\n} Pair;\nstruct s { int b; };\nstatic int f(struct s *a)\n{\n  return 1;\n}\n",
            "1-3 | typedef struct Pair\n4-4 | struct s\n5-8 | static int f(struct s *a)\n",
        ),
        (
            "a.py",
            "@dec\nclass A(B): pass\n\nasync def f(a,\n            b): return lambda: 1\n",
            "2-2 | class A(B):\n4-5 | async def f(a, b):\n",
        ),
        (
            "a.rs",
            "#[derive(Debug)]\npub struct A;\nimpl<T> X for A where T: Y {\n    /// Doc.\n    fn f(&self) -> T { g(|| 1) }\n}\ntrait T { fn g(); }\nmacro_rules! m { () => {} }\n",
            "2-2 | pub struct A;\n3-6 | impl<T> X for A where T: Y\n5-5 | fn f(&self) -> T\n7-7 | trait T\n7-7 | fn g();\n8-8 | macro_rules! m\n",
        ),
        (
            "a.go",
            "package p\n\ntype A struct {\n\tx int\n}\n\ntype (\n\tB interface{ F() }\n)\n\nfunc (a *A) F() {}\n",
            "3-5 | type A struct\n8-8 | B interface\n11-11 | func (a *A) F()\n",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(listed(name, text), expected, "{name}");
    }
}

#[test]
fn there_are_so_many_at_most() {
    let many = "def f(): pass\n".repeat(21_000);
    assert_eq!(listed("a.py", &many).lines().count(), 20_000);
}
