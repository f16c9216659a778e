//! The dialect `opencode`: every table row, example and limit of its seed, and its ten scenarios at the end.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{ask, text_of};

fn read(daemon: &Daemon, params: Value) -> Value {
    ask(daemon, "opencode", params).expect("a read")
}

/// What is thrown: its kind and its message.
fn thrown(daemon: &Daemon, params: Value) -> (String, String) {
    let error = ask(daemon, "opencode", params).expect_err("an error");
    (error.kind().to_owned(), error.message.clone())
}

#[test]
fn scenario_1_reads_a_file() {
    let tree = Tree::new().file("file.py", "import os\nimport sys\ndef main():\n    pass\n");
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "filePath": tree.spelled("file.py") }));
    assert_eq!(
        text_of(&result),
        format!(
            "<path>{}</path>\n<type>file</type>\n<content>\n1: import os\n2: import sys\n3: def main():\n4:     pass\n\n(End of file - total 4 lines)\n</content>",
            tree.spelled("file.py")
        )
    );
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    assert!(result.get("isError").is_none());
    let details = &result["details"];
    assert_eq!(
        details["native"],
        json!({
            "title": "file.py",
            "metadata": { "preview": "import os\nimport sys\ndef main():\n    pass", "truncated": false },
        })
    );
    assert_eq!(details["shown"], json!([{ "start": 1, "end": 4 }]));
    assert!(details["hashline"]["tag"].is_string());
    assert!(details.get("truncation").is_none());
}

#[test]
fn scenario_2_lists_a_directory() {
    let tree = Tree::new()
        .file("src/subdir/inner.py", "")
        .file("src/file1.py", "")
        .file("src/File2.txt", "")
        .file("src/.env", "SECRET");
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "filePath": "src/" }));
    // In the order of the alphabet, whatever the case; what access denies is not named.
    assert_eq!(
        text_of(&result),
        format!(
            "<path>{}</path>\n<type>directory</type>\n<entries>\nfile1.py\nFile2.txt\nsubdir/\n</entries>",
            tree.spelled("src")
        )
    );
    assert_eq!(result["details"]["kind"], "directory");
    assert_eq!(result["details"]["isDirectory"], true);
    let native = &result["details"]["native"];
    assert_eq!(native["title"], "src");
    assert_eq!(
        native["metadata"]["preview"],
        "file1.py\nFile2.txt\nsubdir/"
    );
    // It pages like a file.
    let page = read(
        &daemon,
        json!({ "filePath": "src", "offset": 2, "limit": 1 }),
    );
    assert_eq!(
        text_of(&page),
        format!(
            "<path>{}</path>\n<type>directory</type>\n<entries>\nFile2.txt\n\n(Directory has more entries. Use 'offset' parameter to read beyond entry 2)\n</entries>",
            tree.spelled("src")
        )
    );
    assert_eq!(page["details"]["native"]["metadata"]["truncated"], true);
    assert_eq!(
        page["details"]["truncation"]["next"],
        json!({ "offset": 3, "limit": 1 })
    );
    let (kind, message) = thrown(&daemon, json!({ "filePath": "src", "offset": 9 }));
    assert_eq!(kind, "outOfRange");
    assert_eq!(
        message,
        "Offset 9 is out of range for this directory (3 entries)"
    );
}

#[test]
fn scenario_3_takes_offset_and_limit() {
    let tree = Tree::new().file("large.txt", numbered_lines(1, 200));
    let daemon = Daemon::start(tree.path());
    for params in [
        json!({ "filePath": "large.txt", "offset": 100, "limit": 3 }),
        json!({ "filePath": "large.txt", "offset": "100", "limit": "3" }),
    ] {
        let result = read(&daemon, params);
        let text = text_of(&result);
        assert!(
            text.ends_with("<content>\n100: line 100\n101: line 101\n102: line 102\n\n(File has more lines. Use 'offset' parameter to read beyond line 102)\n</content>"),
            "{text}"
        );
        let details = &result["details"];
        assert_eq!(details["shown"], json!([{ "start": 100, "end": 102 }]));
        assert_eq!(
            details["truncation"],
            json!({ "reason": "lines", "nextSelector": "103-", "next": { "offset": 103, "limit": 3 } })
        );
        assert_eq!(
            details["native"]["metadata"]["preview"],
            "line 100\nline 101\nline 102"
        );
        assert_eq!(details["native"]["metadata"]["truncated"], true);
    }
    let rest = read(
        &daemon,
        json!({ "filePath": "large.txt", "offset": 199, "limit": 50 }),
    );
    assert!(text_of(&rest).ends_with(
        "\n199: line 199\n200: line 200\n\n(End of file - total 200 lines)\n</content>"
    ));
    assert!(rest["details"].get("truncation").is_none());
    let first = read(&daemon, json!({ "filePath": "large.txt", "limit": 1 }));
    assert!(text_of(&first).contains("<content>\n1: line 1\n\n(File has more lines."));
}

#[test]
fn scenario_4_throws_where_there_is_no_file() {
    let tree = Tree::new()
        .file("to/config.tsx", "")
        .file("to/config.js", "")
        .file("to/config.json", "");
    let daemon = Daemon::start(tree.path());
    let asked = tree.spelled("to/config.ts");
    for path in ["to/config.ts", asked.as_str()] {
        let error = ask(&daemon, "opencode", json!({ "filePath": path })).expect_err("an error");
        assert_eq!((error.code, error.kind()), (-32803, "notFound"));
        let near = ["config.tsx", "config.js", "config.json"];
        let near = near.map(|name| tree.spelled(&format!("to/{name}")));
        assert_eq!(
            error.message,
            format!(
                "File not found: {asked}\n\nDid you mean one of these?\n{}",
                near.join("\n")
            )
        );
    }
    let (kind, message) = thrown(&daemon, json!({ "filePath": "zzzzzzzz" }));
    assert_eq!(kind, "notFound");
    assert_eq!(
        message,
        format!("File not found: {}", tree.spelled("zzzzzzzz"))
    );
}

#[test]
fn scenario_5_throws_on_a_binary_file() {
    let tree = Tree::new().file("null.txt", b"a\0b\0c\xff\xfe\0\0\0\x01".as_slice());
    for name in [
        "a.zip", "a.tar", "a.gz", "a.exe", "a.so", "a.class", "a.jar", "a.pyc", "a.BIN",
    ] {
        tree.write(name, "text, but by its name it is none\n");
    }
    let daemon = Daemon::start(tree.path());
    let names = [
        "null.txt", "a.zip", "a.tar", "a.gz", "a.exe", "a.so", "a.class", "a.jar", "a.pyc", "a.BIN",
    ];
    for name in names {
        let (kind, message) = thrown(&daemon, json!({ "filePath": name }));
        assert_eq!(kind, "binary", "{name}");
        assert_eq!(
            message,
            format!("Cannot read binary file: {}", tree.spelled(name))
        );
    }
    // What is not there is not there, whatever its name.
    assert_eq!(
        thrown(&daemon, json!({ "filePath": "none.zip" })).0,
        "notFound"
    );
}

#[test]
fn what_the_engine_decodes_is_not_binary() {
    let utf16: Vec<u8> = "\u{feff}naïve\nline 2\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let tree = Tree::new()
        .file("utf16.txt", utf16.as_slice())
        .file("escapes.txt", "\x1b[1m\x1b[0mred\x08\n");
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "filePath": "utf16.txt" }));
    assert!(text_of(&result).contains("<content>\n1: naïve\n2: line 2\n\n(End of file"));
    assert_eq!(result["details"]["encoding"], "utf-16le");
    let result = read(&daemon, json!({ "filePath": "escapes.txt" }));
    assert!(text_of(&result).contains("<content>\n1: \x1b[1m\x1b[0mred\x08\n\n(End of file"));
}

/// Over 30 % of the first 4,096 bytes.
#[test]
fn text_dense_in_controls_is_binary() {
    let controls =
        |count: usize, rest: usize| "\x01\x02\x1b\x0e\x7f".repeat(count) + &"x".repeat(rest);
    // Four of five are controls to it (DEL is not), so 120 of 400 are exactly 30 %.
    let mut late = numbered_lines(1, 2000);
    late.truncate(4096);
    late.push_str(&controls(4000, 0));
    let huge = controls(1000, 0) + &numbered_lines(1, 4_000_000);
    let tree = Tree::new()
        .file("exact.txt", controls(30, 250))
        .file("over.txt", controls(30, 249))
        .file("late.txt", late)
        .file("huge.txt", huge);
    let daemon = Daemon::start(tree.path());
    for name in ["over.txt", "huge.txt"] {
        for params in [
            json!({ "filePath": name }),
            json!({ "filePath": name, "offset": 1 }),
        ] {
            let (kind, message) = thrown(&daemon, params);
            let expected = format!("Cannot read binary file: {}", tree.spelled(name));
            assert_eq!((kind.as_str(), message), ("binary", expected));
        }
    }
    for name in ["exact.txt", "late.txt"] {
        read(&daemon, json!({ "filePath": name }));
    }
    // Who names a part of it, or its encoding, knows better.
    read(&daemon, json!({ "filePath": "over.txt:raw" }));
    read(
        &daemon,
        json!({ "filePath": "over.txt", "encoding": "utf-8" }),
    );
    ask(&daemon, "roo", json!({ "path": "over.txt" })).expect("a read");
}

#[test]
fn a_link_to_a_directory_is_listed_as_one() {
    let tree = Tree::new().file("src/sub/a.txt", "").file("src/b.txt", "");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, tree.join(name)).expect("a link");
    };
    link("sub", "src/ln");
    link("b.txt", "src/ln.txt");
    link("nowhere", "src/dangling");
    link("/etc", "src/outside");
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "filePath": "src" }));
    assert!(
        text_of(&result)
            .contains("<entries>\nb.txt\ndangling\nln.txt\nln/\noutside\nsub/\n</entries>"),
        "{}",
        text_of(&result)
    );
}

#[test]
fn scenario_6_cuts_an_overlong_line() {
    let long = "é".repeat(60_000);
    let exact = "x".repeat(2000);
    let tree = Tree::new().file("long.txt", format!("first\n{long}\n{exact}\n"));
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "filePath": "long.txt" }));
    let cut = "é".repeat(2000);
    assert_eq!(
        text_of(&result),
        format!(
            "<path>{}</path>\n<type>file</type>\n<content>\n1: first\n2: {cut}...\n3: {exact}\n\n(Line 2 is cut at 2000 of 60000 characters. Use filePath long.txt:2-2:raw for the whole line)\n(End of file - total 3 lines)\n</content>",
            tree.spelled("long.txt")
        )
    );
    let details = &result["details"];
    assert_eq!(
        details["cutLines"],
        json!([{ "line": 2, "shownChars": 2000, "totalChars": 60000 }])
    );
    assert_eq!(
        details["shown"],
        json!([{ "start": 1, "end": 1 }, { "start": 3, "end": 3 }])
    );
    // The way that it names is one.
    let whole = read(&daemon, json!({ "filePath": "long.txt:2-2:raw" }));
    assert_eq!(text_of(&whole), format!("{long}\n"));
}

#[test]
fn scenario_7_says_how_to_go_on_in_a_large_file() {
    let tree = Tree::new()
        .file("lines.txt", numbered_lines(1, 5000))
        .file(
            "bytes.txt",
            "0123456789012345678901234567890\n".repeat(4000),
        )
        .file("all.txt", numbered_lines(1, 123));
    let daemon = Daemon::start(tree.path());
    let lines = read(&daemon, json!({ "filePath": "lines.txt" }));
    assert!(text_of(&lines).ends_with(
        "\n2000: line 2000\n\n(File has more lines. Use 'offset' parameter to read beyond line 2000)\n</content>"
    ));
    assert_eq!(
        lines["details"]["truncation"]["next"],
        json!({ "offset": 2001, "limit": 2000 })
    );
    // 32 bytes a line: 1600 lines are 51200 bytes.
    let bytes = read(&daemon, json!({ "filePath": "bytes.txt" }));
    assert!(text_of(&bytes).ends_with(
        "\n1600: 0123456789012345678901234567890\n\n(Output truncated at 51200 bytes. Use 'offset' parameter to read beyond line 1600)\n</content>"
    ));
    assert_eq!(
        bytes["details"]["truncation"],
        json!({ "reason": "bytes", "nextSelector": "1601-", "next": { "offset": 1601, "limit": 2000 } })
    );
    let all = read(&daemon, json!({ "filePath": "all.txt" }));
    assert!(text_of(&all).ends_with("\n\n(End of file - total 123 lines)\n</content>"));
    // The limit is the caller's to raise; the bytes are not.
    let more = read(&daemon, json!({ "filePath": "lines.txt", "limit": 4000 }));
    assert_eq!(
        more["details"]["shown"],
        json!([{ "start": 1, "end": 4000 }])
    );
    let bytes = read(&daemon, json!({ "filePath": "bytes.txt", "limit": 4000 }));
    assert_eq!(
        bytes["details"]["shown"],
        json!([{ "start": 1, "end": 1600 }])
    );
}

#[test]
fn scenarios_8_and_9_take_relative_and_absolute_paths() {
    let tree = Tree::new().file("dir/hello.py", "print()\n");
    let daemon = Daemon::start(tree.path());
    let relative = read(&daemon, json!({ "filePath": "dir/hello.py" }));
    let absolute = read(&daemon, json!({ "filePath": tree.spelled("dir/hello.py") }));
    assert_eq!(text_of(&relative), text_of(&absolute));
    assert!(
        text_of(&relative).starts_with(&format!("<path>{}</path>\n", tree.spelled("dir/hello.py")))
    );
    assert_eq!(relative["details"]["native"]["title"], "dir/hello.py");
    assert_eq!(absolute["details"]["native"]["title"], "dir/hello.py");
}

#[test]
fn scenario_10_throws_on_an_offset_out_of_range() {
    let tree = Tree::new()
        .file("short.txt", numbered_lines(1, 10))
        .file("empty.txt", "");
    let daemon = Daemon::start(tree.path());
    let params = json!({ "filePath": "short.txt", "offset": 11 });
    let error = ask(&daemon, "opencode", params).expect_err("an error");
    assert_eq!((error.code, error.kind()), (-32803, "outOfRange"));
    assert_eq!(
        error.message,
        "Offset 11 is out of range for this file (10 lines)"
    );
    for offset in [json!(0), json!("0"), json!(-3)] {
        let params = json!({ "filePath": "short.txt", "offset": offset });
        let error = ask(&daemon, "opencode", params).expect_err("an error");
        assert_eq!((error.code, error.kind()), (-32602, "badParams"));
        assert_eq!(error.message, "offset must be >= 1");
    }
    // Of an empty file there is a first line to ask from.
    let empty = read(&daemon, json!({ "filePath": "empty.txt" }));
    assert!(text_of(&empty).ends_with("<content>\n\n(End of file - total 0 lines)\n</content>"));
}

#[test]
fn the_preview_is_twenty_lines() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 50));
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, json!({ "filePath": "n.txt" }));
    let preview = result["details"]["native"]["metadata"]["preview"].clone();
    assert_eq!(preview, numbered_lines(1, 20).trim_end());
    assert_eq!(result["details"]["native"]["metadata"]["truncated"], false);
}

#[test]
fn what_the_path_adds_is_the_engines() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 30));
    let daemon = Daemon::start(tree.path());
    let listed = read(&daemon, json!({ "filePath": "n.txt:2,5-6" }));
    assert!(
        text_of(&listed).contains("<content>\n2: line 2\n…\n5: line 5\n6: line 6\n"),
        "{}",
        text_of(&listed)
    );
    // Parameters say more exactly than a path which lines are meant.
    let both = read(
        &daemon,
        json!({ "filePath": "n.txt:2,5-6", "offset": 9, "limit": 1 }),
    );
    assert_eq!(both["details"]["shown"], json!([{ "start": 9, "end": 9 }]));
    let raw = read(&daemon, json!({ "filePath": "n.txt:raw" }));
    assert_eq!(text_of(&raw), numbered_lines(1, 30));
    let denied = thrown(&daemon, json!({ "filePath": ".env" }));
    assert_eq!(denied.0, "denied");
    assert!(
        denied
            .1
            .contains("the pattern '.env' of the setting access.deny"),
        "{}",
        denied.1
    );
    let moved = Tree::new().file("deep/er/only_here.txt", "x\n");
    let daemon = Daemon::start(moved.path());
    // Not found is not found: a model decides by that to make the file.
    let (kind, message) = thrown(&daemon, json!({ "filePath": "er/only_here.txt" }));
    let missing = moved.spelled("er/only_here.txt");
    assert_eq!(
        (kind.as_str(), message),
        ("notFound", format!("File not found: {missing}"))
    );
}
