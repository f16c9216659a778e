//! The dialect `llm-gateway`: every example, limit and error of its seed.

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};

use super::{ask, text_of};

fn read(daemon: &Daemon, params: Value) -> Value {
    let result = ask(daemon, "llm-gateway", params).expect("a result");
    assert!(result.get("isError").is_none(), "{result}");
    result
}

fn error(daemon: &Daemon, params: Value) -> String {
    let result = ask(daemon, "llm-gateway", params).expect("a result");
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result).to_owned()
}

#[test]
fn a_complete_text_file() {
    let mut lines = vec![
        "import { foo } from './foo';".to_owned(),
        "import { bar } from './bar';".to_owned(),
        String::new(),
        "export function main() {".to_owned(),
    ];
    lines.extend((5..42).map(|line| format!("  step({line});")));
    lines.push("}".to_owned());
    let tree = Tree::new().file("src/index.ts", lines.join("\n") + "\n");
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("src/index.ts");
    let result = read(&daemon, json!({ "filePath": path }));
    let text = text_of(&result);
    let head = format!(
        "<file path=\"{path}\" lines=\"1-42\" total=\"42\">\n   1 | import {{ foo }} from './foo';\n   2 | import {{ bar }} from './bar';\n   3 | \n   4 | export function main() {{\n   5 |   step(5);\n"
    );
    assert!(text.starts_with(&head), "{text}");
    assert!(
        text.ends_with("\n  41 |   step(41);\n  42 | }\n</file>"),
        "{text}"
    );
    // The record of what was read, for whoever changes the file later.
    assert!(result["details"]["hashline"]["tag"].is_string());
}

#[test]
fn a_file_in_chunks_from_0() {
    let tree = Tree::new().file("large.log", numbered_lines(1, 250));
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("large.log");
    let chunk = |offset: Value| {
        read(
            &daemon,
            json!({ "filePath": path, "offset": offset, "limit": 100 }),
        )
    };
    let first = chunk(json!(0));
    let text = text_of(&first);
    assert!(text.starts_with(&format!(
        "<file path=\"{path}\" lines=\"1-100\" total=\"250\">\n   1 | line 1\n"
    )));
    assert!(text.contains("\n  99 | line 99\n 100 | line 100\n</file>\n[Output truncated at 100 lines. Use offset/limit to read more. The next offset is 100.]"));
    assert_eq!(
        first["details"]["truncation"],
        json!({ "reason": "lines", "nextSelector": "101-", "next": { "offset": 100, "limit": 100 } })
    );
    let second = chunk(json!("100"));
    assert!(text_of(&second).starts_with(&format!(
        "<file path=\"{path}\" lines=\"101-200\" total=\"250\">\n 101 | line 101\n"
    )));
    let third = chunk(json!(200));
    assert!(text_of(&third).ends_with("\n 250 | line 250\n</file>"));
    assert!(third["details"].get("truncation").is_none());
}

#[test]
fn limits_of_lines_bytes_and_length() {
    let long = "x".repeat(2001);
    let tree = Tree::new()
        .file("many.txt", numbered_lines(1, 12_345))
        .file(
            "bytes.txt",
            "0123456789012345678901234567890\n".repeat(1700),
        )
        .file("long.txt", format!("{long}\n{}\n", "y".repeat(2000)))
        .file("empty.txt", "");
    let daemon = Daemon::start(tree.path());
    let path = |name: &str| json!({ "filePath": tree.spelled(name) });
    let many = read(&daemon, path("many.txt"));
    assert!(text_of(&many).ends_with(
        "\n2000 | line 2000\n</file>\n[Output truncated at 2000 lines. Use offset/limit to read more. The next offset is 2000.]"
    ));
    let wide = json!({ "filePath": tree.spelled("many.txt"), "offset": 12_343 });
    assert!(text_of(&read(&daemon, wide)).contains("\n12344 | line 12344\n12345 | line 12345\n"));
    let bytes = read(&daemon, path("bytes.txt"));
    assert!(text_of(&bytes).ends_with(
        "\n</file>\n[Output truncated at 50KB. Use offset/limit to read more. The next offset is 1312.]"
    ));
    assert_eq!(
        bytes["details"]["truncation"]["next"],
        json!({ "offset": 1312, "limit": 2000 })
    );
    // The limit is one of the output, numbers included: as many rows as fit, and not one more.
    let text = text_of(&bytes);
    let rows = text.split_once('\n').expect("a head").1;
    let rows = rows.split_once("</file>").expect("a tail").0;
    assert!(
        rows.len() <= 51_200 && rows.len() + 39 > 51_200,
        "{}",
        rows.len()
    );
    let cut = read(&daemon, path("long.txt"));
    assert_eq!(
        text_of(&cut),
        format!(
            "<file path=\"{}\" lines=\"1-2\" total=\"2\">\n   1 | {} [truncated]\n   2 | {}\n</file>\n[Line 1 is cut at 2000 of 2001 characters. Use filePath {}:1-1:raw for the whole line]",
            tree.spelled("long.txt"),
            "x".repeat(2000),
            "y".repeat(2000),
            tree.spelled("long.txt"),
        )
    );
    let whole = json!({ "filePath": format!("{}:1-1:raw", tree.spelled("long.txt")) });
    assert_eq!(text_of(&read(&daemon, whole)), format!("{long}\n"));
    let empty = read(&daemon, path("empty.txt"));
    assert_eq!(
        text_of(&empty),
        format!(
            "<file path=\"{}\" lines=\"0-0\" total=\"0\">\n</file>",
            tree.spelled("empty.txt")
        )
    );
    let beyond = json!({ "filePath": tree.spelled("long.txt"), "offset": 7 });
    assert!(
        text_of(&read(&daemon, beyond)).ends_with(
            "total=\"2\">\n</file>\n[Offset 7 is beyond the end of the file (2 lines).]"
        )
    );
}

#[test]
fn errors_are_results_in_its_words() {
    let tree = Tree::new()
        .file("src/a.ts", "x\n")
        .file("ls", b"\x7fELF\0\0\0\x01\0\0".as_slice())
        .file("near.tsx", "");
    let daemon = Daemon::start(tree.path());
    let missing = tree.spelled("nonexistent.txt");
    assert_eq!(
        error(&daemon, json!({ "filePath": missing })),
        format!("File not found: {missing}")
    );
    let near = tree.spelled("near.ts");
    assert_eq!(
        error(&daemon, json!({ "filePath": near })),
        format!("File not found: {near}")
    );
    // Nor is the only file read that ends so.
    let suffix = format!("{}:1-2", tree.spelled("nowhere/a.ts"));
    assert_eq!(
        error(&daemon, json!({ "filePath": suffix })),
        format!("File not found: {suffix}")
    );
    let binary = tree.spelled("ls");
    assert_eq!(
        error(&daemon, json!({ "filePath": binary })),
        format!("Cannot read binary file: {binary}")
    );
    assert_eq!(
        error(&daemon, json!({ "filePath": "src/a.ts" })),
        format!(
            "Relative paths are not supported: src/a.ts. Use the absolute path {}",
            tree.spelled("src/a.ts")
        )
    );
    let denied = error(&daemon, json!({ "filePath": tree.spelled(".env") }));
    assert!(
        denied.contains("the pattern '.env' of the setting access.deny"),
        "{denied}"
    );
    for (params, text) in [
        (
            json!({ "filePath": binary, "offset": -1 }),
            "offset must be >= 0.",
        ),
        (
            json!({ "filePath": binary, "limit": 0 }),
            "limit must be >= 1.",
        ),
        (json!({}), "'filePath' is missing; it must be a string."),
        (
            json!({ "path": binary }),
            "There is no parameter 'path'. Did you mean 'filePath'? It takes filePath, limit and offset.",
        ),
    ] {
        assert_eq!(error(&daemon, params.clone()), text);
        // In a request of many it spoils no other.
        let mut target = params;
        target["dialect"] = json!("llm-gateway");
        let targets = json!([target, { "path": "src/a.ts" }]);
        let many = daemon.call("agent/readMany", json!({ "targets": targets }));
        let results = many.expect("reads")["results"].clone();
        assert_eq!(text_of(&results[0]["ok"]), text);
        assert_eq!(
            results[0]["ok"]["details"]["native"]["error"]["data"]["kind"],
            "badParams"
        );
        assert!(text_of(&results[1]["ok"]).ends_with("\n1:x"));
    }
}

/// The number of lines is part of the form, so they are counted however many there are.
#[test]
fn the_total_is_that_of_files_of_any_size() {
    let tree = Tree::new().file("huge.log", numbered_lines(1, 3_000_000));
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("huge.log");
    let params = json!({ "filePath": path, "limit": 2 });
    assert!(text_of(&read(&daemon, params)).starts_with(&format!(
        "<file path=\"{path}\" lines=\"1-2\" total=\"3000000\">\n   1 | line 1\n"
    )));
    let pikuri = ask(&daemon, "pikuri", json!({ "path": path, "limit": 2 })).expect("a read");
    assert!(text_of(&pikuri).ends_with("\nShowing lines 1-2 of 3000000. Use offset=3 to continue"));
    let roo = ask(&daemon, "roo", json!({ "path": path })).expect("a read");
    assert!(text_of(&roo).contains("\n[Showing only 500 of 3000000 total lines. "));
}

#[test]
fn no_name_ends_the_attribute() {
    let tree = Tree::new().file("a\"> & <b\n.txt", "x\n");
    let daemon = Daemon::start(tree.path());
    let path = tree.spelled("a\"> & <b\n.txt");
    let result = read(&daemon, json!({ "filePath": path }));
    let folder = tree.path().display();
    assert_eq!(
        text_of(&result),
        format!(
            "<file path=\"{folder}/a&quot;&gt; &amp; &lt;b&#10;.txt\" lines=\"1-1\" total=\"1\">\n   1 | x\n</file>"
        )
    );
}
