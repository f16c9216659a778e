//! The dialect `pikuri`: every constant, rule and refusal of its seed.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{ask, text_of};

fn read(daemon: &Daemon, params: Value) -> Value {
    let result = ask(daemon, "pikuri", params).expect("a result");
    assert!(result.get("isError").is_none(), "{result}");
    result
}

/// The text of a result that is an error.
fn error(daemon: &Daemon, params: Value) -> String {
    let result = ask(daemon, "pikuri", params).expect("a result");
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result).to_owned()
}

#[test]
fn rows_are_those_of_cat_n() {
    let tree = Tree::new().file("lib/foo.rb", "class Foo\n  def bar\n\n  end\nend\n");
    let daemon = Daemon::start(tree.path());
    for path in ["lib/foo.rb".to_owned(), tree.spelled("lib/foo.rb")] {
        let result = read(&daemon, json!({ "path": path }));
        assert_eq!(
            text_of(&result),
            "     1\tclass Foo\n     2\t  def bar\n     3\t\n     4\t  end\n     5\tend"
        );
        assert_eq!(result["details"]["hashline"]["path"], "lib/foo.rb");
    }
}

#[test]
fn the_line_limit_is_2000_and_the_callers() {
    let tree = Tree::new().file("many.txt", numbered_lines(1, 5000));
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "path": "many.txt" }));
    assert!(text_of(&result).ends_with(
        "\n  2000\tline 2000\n\nShowing lines 1-2000 of 5000. Use offset=2001 to continue"
    ));
    assert_eq!(
        result["details"]["truncation"],
        json!({ "reason": "lines", "nextSelector": "2001-", "next": { "offset": 2001, "limit": 2000 } })
    );
    let page = read(
        &daemon,
        json!({ "path": "many.txt", "offset": "200", "limit": "2" }),
    );
    assert_eq!(
        text_of(&page),
        "   200\tline 200\n   201\tline 201\n\nShowing lines 200-201 of 5000. Use offset=202 to continue"
    );
    let last = read(&daemon, json!({ "path": "many.txt", "offset": 5000 }));
    assert_eq!(text_of(&last), "  5000\tline 5000");
}

#[test]
fn the_byte_cap_is_50_kb_of_input_and_paged_past() {
    let tree = Tree::new().file(
        "bytes.txt",
        "0123456789012345678901234567890\n".repeat(1700),
    );
    let daemon = Daemon::start(tree.path());
    // Counted on the bytes of the lines and one each: 1600 lines of 32.
    let result = read(&daemon, json!({ "path": "bytes.txt", "limit": 100_000 }));
    assert!(
        text_of(&result).ends_with(
            "\n\nShowing lines 1-1600 of 1700 (50 KB limit). Use offset=1601 to continue"
        )
    );
    let rest = read(&daemon, json!({ "path": "bytes.txt", "offset": 1601 }));
    assert_eq!(
        rest["details"]["shown"],
        json!([{ "start": 1601, "end": 1700 }])
    );
    assert!(rest["details"].get("truncation").is_none());
}

#[test]
fn a_long_line_ends_in_the_marker() {
    let long = "é".repeat(5000);
    let tree = Tree::new().file("long.txt", format!("a\n{long}\n{}\n", "b".repeat(2000)));
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "path": "long.txt" }));
    assert_eq!(
        text_of(&result),
        format!(
            "     1\ta\n     2\t{}... (line truncated to 2000 chars)\n     3\t{}\n\n(Line 2 is cut at 2000 of 5000 characters. Use path long.txt:2-2:raw for the whole line)",
            "é".repeat(2000),
            "b".repeat(2000)
        )
    );
    let page = read(&daemon, json!({ "path": "long.txt", "limit": 2 }));
    assert!(text_of(&page).ends_with("\nShowing lines 1-2 of 3. Use offset=3 to continue"));
}

#[test]
fn refusals_are_results_in_its_words() {
    let tree = Tree::new()
        .file("dir/a.txt", "x\n")
        .file("ten.txt", numbered_lines(1, 10))
        .file("blob.bin", b"a\0b\0c\0\x01\x02\xff\xfe\0".as_slice())
        .file("blob.zip", b"PK\x03\x04\0\0\0\0\0\0\0\0".as_slice())
        .file("config.tsx", "")
        .file("deep/er/only_here.txt", "x\n")
        .file("dense.txt", "\x01\x02\x1b".repeat(31) + &"x".repeat(200))
        .file("empty.txt", "");
    let daemon = Daemon::start(tree.path());
    let cases = [
        (
            json!({ "path": "qqqqqqqq" }),
            "Error: file not found: qqqqqqqq",
        ),
        (
            json!({ "path": "config.ts" }),
            "Error: file not found: config.ts",
        ),
        // Nor is anything else read in its place.
        (
            json!({ "path": "er/only_here.txt" }),
            "Error: file not found: er/only_here.txt",
        ),
        (
            json!({ "path": "dir" }),
            "Error: dir is a directory; use the glob tool to list files.",
        ),
        (
            json!({ "path": "blob.bin" }),
            "Error: cannot read binary file: blob.bin",
        ),
        // Dense in control characters, though without a NUL.
        (
            json!({ "path": "dense.txt", "offset": 1 }),
            "Error: cannot read binary file: dense.txt",
        ),
        (
            json!({ "path": "ten.txt", "offset": 11 }),
            "Error: offset 11 is beyond end of file (10 lines total)",
        ),
        (
            json!({ "path": "ten.txt", "offset": 0 }),
            "Error: offset must be >= 1, got 0",
        ),
        (
            json!({ "path": "ten.txt", "offset": -5 }),
            "Error: offset must be >= 1, got -5",
        ),
        (
            json!({ "path": "ten.txt", "limit": "0" }),
            "Error: limit must be >= 1, got 0",
        ),
        // Before anything is looked for.
        (
            json!({ "path": "qqqqqqqq", "limit": 0 }),
            "Error: limit must be >= 1, got 0",
        ),
        (
            json!({ "path": "/etc/passwd" }),
            "Error: '/etc/passwd' is outside the workspace. Use a path inside the workspace, or ask the user to allow it with access.additionalRoots or access.outsideWorkspace.",
        ),
        (
            json!({ "path": ".env" }),
            "Error: Access to '.env' is denied by the pattern '.env' of the setting access.deny. Continue without it, or ask the user to change the rule.",
        ),
    ];
    for (params, text) in cases {
        assert_eq!(error(&daemon, params.clone()), text, "{params}");
    }
    // What a program needs of an error is there as well.
    let result = ask(&daemon, "pikuri", json!({ "path": "qqqqqqqq" })).expect("a result");
    let native = &result["details"]["native"]["error"];
    assert_eq!(native["code"], -32803);
    assert_eq!(native["data"]["kind"], "notFound");
    let result = ask(
        &daemon,
        "pikuri",
        json!({ "path": "ten.txt", "offset": 11 }),
    );
    let result = result.expect("a result");
    assert_eq!(
        result["details"]["native"]["error"]["data"]["kind"],
        "outOfRange"
    );
    // The first line of nothing is no line beyond the end.
    assert_eq!(
        text_of(&read(&daemon, json!({ "path": "empty.txt" }))),
        "(empty file)"
    );
    let result = read(&daemon, json!({ "path": "empty.txt", "offset": 1 }));
    assert_eq!(text_of(&result), "(empty file)");
}

#[test]
fn parameters_that_are_none_are_results_too() {
    let tree = Tree::new().file("a.txt", "x\n");
    let daemon = Daemon::start(tree.path());
    for (params, message) in [
        (
            json!({ "path": "a.txt", "ofset": 5 }),
            "Error: There is no parameter 'ofset'. Did you mean 'offset'? It takes limit, offset and path.",
        ),
        (json!({}), "Error: 'path' is missing; it must be a string."),
        (
            json!({ "path": "a.txt", "limit": 1.5 }),
            "Error: limit must be a whole number.",
        ),
    ] {
        let result = ask(&daemon, "pikuri", params).expect("a result");
        assert_eq!(result["isError"], true);
        assert_eq!(text_of(&result), message);
        let native = &result["details"]["native"]["error"];
        assert_eq!(native["code"], -32602);
        assert_eq!(native["data"]["kind"], "badParams");
    }
    // What no model gives is the program's own fault, and thrown.
    let params = json!({ "path": "a.txt", "budget": 5 });
    let error = ask(&daemon, "pikuri", params).expect_err("an error");
    assert_eq!(error.kind(), "badParams");
}

#[test]
fn results_that_are_errors_spoil_no_other_read() {
    let tree = Tree::new().file("a.txt", "x\n");
    let daemon = Daemon::start(tree.path());
    let targets = json!([
        { "dialect": "pikuri", "path": "none.txt" },
        { "dialect": "pikuri", "path": "a.txt", "offset": 9 },
        { "dialect": "opencode", "filePath": "none.txt" },
        { "dialect": "opencode", "filePath": "a.txt", "offset": 9 },
        { "dialect": "pikuri", "path": "a.txt" },
    ]);
    let read = daemon
        .call("agent/readMany", json!({ "targets": targets }))
        .expect("reads");
    let results = &read["results"];
    assert_eq!(results[0]["ok"]["isError"], true);
    assert_eq!(
        text_of(&results[1]["ok"]),
        "Error: offset 9 is beyond end of file (1 lines total)"
    );
    let missing = tree.spelled("none.txt");
    assert_eq!(
        results[2]["error"]["message"],
        format!("File not found: {missing}")
    );
    assert_eq!(results[3]["error"]["data"]["kind"], "outOfRange");
    assert_eq!(text_of(&results[4]["ok"]), "     1\tx");
}

#[test]
fn what_the_system_keeps_closed_is_said_in_its_words() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new().file("locked.txt", "x\n");
    let mode = |name: &str, mode: u32| {
        set_permissions(tree.join(name), Permissions::from_mode(mode)).expect("a mode");
    };
    mode(".", 0o755);
    mode("locked.txt", 0o000);
    let daemon = Daemon::builder().root(tree.path()).ordinary_user().start();
    let text = error(&daemon, json!({ "path": "locked.txt" }));
    assert!(
        text.starts_with("Error: cannot read locked.txt: ")
            && text.to_lowercase().contains("permission denied"),
        "{text}"
    );
}
