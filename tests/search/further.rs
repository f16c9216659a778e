//! Long answers: they end at their limits, and going on finds every match exactly once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

use super::{all_answers, all_lines, lines, search, text};

/// Files and folders whose names stand close together, each with a number of matches of its own.
fn wide() -> (Tree, super::Lines) {
    let mut tree = Tree::new();
    let mut expected = super::Lines::new();
    let names = [
        "a",
        "a.txt",
        "a-b",
        "a/b",
        "a0",
        "b/a.txt",
        "b/a/c.txt",
        "b.txt",
        "ba",
        "ä.txt",
        "z z.txt",
    ];
    let names = names
        .iter()
        .filter(|name| **name != "a")
        .map(|name| (*name).to_owned());
    let many = (0..60).map(|at| format!("many/{at}/f{at}.txt"));
    for (at, name) in names.chain(many).enumerate() {
        let line = |number: usize| match number % 3 {
            0 => format!("needle {number}\n"),
            _ => format!("hay {number}\n"),
        };
        let count = 3 * (at % 7) + 2;
        let text: String = (1..=count).map(line).collect();
        let found = (1..=count as u64).filter(|number| number % 3 == 0);
        let found: Vec<(u64, u64)> = found.map(|number| (number, number)).collect();
        if !found.is_empty() {
            expected.insert(name.clone(), found);
        }
        tree = tree.file(&name, text);
    }
    (tree, expected)
}

#[test]
fn following_after_finds_every_match_exactly_once() {
    let (tree, expected) = wide();
    let daemon = Daemon::start(tree.path());
    for rows in [1, 2, 3, 7, 50, 199, 10_000] {
        for context in [0, 1, 4] {
            let params =
                json!({ "pattern": "needle", "context": context, "budget": { "lines": rows } });
            assert_eq!(all_lines(&daemon, &params), expected, "{params}");
        }
    }
    let bytes = json!({ "pattern": "needle", "budget": { "bytes": 40 } });
    assert_eq!(all_lines(&daemon, &bytes), expected);
    let chars = json!({ "pattern": "needle", "budget": { "chars": 900 } });
    assert_eq!(all_lines(&daemon, &chars), expected);
    for answer in all_answers(&daemon, &chars) {
        assert!(text(&answer).chars().count() <= 900, "{}", text(&answer));
    }
    let counts = json!({ "pattern": "needle", "count": true, "budget": { "lines": 4 } });
    let mut counted = Vec::new();
    for answer in all_answers(&daemon, &counts) {
        let files = answer["details"]["files"].as_array().expect("files");
        assert!(files.len() <= 4);
        counted.extend(
            files
                .iter()
                .map(|file| (file["path"].clone(), file["matches"].clone())),
        );
    }
    let expected: BTreeSet<String> = expected
        .iter()
        .map(|(path, lines)| json!([path, lines.len()]).to_string())
        .collect();
    assert_eq!(counted.len(), expected.len());
    for (path, count) in counted {
        assert!(
            expected.contains(&json!([path, count]).to_string()),
            "{path}"
        );
    }
}

#[test]
fn files_come_in_the_order_of_path() {
    let (tree, _) = wide();
    let daemon = Daemon::start(tree.path());
    let answer = search(
        &daemon,
        json!({ "pattern": "needle|hay" , "budget": { "lines": 10_000 } }),
    );
    let files = answer["details"]["files"].as_array().expect("files");
    let paths: Vec<&std::path::Path> = files
        .iter()
        .map(|file| std::path::Path::new(file["path"].as_str().expect("a path")))
        .collect();
    assert!(paths.is_sorted(), "{paths:?}");
    assert_eq!(paths.len(), 70);
}

#[test]
fn the_footer_says_how_to_go_on_and_no_more_than_is_known() {
    let text_of = |count: usize| "needle\n".repeat(count);
    let tree = Tree::new()
        .file("a.txt", text_of(200))
        .file("b.txt", text_of(2));
    let daemon = Daemon::start(tree.path());
    let answer = search(&daemon, json!({ "pattern": "needle" }));
    let tag = answer["details"]["files"][0]["hashline"]["tag"]
        .as_str()
        .expect("a tag");
    let after = format!("a.txt#{tag}:200");
    assert_eq!(
        text(&answer).lines().last(),
        Some(&*format!("[200+ matches in 1 file. Use after: {after}]"))
    );
    assert_eq!(answer["details"]["after"], after);
    let rest = search(&daemon, json!({ "pattern": "needle", "after": after }));
    assert_eq!(text(&rest).lines().last(), Some("[2 matches in 1 file]"));
    // Exactly as many as there is room for are all.
    let one = search(&daemon, json!({ "pattern": "needle", "path": "a.txt" }));
    assert_eq!(one["details"]["complete"], true);
}

#[test]
fn a_match_of_many_lines_is_given_in_parts() {
    let body: String = (1..=900).map(|at| format!("  {at}\n")).collect();
    let tree = Tree::new()
        .file("a.txt", format!("begin\n{body}end\nx\nbegin\nend\n"))
        .file("b.txt", "begin\nend\n");
    let daemon = Daemon::start(tree.path());
    let params = json!({ "pattern": "(?s)begin.*?end", "multiline": true });
    let answers = all_answers(&daemon, &params);
    let matches: u64 = answers
        .iter()
        .map(|it| it["details"]["matches"].as_u64().expect("one"))
        .sum();
    assert_eq!((matches, answers.len()), (3, 5));
    let all = all_lines(&daemon, &params);
    assert_eq!(all["a.txt"], [(1, 902), (904, 905)]);
    assert_eq!(all["b.txt"], [(1, 2)]);
}

#[test]
fn a_file_that_has_changed_meanwhile_is_said_to_have() {
    let tree = Tree::new().file("a.txt", "needle 1\nneedle 2\nneedle 3\n");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let params = json!({ "pattern": "needle", "budget": { "lines": 1 } });
    let first = search(&daemon, params.clone());
    let old = first["details"]["files"][0]["hashline"]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    tree.write("a.txt", "new\nneedle 2\nneedle 3\n");
    let mut params = params;
    params["after"] = first["details"]["after"].clone();
    let next = search(&daemon, params.clone());
    let tag = next["details"]["files"][0]["hashline"]["tag"]
        .as_str()
        .expect("a tag")
        .to_owned();
    let moved =
        format!("a.txt has changed since #{old}: it is #{tag} now, and goes on behind line 1");
    assert!(text(&next).starts_with(&format!("[{moved}]\n¶a.txt#{tag}\n2:needle 2\n")));
    assert_eq!(next["details"]["notices"], json!([moved]));
    // Of a file that is gone it goes on behind where it would be.
    std::fs::remove_file(tree.join("a.txt")).expect("removed");
    tree.write("b.txt", "needle\n");
    assert_eq!(
        lines(&search(&daemon, params))
            .keys()
            .next()
            .map(String::as_str),
        Some("b.txt")
    );
}

/// The files in which something was found.
fn order(answer: &Value) -> Vec<String> {
    let files = answer["details"]["files"].as_array().expect("files");
    let path = |file: &Value| file["path"].as_str().expect("a path").to_owned();
    files.iter().map(path).collect()
}

#[test]
fn several_folders_are_searched_in_their_order() {
    let tree = Tree::new()
        .file("two/a.txt", "needle\n")
        .file("one/a.txt", "needle\nneedle\n")
        .file("one/sub/b.txt", "needle\n")
        .file("three/a.rs", "needle\n");
    let daemon = Daemon::builder()
        .root(tree.join("two"))
        .root(tree.join("one"))
        .root(tree.join("three"))
        .start();
    let all = search(&daemon, json!({ "pattern": "needle" }));
    assert_eq!(
        order(&all),
        ["a.txt", "one/a.txt", "one/sub/b.txt", "three/a.rs"]
    );
    let params = json!({ "pattern": "needle", "budget": { "lines": 1 } });
    let parts: Vec<String> = all_answers(&daemon, &params)
        .iter()
        .flat_map(order)
        .collect();
    assert_eq!(
        parts,
        [
            "a.txt",
            "one/a.txt",
            "one/a.txt",
            "one/sub/b.txt",
            "three/a.rs"
        ]
    );
    let globbed = search(
        &daemon,
        json!({ "pattern": "needle", "glob": ["sub/*", "*.rs"] }),
    );
    assert_eq!(order(&globbed), ["one/sub/b.txt", "three/a.rs"]);
}

#[test]
fn a_glob_begins_in_the_workspace_folder_or_in_the_folder_that_is_searched() {
    let tree = Tree::new()
        .file("src/a.rs", "needle\n")
        .file("app [1]/lib/b.js", "needle\n")
        .file("app [1]/src/c.ts", "needle\n")
        .file("app [1]/src/d/e.ts", "needle\n")
        .file("app [1]/top.ts", "needle\n");
    let daemon = Daemon::start(tree.path());
    let found = |globs: Value| {
        let params = json!({ "pattern": "needle", "path": "app [1]", "glob": globs });
        order(&search(&daemon, params))
            .iter()
            .map(|path| path.trim_start_matches("app [1]/").to_owned())
            .collect::<Vec<_>>()
    };
    let without_lib = ["src/c.ts", "src/d/e.ts", "top.ts"];
    for glob in ["!lib/**", "!/lib", "!app \\[1\\]/lib/**", "!lib", "*.ts"] {
        assert_eq!(found(json!(glob)), without_lib, "{glob}");
    }
    for glob in [
        "src/**/*.ts",
        "./src/**",
        "app*/src/**",
        "{src/**/*.ts,*.md}",
    ] {
        assert_eq!(found(json!(glob)), ["src/c.ts", "src/d/e.ts"], "{glob}");
    }
    assert_eq!(
        found(json!(["src/*", "!d"])),
        ["src/c.ts", "src/d/e.ts"][..1]
    );
    let none = search(
        &daemon,
        json!({ "pattern": "needle", "path": "app [1]", "glob": "d/*.py" }),
    );
    assert_eq!(text(&none), "[No file here is one that 'glob' names]");
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    let tree = Tree::new().file("a.txt", "x\n").file("sub/b.txt", "x\n");
    let daemon = Daemon::start(tree.path());
    let refused = |params: Value| {
        let error = daemon.call("agent/search", params).expect_err("a refusal");
        assert_eq!((error.code, error.kind()), (-32602, "badParams"));
        (
            error.data["key"].as_str().expect("a key").to_owned(),
            error.message,
        )
    };
    for (params, key, words) in [
        (json!({}), "pattern", "missing"),
        (json!({ "pattern": "" }), "pattern", "empty"),
        (
            json!({ "pattern": "foo(bar" }),
            "pattern",
            "at character 4: unclosed group",
        ),
        (json!({ "pattern": r"a\nb" }), "pattern", "multiline: true"),
        (
            json!({ "pattern": "x", "glob": "a{b" }),
            "glob",
            "cannot be meant",
        ),
        (
            json!({ "pattern": "x", "glob": 7 }),
            "glob",
            "a string or a list",
        ),
        (
            json!({ "pattern": "x", "context": -1 }),
            "context",
            "must be >= 0",
        ),
        (
            json!({ "pattern": "x", "path": "" }),
            "path",
            "must be a path",
        ),
        (json!({ "pattern": "x", "after": "" }), "after", "copied"),
        (
            json!({ "pattern": "x", "path": "sub", "after": "a.txt#0A1B:1" }),
            "after",
            "not in what is searched",
        ),
        (
            json!({ "pattern": "x", "path": "sub/b.txt", "after": "a.txt:1" }),
            "after",
            "not in what is searched",
        ),
    ] {
        let (named, message) = refused(params.clone());
        assert_eq!(named, key, "{params}");
        assert!(message.contains(words), "{params}: {message}");
    }
    // Unknown parameters and nulls are fine.
    search(
        &daemon,
        json!({ "pattern": "x", "glob": null, "after": null, "colour": "red", "context": "2" }),
    );
}
