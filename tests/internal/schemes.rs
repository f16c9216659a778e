//! What holds for every scheme alike: how it is written, that no folder shadows it and none is made of it, what its queries are, what its list tells.

use std::process::Command;

use serde_json::{Value, json};

use crate::client::{Daemon, WireError, before_footer};
use crate::tree::Tree;

use super::clients::{contents, offering, read_by};
use super::folders::Folders;
use super::{put, text};

/// A scheme of ours, and something that it has.
const ADDRESSES: [(&str, &str); 7] = [
    ("artifact", "1"),
    ("agent", "reviewer"),
    ("local", "notes.md"),
    ("pilcrow", "read"),
    ("skill", "s"),
    ("rule", "style"),
    ("memory", "notes"),
];

fn folders() -> Folders {
    Folders::new()
        .skill("home/.agents/skills/s", "What it is for")
        .file("home/.agents/rules/style.md", "The style.\n")
        .file("home/notes/README.md", "Notes.\n")
}

fn start(folders: &Folders) -> Daemon {
    let notes = json!({ "scheme": "memory", "name": "notes", "path": "~/notes" });
    let daemon = folders
        .builder()
        .settings(json!({ "internal": { "roots": [notes] } }))
        .start();
    put(&daemon, json!({ "text": "kept\n" }));
    put(
        &daemon,
        json!({ "text": "kept\n", "uri": "agent://reviewer" }),
    );
    let write = json!({ "path": "local://notes.md", "text": "kept\n" });
    daemon.call("agent/write", write).expect("made");
    daemon
}

/// The rows alone.
fn rows(result: &Value) -> &str {
    before_footer(text(result))
}

#[test]
fn its_case_does_not_matter_and_no_folder_shadows_it() {
    let mut folders = folders();
    for (scheme, name) in ADDRESSES {
        folders = folders.file(&format!("ws/{scheme}:/{name}"), "a file of the workspace\n");
    }
    let daemon = start(&folders);
    for (scheme, name) in ADDRESSES {
        let plain = daemon.read(format!("{scheme}://{name}")).expect(scheme);
        let shown = text(&plain);
        assert!(
            !shown.contains("a file of the workspace"),
            "{scheme}: {shown}"
        );
        let capital = format!("{}{}", scheme[..1].to_uppercase(), &scheme[1..]);
        for written in [capital, scheme.to_uppercase()] {
            let same = daemon.read(format!("{written}://{name}")).expect(scheme);
            assert_eq!(same["content"], plain["content"], "{written}");
            assert_eq!(
                same["details"]["meta"], plain["details"]["meta"],
                "{written}"
            );
        }
        let literal = daemon.read(format!("./{scheme}:/{name}")).expect(scheme);
        assert!(
            text(&literal).ends_with("\n1:a file of the workspace"),
            "{scheme}"
        );
        // A selector apart leaves the address as it is.
        let apart = json!({ "path": format!("{scheme}://{name}"), "selector": "1" });
        let apart = daemon.read_with(apart).expect(scheme);
        let line = daemon.read(format!("{scheme}://{name}:1")).expect(scheme);
        assert_eq!(rows(&apart), rows(&line), "{scheme}");
        let literal = json!({ "path": format!("{scheme}://{name}:1"), "selector": "1" });
        let error = daemon.read_with(literal).expect_err(scheme);
        assert_eq!(error.kind(), "notFound", "{scheme}");
    }
}

#[test]
fn names_are_decoded_once_and_selectors_are_never_guessed() {
    let folders = folders();
    let daemon = start(&folders);
    for (scheme, name) in ADDRESSES {
        let escaped = format!("%{:02x}{}", name.as_bytes()[0], &name[1..]);
        let same = daemon.read(format!("{scheme}://{escaped}")).expect(scheme);
        let plain = daemon.read(format!("{scheme}://{name}")).expect(scheme);
        assert_eq!(same["content"], plain["content"], "{scheme}");
        assert_eq!(
            same["details"]["meta"], plain["details"]["meta"],
            "{scheme}"
        );
        let twice = format!("{scheme}://{}", escaped.replace('%', "%25"));
        let error = daemon.read(&twice).expect_err(scheme);
        assert_eq!(error.kind(), "notFound", "{scheme}");
        for tail in ["0", "9-5", "line5", "p3"] {
            let error = daemon.read(format!("{scheme}://{name}:{tail}"));
            let error = error.expect_err(scheme);
            assert_eq!(
                error.kind(),
                "badSelector",
                "{scheme}: {tail}: {}",
                error.message
            );
        }
    }
}

#[test]
fn a_query_has_the_parameters_of_its_scheme_alone() {
    let folders = folders();
    let daemon = start(&folders);
    for (scheme, name) in ADDRESSES {
        let error = daemon.read(format!("{scheme}://{name}?colour=red"));
        let error = error.expect_err(scheme);
        assert_eq!(error.kind(), "badParams", "{scheme}: {}", error.message);
        let list = match scheme {
            "agent" => "?q=",
            "rule" => "?for=",
            _ => "takes no parameters",
        };
        assert!(error.message.contains(list), "{scheme}: {}", error.message);
    }
}

#[test]
fn a_list_has_resources_with_who_provides_them() {
    let folders = folders();
    let daemon = start(&folders);
    for (scheme, name) in ADDRESSES {
        let list = daemon.read(format!("{scheme}://")).expect(scheme);
        let details = &list["details"];
        assert_eq!(details["meta"]["source"], format!("{scheme}://"));
        if scheme == "local" {
            assert_eq!(details["kind"], "directory");
            continue;
        }
        assert_eq!(details["kind"], "internal", "{scheme}");
        let resources = details["resources"].as_array().expect(scheme);
        let uri = format!("{scheme}://{name}");
        let own = resources.iter().find(|it| it["uri"] == uri).expect(scheme);
        let (provider, has_path) = match scheme {
            "artifact" | "agent" => ("session", true),
            "pilcrow" => ("daemon", false),
            "memory" => ("settings", true),
            _ => ("user", true),
        };
        assert_eq!(own["provider"], provider, "{scheme}");
        assert_eq!(own["name"], name, "{scheme}");
        let path = own["path"].as_str();
        assert_eq!(path.is_some(), has_path, "{scheme}: {own}");
        assert!(
            path.is_none_or(|path| std::path::Path::new(path).exists()),
            "{own}"
        );
        let read = daemon.read(&uri).expect(scheme);
        assert_eq!(read["details"]["provider"], provider, "{scheme}");
        assert_eq!(
            read["details"]["resolvedPath"].is_string(),
            has_path,
            "{scheme}"
        );
    }
}

#[test]
fn nothing_becomes_a_folder_of_the_workspace() {
    let folders = folders();
    let daemon = start(&folders);
    let edit = |path: &str| {
        let patch = format!("¶{path}#1234\ndelete 1\n");
        daemon.call("agent/edit", json!({ "patch": patch }))
    };
    let write = |path: &str| daemon.call("agent/write", json!({ "path": path, "text": "x\n" }));
    let others = [
        ("jira", "A"),
        ("mcp", "s/demo://a"),
        ("ftp", "host/a"),
        ("pr", "7"),
    ];
    for (scheme, name) in ADDRESSES.into_iter().chain(others) {
        for path in [
            format!("{scheme}://{name}"),
            format!("{scheme}://new/file.md"),
            format!("{}://{name}", scheme.to_uppercase()),
        ] {
            // That one is made to be written.
            if scheme != "local" {
                let error: WireError = write(&path).expect_err(&path);
                assert_eq!(error.kind(), "unsupported", "{path}: {}", error.message);
                assert!(edit(&path).is_err(), "{path}");
            }
        }
    }
    for path in ["local://", "local:///x", "local://../x"] {
        assert!(write(path).is_err(), "{path}");
    }
    let left = std::fs::read_dir(folders.tree.join("ws")).expect("the root");
    assert_eq!(left.count(), 0);
}

#[test]
fn the_command_line_has_all_but_the_sessions_and_the_clients() {
    let folders = folders();
    for (scheme, name) in ADDRESSES {
        let notes = json!([{ "scheme": "memory", "name": "notes", "path": "~/notes" }]);
        let output = Command::new(env!("CARGO_BIN_EXE_pilcrow"))
            .current_dir(folders.tree.join("ws"))
            .env("HOME", folders.tree.join("home"))
            .env("CLAUDE_CONFIG_DIR", "")
            .args(["read", "--set", &format!("internal.roots={notes}")])
            .arg(format!("{scheme}://{name}"))
            .output()
            .expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        let is_of_session = ["artifact", "agent", "local"].contains(&scheme);
        assert_eq!(output.status.success(), !is_of_session, "{scheme}: {said}");
        match is_of_session {
            true => assert!(said.contains("of a session"), "{scheme}: {said}"),
            false => assert!(printed.starts_with("1:"), "{scheme}: {printed}"),
        }
    }
}

#[test]
fn what_no_client_may_offer_stays_ours() {
    let tree = Tree::new().file("a.txt", "mine\n");
    let never = ["file", "http", "https", "artifact", "local"];
    let names: Vec<&str> = never.into_iter().chain(["skill", "x"]).collect();
    let daemon = offering(json!(names), &tree, json!({}));
    for name in never {
        let told = daemon.expect_notification("window/showMessage");
        let told = told["message"].as_str().expect("a message").to_owned();
        assert!(
            told.contains(&format!("'{name}' cannot be taken over")),
            "{told}"
        );
    }
    let told = daemon.expect_notification("window/showMessage");
    assert!(
        told["message"]
            .as_str()
            .is_some_and(|it| it.contains("'x' is no name"))
    );
    put(&daemon, json!({ "text": "ours\n" }));
    assert_eq!(daemon.read_text("artifact://1"), "1:ours");
    let uri = format!("file://{}", tree.spelled("a.txt"));
    assert!(daemon.read_text(uri).ends_with("\n1:mine"));
    // All others are asked of the client first.
    let params = json!({ "path": "skill://theirs" });
    let (theirs, asked) = read_by(&daemon, params, |uri| contents(uri, "theirs\n"));
    assert_eq!(
        (text(&theirs.expect("a text")), asked.len()),
        ("1:theirs", 1)
    );
    let methods = &daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"]["methods"];
    assert!(
        methods
            .as_array()
            .is_some_and(|it| it.contains(&json!("agent/putArtifact")))
    );
}
