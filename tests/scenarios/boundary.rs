//! Scenarios 42 to 51: payloads that repeat or leave out what is around them; rows go in literally, and a warning tells.

use super::Desk;

#[test]
fn s42_a_closing_line_that_survives_below() {
    let text = "it(\"x\", () => {\n  old();\n});\n";
    let ops = "replace 2:\n+  new();\n+});";
    let (after, reply) = Desk::new().made_of("f.test.js", text, ops);
    assert_eq!(after, "it(\"x\", () => {\n  new();\n});\n});\n");
    let echo = reply.codes().iter().position(|code| *code == "echo");
    let message = reply.messages()[echo.expect("an echo warning")];
    for word in ["atch line 2", "'});'", "line 3", "stays", "Both"] {
        assert!(message.contains(word), "no '{word}' in: {message}");
    }
}

#[test]
fn s43_an_echo_on_both_sides() {
    let (text, reply) = Desk::new().made("a\nold\nc\n", "replace 2:\n+a\n+new\n+c");
    assert_eq!(text, "a\na\nnew\nc\nc\n");
    assert_eq!(reply.codes(), ["echo", "echo"]);
    let messages = reply.messages();
    assert!(
        messages[0].contains("first row 'a' repeats line 1"),
        "{messages:?}"
    );
    assert!(
        messages[1].contains("last row 'c' repeats line 3"),
        "{messages:?}"
    );
}

#[test]
fn s44_repetition_that_may_be_meant() {
    let desk = Desk::new();
    let (text, reply) = desk.made("a\nold\nc\n", "replace 2:\n+a\n+c");
    assert_eq!(text, "a\na\nc\nc\n");
    assert_eq!(reply.codes(), ["echo", "echo"]);
    let (text, reply) = desk.made("push(1);\nold();\npush(2);\n", "replace 2:\n+push(2);");
    assert_eq!(text, "push(1);\npush(2);\npush(2);\n");
    reply.warns("echo", &["'push(2);'", "line 3"]);
}

#[test]
fn s45_an_echo_on_one_side() {
    let desk = Desk::new();
    let (text, reply) = desk.made("a\nold\nc\n", "replace 2:\n+a\n+new");
    assert_eq!(text, "a\na\nnew\nc\n");
    reply.warns("echo", &["first row 'a'", "line 1", "probably"]);
    let (text, reply) = desk.made("a\nold\nc\n", "replace 2:\n+new\n+c");
    assert_eq!(text, "a\nnew\nc\nc\n");
    reply.warns("echo", &["last row 'c'", "line 3", "probably"]);
    // A line that goes by another op is no echo.
    let (text, reply) = desk.made("a\nold\nc\n", "replace 2:\n+new\n+c\ndelete 3");
    assert_eq!(text, "a\nnew\nc\n");
    assert_eq!(reply.codes(), [""; 0]);
}

#[test]
fn s46_a_closing_line_that_the_body_leaves_out() {
    let text = "const f = () => {\n  old();\n};\nf();\n";
    let ops = "replace 2..3:\n+  changed();";
    let (after, reply) = Desk::new().made_of("f.js", text, ops);
    assert_eq!(after, "const f = () => {\n  changed();\nf();\n");
    assert_eq!(reply.codes(), ["noLongerParses"], "{}", reply.text);
    let message = reply.messages()[0];
    assert!(message.contains("line 3"), "{message}");
}

#[test]
fn s47_a_wrapper_is_taken_off() {
    let text = "before();\nif (x) {\n  one();\n  two();\n}\nafter();\n";
    let (after, reply) = Desk::new().made_of("f.js", text, "delete 2\ndelete 5");
    assert_eq!(after, "before();\n  one();\n  two();\nafter();\n");
    assert_eq!(reply.codes(), [""; 0]);
}

#[test]
fn s48_brackets_that_are_no_brackets() {
    let desk = Desk::new();
    for (name, before, row) in [
        (
            "f.js",
            "let a = 1;\nlet b = 2;\nlet c = 3;\n",
            "let b = \"}}}\" + /[)]}/.source + `${\"{\"} )`;",
        ),
        (
            "f.rs",
            "fn a() {}\nfn b() {}\nfn c() {}\n",
            "fn b<'a>(x: &'a str) -> char { '{' }",
        ),
        (
            "f.md",
            "one\ntwo\nthree\n",
            "a smile :) and a lone { in prose",
        ),
        ("f.py", "a = 1\nb = 2\nc = 3\n", "b = '((('  # }"),
    ] {
        let lines: Vec<&str> = before.lines().collect();
        let (after, reply) = desk.made_of(name, before, &format!("replace 2:\n+{row}"));
        assert_eq!(
            after,
            format!("{}\n{row}\n{}\n", lines[0], lines[2]),
            "{name}"
        );
        assert_eq!(reply.codes(), [""; 0], "{name}");
    }
}

#[test]
fn s49_a_closing_tag_of_the_parent() {
    let text = "const a = (\n  <section>\n    <p>old</p>\n  </section>\n);\n";
    let ops = "replace 3:\n+    <p>new</p>\n+  </section>";
    let (after, reply) = Desk::new().made_of("f.jsx", text, ops);
    let expected = "const a = (\n  <section>\n    <p>new</p>\n  </section>\n  </section>\n);\n";
    assert_eq!(after, expected);
    assert!(reply.codes().contains(&"echo"), "{}", reply.text);
    assert!(
        reply.text.contains("</section>' repeats line 4"),
        "{}",
        reply.text
    );
}

#[test]
fn s50_an_attribute_that_survives_above() {
    let text = "#[napi]\npub fn old() {}\n";
    let ops = "replace 2:\n+#[napi]\n+pub fn new() {}";
    let (after, reply) = Desk::new().made_of("f.rs", text, ops);
    assert_eq!(after, "#[napi]\n#[napi]\npub fn new() {}\n");
    reply.warns("echo", &["'#[napi]'", "line 1"]);
}

#[test]
fn s51_what_parsed_and_does_not_now() {
    let desk = Desk::new();
    let (after, reply) = desk.made_of("f.rs", "fn a() {\n    b();\n}\n", "delete 3");
    assert_eq!(after, "fn a() {\n    b();\n");
    reply.warns("noLongerParses", &["rust", "before this edit", "line 1"]);
    // What did not parse before may have one more error now.
    let broken = "fn a( {}\nfn b() {\n    b();\n}\n";
    let (_, reply) = desk.made_of("f.rs", broken, "replace 3:\n+    c(;");
    reply.warns("syntaxError", &["rust", "further", "line 3"]);
    let (_, reply) = desk.made_of("f.rs", "fn a() {\n    b();\n", "replace 2:\n+    c();");
    assert_eq!(reply.codes(), [""; 0]);
    // What has no grammar is not talked about.
    let (after, reply) = desk.made_of("f.unknown", "fn a() {\n    b();\n}\n", "delete 3");
    assert_eq!(after, "fn a() {\n    b();\n");
    assert_eq!(reply.codes(), [""; 0]);
}
