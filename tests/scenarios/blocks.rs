//! Scenarios 30, 52 to 58 and 65: blocks by the grammar of a file; a block is never guessed where the grammar has none.

use serde_json::json;

use super::Desk;

const NESTED: &str = "function x(){\n  if (y) {\n  }\n}\n\nf();\n";

/// The block that begins at a line, or the message of the refusal. Nothing is written.
fn block_at(desk: &Desk, path: &str, line: u64) -> Result<(u64, u64), String> {
    let tag = desk.tag(&format!("{path}:raw"));
    let patch = format!("¶{path}#{tag}\ndelete block {line}\n");
    let params = json!({ "patch": patch, "dryRun": true });
    match desk.daemon.call("agent/edit", params) {
        Ok(result) => {
            let block = &result["details"]["files"][0]["blocks"][0];
            assert_eq!(block["line"], line, "{result}");
            let number = |key: &str| block[key].as_u64().expect("a line");
            Ok((number("start"), number("end")))
        }
        Err(error) => {
            assert_eq!(error.kind(), "patchSyntax", "{}", error.message);
            assert_eq!(error.data["patchLine"], 2);
            assert_eq!(error.data["header"], format!("¶{path}#{tag}"));
            Err(error.message)
        }
    }
}

/// There is no block at that line, and the refusal says so in these words.
fn no_block(desk: &Desk, path: &str, line: u64, words: &[&str]) {
    let message = block_at(desk, path, line).expect_err("there is no block");
    for word in words {
        assert!(message.contains(word), "no '{word}' in: {message}");
    }
}

#[test]
fn s30_a_range_inside_a_block() {
    let desk = Desk::new();
    let file = desk.case("f.ts", NESTED);
    let ops = "replace block 2:\n+  z();\nreplace 3..3:\n+  }\n";
    let words = ["patch line 2", "2..3", "patch line 4", "3..3"];
    let error = desk.refused(&file.patch(ops), "overlap", &words);
    assert_eq!(error.data["patchLines"], json!([2, 4]));
}

#[test]
fn s52_blocks_of_typescript() {
    let desk = Desk::new();
    desk.tree.write("f.ts", NESTED);
    assert_eq!(block_at(&desk, "f.ts", 2), Ok((2, 3)));
    assert_eq!(block_at(&desk, "f.ts", 1), Ok((1, 4)));
    no_block(&desk, "f.ts", 3, &["line 3", "closes a block", "2..3"]);
    no_block(&desk, "f.ts", 5, &["line 5", "blank"]);
    no_block(&desk, "f.ts", 99, &["line 99 does not exist (6 lines)"]);
    desk.tree.write("f.unknown", NESTED);
    no_block(
        &desk,
        "f.unknown",
        1,
        &["not known for this file", "range of lines"],
    );
    let (text, reply) = desk.made_of("g.ts", NESTED, "replace block 2:\n+  z();\n");
    assert_eq!(text, "function x(){\n  z();\n}\n\nf();\n");
    let block = json!([{ "line": 2, "start": 2, "end": 3 }]);
    assert_eq!(reply.details["files"][0]["blocks"], block);
    let (text, _) = desk.made_of("g.ts", NESTED, "delete block 1\n");
    assert_eq!(text, "\nf();\n");
}

#[test]
fn s53_blocks_of_python() {
    let desk = Desk::new();
    desk.tree.write(
        "f.py",
        "def f(xs):\n    for x in xs:\n        a(x)\n        b(x)\n    return 1\n\n\n@cached\ndef g():\n    return 2\n",
    );
    assert_eq!(block_at(&desk, "f.py", 2), Ok((2, 4)));
    assert_eq!(block_at(&desk, "f.py", 1), Ok((1, 5)));
    assert_eq!(block_at(&desk, "f.py", 8), Ok((8, 10)));
    // `delete block` leaves no decorator behind; a new body is not meant to lose one.
    assert_eq!(block_at(&desk, "f.py", 9), Ok((8, 10)));
    let text = "@cached\ndef g():\n    return 2\n";
    let (after, _) = desk.made_of("g.py", text, "replace block 2:\n+def h():\n+    pass\n");
    assert_eq!(after, "@cached\ndef h():\n    pass\n");
    let (after, _) = desk.made_of("g.py", text, "replace block 1:\n+x = 1\n");
    assert_eq!(after, "x = 1\n");
}

#[test]
fn s54_comments_and_errors_around_blocks() {
    let desk = Desk::new();
    let text = "/// Said of it.\nstruct S {\n    a: u8,\n}\n\nfn broken( {\n    x(;\n}\n";
    let (after, _) = desk.made_of("f.rs", text, "replace block 2:\n+struct T;\n");
    assert!(
        after.starts_with("/// Said of it.\nstruct T;\n\nfn broken("),
        "{after}"
    );
    desk.tree.write("g.rs", text);
    let message = block_at(&desk, "g.rs", 6).expect_err("it is broken");
    assert!(message.contains("syntax error"), "{message}");
    desk.tree.write(
        "f.swift",
        "struct S {\n    let a = 1\n\n    var b: Int {\n        return a\n    }\n}\n",
    );
    assert_eq!(block_at(&desk, "f.swift", 4), Ok((4, 6)));
}

#[test]
fn s54_attributes_and_docs_go_with_an_item() {
    let desk = Desk::new();
    desk.tree.write(
        "f.rs",
        "// Plain.\n\n/// Said of it.\n/// More.\n#[derive(Debug)]\n#[cfg(test)]\nstruct S {\n    #[serde(skip)]\n    a: u8,\n}\n",
    );
    assert_eq!(block_at(&desk, "f.rs", 7), Ok((3, 10)));
    assert_eq!(block_at(&desk, "f.rs", 5), Ok((3, 10)));
    assert_eq!(block_at(&desk, "f.rs", 6), Ok((3, 10)));
    assert_eq!(block_at(&desk, "f.rs", 9), Ok((8, 9)));
    no_block(&desk, "f.rs", 3, &["one line"]);
    let text = "#[test]\nfn a() {\n    b();\n}\n";
    let (after, _) = desk.made_of("g.rs", text, "replace block 2:\n+fn c() {}\n");
    assert_eq!(after, "#[test]\nfn c() {}\n");
    let (after, _) = desk.made_of("g.rs", text, "replace block 1:\n+fn c() {}\n");
    assert_eq!(after, "fn c() {}\n");
    let (after, _) = desk.made_of("g.rs", text, "insert after block 1:\n+fn c() {}\n");
    assert_eq!(after, format!("{text}fn c() {{}}\n"));
    desk.tree.write(
        "f.ts",
        "/** Said of it. */\n@Component({\n  a: 1,\n})\nexport class A {\n  /** Also. */\n  @Input()\n  b() {\n    return 1;\n  }\n}\n",
    );
    assert_eq!(block_at(&desk, "f.ts", 5), Ok((1, 11)));
    assert_eq!(block_at(&desk, "f.ts", 2), Ok((1, 11)));
    assert_eq!(block_at(&desk, "f.ts", 8), Ok((6, 10)));
    assert_eq!(block_at(&desk, "f.ts", 7), Ok((6, 10)));
    desk.tree.write(
        "F.java",
        "class F {\n    int a;\n\n    /**\n     * Said.\n     */\n    @Override\n    @Deprecated\n    public void f() {\n        a = 1;\n    }\n}\n",
    );
    assert_eq!(block_at(&desk, "F.java", 9), Ok((4, 11)));
    assert_eq!(block_at(&desk, "F.java", 8), Ok((4, 11)));
    assert_eq!(block_at(&desk, "F.java", 7), Ok((4, 11)));
    // A comment is the comment.
    assert_eq!(block_at(&desk, "F.java", 4), Ok((4, 6)));
    desk.tree.write(
        "f.go",
        "package f\n\n// apart\n\n// F says.\n// More.\nfunc F() {\n\t// not a doc\n\tif a {\n\t\tb()\n\t}\n}\n",
    );
    assert_eq!(block_at(&desk, "f.go", 7), Ok((5, 12)));
    assert_eq!(block_at(&desk, "f.go", 9), Ok((9, 11)));
}

#[test]
fn s55_sections_of_markdown() {
    let text = "# T\n\n## A\n\na\n\n### B\n\nb\n\n## C\n\nc\n";
    let (after, reply) = Desk::new().made_of("f.md", text, "delete block 3\n");
    assert_eq!(after, "# T\n\n## C\n\nc\n");
    let block = json!([{ "line": 3, "start": 3, "end": 10 }]);
    assert_eq!(reply.details["files"][0]["blocks"], block);
}

#[test]
fn s56_a_statement_of_one_line() {
    let desk = Desk::new();
    let file = desk.case("f.ts", "function x(){\n  f();\n  g();\n}\n");
    let words = ["line 2", "one line", "plain form", "1..4"];
    for ops in [
        "replace block 2:\n+  h();",
        "delete block 2",
        "insert after block 2:\n+  h();",
    ] {
        desk.refused(&file.patch(ops), "patchSyntax", &words);
    }
}

#[test]
fn s57_rows_after_a_block() {
    let desk = Desk::new();
    let ops = |line| format!("insert after block {line}:\n+  after();\n");
    let expected = "function x(){\n  if (y) {\n  }\n  after();\n}\n\nf();\n";
    let (text, reply) = desk.made_of("f.ts", NESTED, &ops(2));
    assert_eq!(text, expected);
    assert_eq!(reply.codes(), [""; 0]);
    let (text, reply) = desk.made_of("f.ts", NESTED, &ops(3));
    assert_eq!(text, expected);
    reply.warns("notABlock", &["Patch line 2", "line 3 closes a block"]);
}

#[test]
fn s58_rows_after_the_last_statement() {
    let text = "def f():\n    a()\n    b()\n\nc()\n";
    let (after, reply) = Desk::new().made_of("f.py", text, "insert after 3:\n+d()\n");
    assert_eq!(after, "def f():\n    a()\n    b()\nd()\n\nc()\n");
    assert_eq!(reply.codes(), [""; 0]);
}

#[test]
fn s65_a_block_of_a_file_that_moved_on() {
    let desk = Desk::new();
    let tag = desk.put("f.ts", NESTED);
    // In the live text a larger block begins at line 2.
    desk.tree.replace("f.ts", format!("// new\n{NESTED}"));
    let reply = desk.done(&format!("¶f.ts#{tag}\nreplace block 2:\n+  z();\n"));
    assert_eq!(
        desk.text("f.ts"),
        "// new\nfunction x(){\n  z();\n}\n\nf();\n"
    );
    assert_eq!(reply.remapped(), &json!([{ "from": 2, "to": 3 }]));
    // A block that has grown is not the one that was meant.
    let tag = desk.put("g.ts", NESTED);
    desk.tree.replace(
        "g.ts",
        NESTED.replace("  if (y) {\n", "  if (y) {\n    more();\n"),
    );
    let patch = format!("¶g.ts#{tag}\ndelete block 2\n");
    desk.refused(&patch, "stale", &["lines 2..3", "other lines between them"]);
}
