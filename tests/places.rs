//! Places as other tools print them: `x.rs:62:13`, and what stands behind a `#`: names, lines, a tag that was copied with its path.

use serde_json::{Value, json};

use crate::client::{Daemon, before_footer};
use crate::tree::{Tree, numbered_lines};

const SHAPES: &str = "use std::fmt;

/// A shape that is round.
///
/// And flat.
#[derive(Debug)]
pub struct Circle {
    r: f64,
}

impl Circle {
    /// Makes one.
    pub fn new(r: f64) -> Circle {
        Circle { r }
    }

    pub fn area(&self) -> f64 {
        3.0 * self.r * self.r
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, \"o\")
    }
}

pub struct Square(f64);

impl Square {
    pub fn new(side: f64) -> Square {
        Square(side)
    }
}

const FACE: f64 = 1.0;
";

fn daemon(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

fn shapes() -> Tree {
    Tree::new().file("src/shapes.rs", SHAPES)
}

fn tag(daemon: &Daemon, path: &str) -> String {
    let read = daemon.read(path).expect("a read");
    let tag = read["details"]["hashline"]["tag"].as_str();
    tag.expect("a tag").to_owned()
}

/// Without the tag of its header.
fn shown(daemon: &Daemon, path: &str) -> String {
    let text = daemon.read_text(path);
    let (header, rows) = text.split_once('\n').expect("rows");
    let (name, _) = header.rsplit_once('#').expect("a tag");
    format!("{name}\n{rows}")
}

fn refused(daemon: &Daemon, path: &str) -> (String, String) {
    let error = daemon.read(path).expect_err(path);
    (error.kind().to_owned(), error.message)
}

#[test]
fn a_line_with_a_column_is_that_line() {
    let tree = Tree::new()
        .file("n.txt", numbered_lines(1, 80))
        .file("n.txt:7", "by name\n");
    let daemon = daemon(&tree);
    let plain = daemon.read_text("n.txt:62-62");
    assert!(plain.ends_with("\n65:line 65\n\n[61-65 of 80]"), "{plain}");
    assert_eq!(daemon.read_text("n.txt:62:13"), plain);
    assert_eq!(daemon.read_text("n.txt:62:0"), plain);
    assert_eq!(daemon.read_text("n.txt:62:13:raw"), "line 62\n");
    // From there on, as ever.
    assert!(daemon.read_text("n.txt:62").ends_with("\n80:line 80"));
    // A literal name wins: `n.txt:7` has a single line.
    assert!(daemon.read_text("n.txt:7:1").ends_with("\n1:by name"));
    let apart = daemon.read_with(json!({ "path": "n.txt", "selector": "62:13" }));
    assert_eq!(apart.expect("a read")["content"][0]["text"], plain);
    for path in ["n.txt:62:13:4", "n.txt:62-:4", "n.txt:1-2:4", "n.txt:0:4"] {
        assert_eq!(refused(&daemon, path).0, "badSelector", "{path}");
    }
    let absolute = format!("{}:62:13", tree.spelled("n.txt"));
    let numbered = |dialect: &str, parameter: &str| {
        let params = json!({ parameter: absolute, "dialect": dialect });
        let read = daemon.read_with(params).expect(dialect);
        let text = read["content"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    };
    assert!(numbered("numbered", "path").starts_with("61:line 61\n62:line 62\n"));
    for (dialect, parameter) in [
        ("opencode", "filePath"),
        ("pikuri", "path"),
        ("llm-gateway", "filePath"),
        ("roo", "path"),
    ] {
        let text = numbered(dialect, parameter);
        assert!(
            text.contains("line 62") && !text.contains("line 63"),
            "{text}"
        );
    }
}

#[test]
fn a_declaration_is_found_by_its_name() {
    let tree = shapes();
    let daemon = daemon(&tree);
    insta::assert_snapshot!(shown(&daemon, "src/shapes.rs#Circle"), @r"
    ¶src/shapes.rs
    3:/// A shape that is round.
    4:///
    5:/// And flat.
    6:#[derive(Debug)]
    7:pub struct Circle {
    8:    r: f64,
    9:}

    [3-9 of 36]
    ");
    let new = "¶src/shapes.rs\n12:    /// Makes one.\n13:    pub fn new(r: f64) -> Circle {\n14:        Circle { r }\n15:    }\n\n[12-15 of 36]";
    for name in [
        "Circle::new",
        "Circle.new",
        "Circle#new",
        "Circle::new()",
        "\"Circle::new\"",
    ] {
        assert_eq!(
            shown(&daemon, &format!("src/shapes.rs#{name}")),
            new,
            "{name}"
        );
    }
    let read = daemon.read("src/shapes.rs#area").expect("a read");
    assert_eq!(
        read["details"]["shown"],
        json!([{ "start": 17, "end": 19 }])
    );
    assert_eq!(
        daemon.read_text("src/shapes.rs#Circle::area:raw"),
        "    pub fn area(&self) -> f64 {\n        3.0 * self.r * self.r\n    }\n"
    );
    // The unique end of a path is found with it.
    let found = daemon.read_text("shapes.rs#area");
    assert!(found.contains("resolved to 'src/shapes.rs'"), "{found}");
    assert!(found.contains("\n17:    pub fn area"), "{found}");
    // What was shown can be edited.
    let tag = read["details"]["hashline"]["tag"].as_str().expect("a tag");
    let patch = format!("¶src/shapes.rs#{tag}\nreplace 18:\n+        3.1 * self.r\n");
    daemon
        .call("agent/edit", json!({ "patch": patch }))
        .expect("an edit");
}

#[test]
fn several_are_listed_and_none_is_answered_with_near_names() {
    let tree = shapes();
    let daemon = daemon(&tree);
    insta::assert_snapshot!(daemon.read_text("src/shapes.rs#new"), @r"
    :12-15  Circle::new  pub fn new(r: f64) -> Circle in impl Circle
    :31-33  Square::new  pub fn new(side: f64) -> Square in impl Square

    [2 declarations are called 'new'. Read one by its lines, or by a longer name]
    ");
    let (kind, message) = refused(&daemon, "src/shapes.rs#Circle::are");
    assert_eq!(kind, "notFound");
    assert_eq!(
        message,
        "There is no declaration 'Circle::are' in src/shapes.rs. Did you mean src/shapes.rs#Circle::area?"
    );
    let error = daemon.read("src/shapes.rs#zzzzzz").expect_err("none");
    assert_eq!(error.data["suggestions"], json!([]));
    // What its suggestion says is read.
    let error = daemon.read("src/shapes.rs#Square::area").expect_err("none");
    let near = error.data["suggestions"][0].as_str().expect("a name");
    assert!(daemon.read_text(near).contains("17:    pub fn area"));
}

#[test]
fn a_tag_lines_and_selectors_behind_the_mark() {
    let tree = shapes()
        .file("src/shapes.rs#odd", "by name\n")
        .file("n.txt", "one\ntwo\n");
    let daemon = daemon(&tree);
    let tag = tag(&daemon, "src/shapes.rs");
    let whole = daemon.read_text("src/shapes.rs");
    assert_eq!(daemon.read_text(format!("src/shapes.rs#{tag}")), whole);
    assert_eq!(daemon.read_text(format!("¶src/shapes.rs#{tag}")), whole);
    assert_eq!(
        daemon.read_text(format!("¶src/shapes.rs#{tag}:36-")),
        daemon.read_text("src/shapes.rs:36-")
    );
    // A header of another process names the same file.
    assert_eq!(daemon.read_text("¶src/shapes.rs#0000"), whole);
    assert_eq!(refused(&daemon, "src/shapes.rs#0000").0, "badSelector");
    // Four hex digits that are no tag of it may be a name.
    assert!(
        daemon
            .read_text("src/shapes.rs#FACE")
            .contains("36:const FACE")
    );
    assert_eq!(
        daemon.read_text("src/shapes.rs#L10-L12"),
        daemon.read_text("src/shapes.rs:10-12")
    );
    assert_eq!(
        daemon.read_text("src/shapes.rs#L10"),
        daemon.read_text("src/shapes.rs:10-10")
    );
    assert!(daemon.read_text("src/shapes.rs#odd").contains("1:by name"));
    for path in [
        "src/shapes.rs#raw",
        "src/shapes.rs#10-20",
        "src/shapes.rs#a b",
        "src/shapes.rs#",
        "src/shapes.rs#Circle:5-9",
        "src#Circle",
        "n.txt#one",
        "¶src/shapes.rs#Circle",
    ] {
        assert_eq!(refused(&daemon, path).0, "badSelector", "{path}");
    }
    assert_eq!(refused(&daemon, "src/nothing.rs#Circle").0, "notFound");
}

#[test]
fn open_documents_have_names_too() {
    let tree = Tree::new().file("a.py", "def old():\n    pass\n");
    let daemon = daemon(&tree);
    let open = |uri: &str, text: &str| {
        let document = json!({ "uri": uri, "languageId": "python", "version": 1, "text": text });
        daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    };
    open(
        "untitled:Untitled-1",
        "import os\n\n@dec\ndef made():\n    pass\n",
    );
    let text = daemon.read_text("untitled:Untitled-1#made");
    assert!(
        text.contains("\n3:@dec\n4:def made():\n5:    pass"),
        "{text}"
    );
    let uri = crate::client::file_uri(&tree.join("a.py"));
    open(&uri, "def old():\n    pass\n\ndef new():\n    pass\n");
    let params = json!({ "uri": uri, "version": 1, "dirty": true });
    daemon.notify("agent/documentState", params);
    let text = daemon.read_text("a.py#new");
    assert!(text.contains("\n4:def new():\n5:    pass"), "{text}");
    assert_eq!(daemon.read_text(format!("{uri}#new")), text);
}

#[test]
fn parameters_page_within_a_name() {
    let body: String = (1..=40).map(|n| format!("    x{n} = {n}\n")).collect();
    let tree = Tree::new().file("a.py", format!("def f():\n{body}\ny = 1\n"));
    let daemon = daemon(&tree);
    let params = json!({ "filePath": "a.py#f", "dialect": "opencode", "offset": 39 });
    let read = daemon.read_with(params).expect("a read");
    let text = read["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("39: ") && text.contains("x40 = 40"), "{text}");
    assert!(!text.contains("y = 1"), "{text}");
    let params = json!({ "path": "a.py#f", "budget": { "lines": 10 } });
    let read: Value = daemon.read_with(params).expect("a read");
    let next = &read["details"]["truncation"]["nextSelector"];
    assert_eq!(next, "11-40,41");
}

#[test]
fn scratch_files_have_names_too() {
    let tree = Tree::new();
    let daemon = daemon(&tree);
    let write = json!({ "path": "local://a.py", "text": "x = 1\n\ndef f():\n    pass\n" });
    daemon.call("agent/write", write).expect("a write");
    let text = daemon.read_text("local://a.py#f");
    assert!(text.contains("\n3:def f():\n4:    pass"), "{text}");
    assert_eq!(refused(&daemon, "local://a.py#g").0, "notFound");
    assert_eq!(refused(&daemon, "local://a.py#raw").0, "badSelector");
}

#[test]
fn names_are_for_reading() {
    let tree = shapes();
    let daemon = daemon(&tree);
    let uri = crate::client::file_uri(&tree.join("src/shapes.rs"));
    for path in ["src/shapes.rs#Circle", &format!("{uri}#Circle")] {
        let edit = json!({ "op": "replace_text", "old": "r: f64,", "new": "r: f32," });
        let edit = json!({ "files": [{ "path": path, "edits": [edit] }] });
        let error = daemon.call("agent/edit", edit).expect_err(path);
        assert_eq!(error.kind(), "notFound", "{}", error.message);
    }
}

#[test]
fn an_edit_made_before_is_seen_by_its_names() {
    let tree = shapes();
    let daemon = daemon(&tree);
    let write = daemon.request(
        "agent/write",
        json!({ "path": "made.rs", "text": "/// New.\npub fn made() {}\n" }),
    );
    let read = daemon.request("agent/read", json!({ "path": "made.rs#made" }));
    daemon.wait(&write).expect("a write");
    let read = daemon.wait(&read).expect("a read");
    let text = read["content"][0]["text"].as_str().expect("a text");
    assert!(
        before_footer(text).ends_with("\n1:/// New.\n2:pub fn made() {}"),
        "{text}"
    );
}
