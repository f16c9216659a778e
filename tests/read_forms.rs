//! What a read of a text file looks like, sample by sample of `formats.md`; only text over the wire is asserted here.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

/// 200 lines of which 49 to 55 are those of the sample in `formats.md`.
fn foo_ts() -> String {
    let mut lines: Vec<String> = (1..=200).map(|n| format!("// filler {n}")).collect();
    let sample = [
        "  // one line of context",
        "export function f() {",
        "  return 1;",
        "}",
        "",
        "// context",
        "// context",
    ];
    for (at, line) in sample.iter().enumerate() {
        lines[48 + at] = line.to_string();
    }
    lines.join("\n") + "\n"
}

fn without_tag(text: &str) -> String {
    let (header, rest) = text.split_once('\n').expect("a header line");
    let (path, tag) = header.rsplit_once('#').expect("a tag");
    assert!(
        tag.len() == 4
            && tag
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b))
    );
    format!("{path}#TAG\n{rest}")
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text block")
}

#[test]
fn a_range_is_given_its_context() {
    let tree = Tree::new().file("src/foo.ts", foo_ts());
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("src/foo.ts:50-52").expect("a read");
    assert_eq!(
        without_tag(text_of(&result)),
        "¶src/foo.ts#TAG\n49:  // one line of context\n50:export function f() {\n51:  return 1;\n52:}\n53:\n54:// context\n55:// context\n\n[49-55 of 200]"
    );
    let details = &result["details"];
    assert_eq!(details["kind"], "file");
    assert_eq!(details["shown"], json!([{ "start": 49, "end": 55 }]));
    assert_eq!(details["totalLines"], 200);
    assert_eq!(details.get("truncation"), None);
    assert_eq!(details["hashline"]["path"], "src/foo.ts");
    assert_eq!(details["encoding"], "utf-8");
    assert_eq!(details["encodingConfidence"], "certain");
    assert_eq!(details["lineEnding"], "lf");
    assert_eq!(details["bom"], false);
    assert_eq!(details["origin"], "disk");
    let resolved = tree.spelled("src/foo.ts");
    assert_eq!(details["resolvedPath"], resolved.as_str());
    assert_eq!(details["meta"]["source"], resolved.as_str());
    assert_eq!(details["uri"], format!("file://{resolved}"));
}

#[test]
fn tags_of_the_vectors() {
    let vectors = [
        ("", "5D05"),
        ("\n", "D352"),
        ("a", "7456"),
        ("a\n", "9585"),
        ("a\nb\n", "9A46"),
        ("a \t\nb\r\n", "9A46"),
        ("é\n", "1941"),
        ("l1\nl2\nl3\nl4\nl5\n", "7CCB"),
        ("line one 263\nline two 4471\n", "1D84"),
        ("line one 410\nline two 6970\n", "1D84"),
        ("\u{feff}a\n", "9585"),
    ];
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    for (index, (text, tag)) in vectors.iter().enumerate() {
        let name = format!("v{index}.txt");
        tree.write(&name, text);
        let result = daemon.read(&name).expect("a read");
        assert_eq!(result["details"]["hashline"]["tag"], *tag, "{text:?}");
        assert!(text_of(&result).starts_with(&format!("¶{name}#{tag}\n")));
    }
}

#[test]
fn two_texts_of_one_natural_tag_get_two_names() {
    let tree = Tree::new().file("a.txt", "line one 263\nline two 4471\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let tag = |text: &str| {
        tree.write("a.txt", text);
        let result = daemon.read("a.txt").expect("a read");
        result["details"]["hashline"]["tag"]
            .as_str()
            .expect("a tag")
            .to_owned()
    };
    assert_eq!(tag("line one 263\nline two 4471\n"), "1D84");
    assert_eq!(tag("line one 410\nline two 6970\n"), "1D85");
    assert_eq!(tag("line one 263  \nline two 4471\r\n"), "1D84");
}

#[test]
fn lists_are_exact_and_set_apart() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 30));
    let mut daemon = Daemon::start(tree.path());
    let read = |daemon: &mut Daemon, selector: &str| {
        without_tag(&daemon.read_text(format!("n.txt:{selector}")))
    };
    assert_eq!(
        read(&mut daemon, "2,4-5,20"),
        "¶n.txt#TAG\n2:line 2\n…\n4:line 4\n5:line 5\n…\n20:line 20"
    );
    assert_eq!(
        read(&mut daemon, "4-5,6,2-3"),
        "¶n.txt#TAG\n2:line 2\n3:line 3\n4:line 4\n5:line 5\n6:line 6"
    );
    assert_eq!(
        read(&mut daemon, "29-30,500-510,900"),
        "¶n.txt#TAG\n29:line 29\n30:line 30\n\n[Range 500-510 is beyond the end (30 lines); skipped]\n[Line 900 is beyond the end (30 lines); skipped]"
    );
    assert_eq!(
        read(&mut daemon, "-2"),
        "¶n.txt#TAG\n29:line 29\n30:line 30"
    );
    assert_eq!(
        read(&mut daemon, "29"),
        "¶n.txt#TAG\n29:line 29\n30:line 30"
    );
    assert_eq!(
        read(&mut daemon, "L29-"),
        "¶n.txt#TAG\n29:line 29\n30:line 30"
    );
}

#[test]
fn beyond_the_end_is_a_text_and_no_error() {
    let tree = Tree::new()
        .file("notes.txt", numbered_lines(1, 200))
        .file("empty.txt", "");
    let daemon = Daemon::start(tree.path());
    let expected = "Line 900 is beyond the end of notes.txt (200 lines). Use :1 to read from the start, or :200 to read the last line.";
    for selector in ["900", "900-910", "900-901,1000"] {
        assert_eq!(daemon.read_text(format!("notes.txt:{selector}")), expected);
    }
    assert_eq!(
        daemon.read_text("empty.txt"),
        "¶empty.txt#5D05\n(empty file)"
    );
    assert!(
        daemon
            .read_text("empty.txt:3")
            .starts_with("Line 3 is beyond the end of empty.txt (0 lines)")
    );
}

#[test]
fn limits_of_lines_and_bytes() {
    let tree = Tree::new().file("many.txt", numbered_lines(1, 5000)).file(
        "wide.txt",
        (1..=5000).map(|n| format!("{n:062}\n")).collect::<String>(),
    );
    let daemon = Daemon::start(tree.path());
    let many = daemon.read("many.txt").expect("a read");
    assert!(
        text_of(&many).ends_with(
            "\n3000:line 3000\n\n[Showing lines 1-3000 of 5000. Use :3001- to continue]"
        )
    );
    assert_eq!(
        many["details"]["truncation"],
        json!({ "reason": "lines", "nextSelector": "3001-" })
    );
    // 63 bytes a line: 812 lines are 51156 bytes, one more would pass 51200.
    let wide = daemon.read("wide.txt").expect("a read");
    assert!(
        text_of(&wide)
            .ends_with("\n\n[Showing lines 1-812 of 5000 (50 KiB limit). Use :813- to continue]")
    );
    assert_eq!(
        wide["details"]["truncation"],
        json!({ "reason": "bytes", "nextSelector": "813-" })
    );
    let range = daemon.read("wide.txt:100-2000").expect("a read");
    let next = &range["details"]["truncation"]["nextSelector"];
    assert_eq!(next, "912-1999,2000");
    assert_eq!(
        range["details"]["shown"],
        json!([{ "start": 100, "end": 911 }])
    );
    let budget = json!({ "path": "many.txt", "budget": { "lines": "10", "bytes": 30 } });
    let small = daemon.read_with(budget).expect("a read");
    assert!(text_of(&small).ends_with(
        "4:line 4\n\n[Showing lines 1-4 of 5000 (30 bytes limit). Use :5- to continue]"
    ));
}

#[test]
fn cut_rows_say_how_to_get_the_whole_line() {
    let long = "é".repeat(60_000);
    let tree = Tree::new().file("long.txt", format!("first\n{long}\nlast\n"));
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("long.txt").expect("a read");
    let row = format!("2:{}…", "é".repeat(2000));
    assert_eq!(
        without_tag(text_of(&result)),
        format!(
            "¶long.txt#TAG\n1:first\n{row}\n3:last\n\n[Line 2 cut at 2000 of 60000 characters. Use :2-2:raw for the whole line]"
        )
    );
    let details = &result["details"];
    assert_eq!(
        details["shown"],
        json!([{ "start": 1, "end": 1 }, { "start": 3, "end": 3 }])
    );
    assert_eq!(
        details["cutLines"],
        json!([{ "line": 2, "shownChars": 2000, "totalChars": 60000 }])
    );
    let raw = daemon.read("long.txt:2-2:raw").expect("a raw read");
    assert_eq!(text_of(&raw), format!("{long}\n"));
    assert_eq!(raw["content"].as_array().map(Vec::len), Some(1));
}

#[test]
fn raw_is_the_files_own_text() {
    let text = "\u{feff}one\r\ntwo\nthree \x1b[31mred\x1b[0m\r\nlast";
    let tree = Tree::new()
        .file("mixed.txt", text)
        .file("many.txt", numbered_lines(1, 4000));
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.read_text("mixed.txt:raw"),
        text.trim_start_matches('\u{feff}')
    );
    assert_eq!(daemon.read_text("mixed.txt:raw:1-2"), "one\r\ntwo\n");
    assert_eq!(
        daemon.read_text("mixed.txt:2-3:raw"),
        "two\nthree \x1b[31mred\x1b[0m\r\n"
    );
    let rows = daemon.read_text("mixed.txt");
    assert_eq!(
        without_tag(&rows),
        "¶mixed.txt#TAG\n1:one\n2:two\n3:three \x1b[31mred\x1b[0m\n4:last"
    );
    let cut = daemon.read("many.txt:raw").expect("a raw read");
    assert_eq!(text_of(&cut), numbered_lines(1, 3000));
    assert_eq!(
        cut["content"][1]["text"],
        "[Showing lines 1-3000 of 4000. Use :3001-:raw to continue]"
    );
    assert_eq!(cut["details"]["truncation"]["nextSelector"], "3001-:raw");
}

#[test]
fn numbered_and_plain_are_the_same_without_header_or_numbers() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9));
    let mut daemon = Daemon::start(tree.path());
    let read = |daemon: &mut Daemon, dialect: &str| {
        let params = json!({ "path": "n.txt:2-3", "dialect": dialect });
        daemon.read_with(params).expect("a read")
    };
    let numbered = read(&mut daemon, "numbered");
    let footer = "[1-6 of 9]";
    assert_eq!(
        text_of(&numbered),
        format!("1:line 1\n2:line 2\n3:line 3\n4:line 4\n5:line 5\n6:line 6\n\n{footer}")
    );
    let plain = read(&mut daemon, "plain");
    assert_eq!(
        text_of(&plain),
        format!("line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n\n{footer}")
    );
    let tags: Vec<Value> = ["hashline", "numbered", "plain"]
        .map(|dialect| read(&mut daemon, dialect)["details"]["hashline"]["tag"].clone())
        .into();
    assert!(tags[0].is_string() && tags[0] == tags[1] && tags[1] == tags[2]);
    let error = daemon
        .read_with(json!({ "path": "n.txt", "dialect": "hashlin" }))
        .expect_err("no such dialect");
    assert_eq!((error.code, error.kind()), (-32602, "badParams"));
    assert!(error.message.contains("'hashline'"), "{}", error.message);
}

#[test]
fn display_content_when_wanted() {
    let tree = Tree::new().file("n.txt", numbered_lines(1, 9));
    let daemon = Daemon::start(tree.path());
    let params = json!({ "path": "n.txt:3,4", "want": ["displayContent"] });
    let result = daemon.read_with(params).expect("a read");
    assert_eq!(
        result["details"]["displayContent"],
        json!({ "text": "line 3\nline 4", "startLine": 3 })
    );
}

#[test]
fn odd_names_in_headers_are_json_strings() {
    let names = [
        ("we#ird.txt", "¶we#ird.txt#"),
        ("a\"b.txt", "¶\"a\\\"b.txt\"#"),
        (" lead.txt", "¶\" lead.txt\"#"),
        ("tab\there", "¶\"tab\\there\"#"),
    ];
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for (name, header) in names {
        tree.write(name, "x\n");
        let text = daemon.read_text(name);
        assert!(text.starts_with(header), "{name:?}: {text:?}");
    }
}

#[test]
fn without_edits_there_are_no_headers() {
    let tree = Tree::new().file("n.txt", "a\n");
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "edit": { "enabled": false } }))
        .start();
    let result = daemon.read("n.txt").expect("a read");
    assert_eq!(text_of(&result), "1:a");
    assert_eq!(result["details"].get("hashline"), None);
}

#[test]
fn line_ends_of_every_kind() {
    let tree = Tree::new()
        .file("crlf.txt", "a\r\nb\r\n")
        .file("cr.txt", "a\rb\r")
        .file("mixed.txt", "a\r\nb\nc\rd\n")
        .file("none.txt", "a")
        .file("odd.txt", "a\u{2028}b\u{85}c\x0bd\x0ce\n");
    let daemon = Daemon::start(tree.path());
    let cases = [
        ("crlf.txt", "crlf", "1:a\n2:b", 2),
        ("cr.txt", "cr", "1:a\n2:b", 2),
        ("mixed.txt", "mixed", "1:a\n2:b\n3:c\rd", 3),
        ("none.txt", "none", "1:a", 1),
        ("odd.txt", "lf", "1:a\u{2028}b\u{85}c\x0bd\x0ce", 1),
    ];
    for (name, ending, rows, lines) in cases {
        let result = daemon.read(name).expect("a read");
        assert_eq!(result["details"]["lineEnding"], ending, "{name}");
        assert_eq!(result["details"]["totalLines"], lines, "{name}");
        assert_eq!(
            without_tag(text_of(&result)),
            format!("¶{name}#TAG\n{rows}")
        );
    }
    assert_eq!(daemon.read_text("cr.txt:raw"), "a\rb\r");
    assert_eq!(daemon.read_text("cr.txt:2-2:raw"), "b\r");
}
