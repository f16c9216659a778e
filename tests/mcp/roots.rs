//! Which folders are the workspace: those of `--root`, else the client's roots, else its own directory.

use serde_json::{Value, json};

use crate::tree::Tree;
use crate::web::server::{Reply, Server};

use super::{McpProcess, text};

fn uri(tree: &Tree) -> String {
    format!("file://{}", tree.spelled(""))
}

fn with_roots() -> Value {
    json!({ "roots": { "listChanged": true } })
}

fn name_roots(server: &McpProcess, roots: Value) {
    let asked = server.asked("roots/list");
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } });
    server.send(&answer);
}

#[test]
fn the_first_call_waits_for_the_clients_roots() {
    let here = Tree::new().file("here.txt", "here\n");
    let there = Tree::new().file("there.txt", "there\n");
    let server = McpProcess::in_directory(here.path()).spawn();
    server.initialize("2025-06-18", with_roots());
    let early = [
        server.begin_call("write", json!({ "path": "new.txt", "text": "new\n" })),
        server.begin_call("read", json!({ "path": "new.txt" })),
    ];
    name_roots(
        &server,
        json!([
            { "uri": uri(&there) },
            { "uri": "https://example.com/" },
            { "uri": "file:///no/such/folder" },
        ]),
    );
    assert_eq!(server.result(early[0])["isError"], false);
    assert!(text(&server.result(early[1])).ends_with("\n1:new"));
    assert!(there.join("new.txt").exists() && !here.join("new.txt").exists());
    server.text("read", json!({ "path": "there.txt" }));
    server.error("read", json!({ "path": "here.txt" }));
    // They change while it runs.
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    let next = server.begin_call("read", json!({ "path": "here.txt" }));
    name_roots(&server, json!([{ "uri": uri(&here) }]));
    assert_eq!(server.result(next)["isError"], false);
}

#[test]
fn a_client_that_names_none_has_the_directory_of_the_process() {
    let here = Tree::new().file("here.txt", "here\n");
    for answer in [
        json!({ "result": { "roots": [] } }),
        json!({ "error": { "code": -32601, "message": "no" } }),
    ] {
        let server = McpProcess::in_directory(here.path()).spawn();
        server.initialize("2025-06-18", with_roots());
        let asked = server.asked("roots/list");
        let mut answer = answer.clone();
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = asked["id"].clone();
        server.send(&answer);
        server.text("read", json!({ "path": "here.txt" }));
    }
    // One that is silent holds its first call up for a moment.
    let server = McpProcess::in_directory(here.path()).spawn();
    server.initialize("2025-06-18", with_roots());
    server.text("read", json!({ "path": "here.txt" }));
    server.asked("roots/list");
    // The request is called off by the library where it is not answered.
    server.drop_messages();
}

#[test]
fn what_the_user_named_is_not_replaced() {
    let here = Tree::new().file("here.txt", "here\n");
    let there = Tree::new().file("there.txt", "there\n");
    let server = McpProcess::in_directory(here.path())
        .arg("--root")
        .arg(there.spelled(""))
        .spawn();
    server.initialize("2025-06-18", with_roots());
    server.text("read", json!({ "path": "there.txt" }));
    server.error("read", json!({ "path": "here.txt" }));
    assert!(!server.has(|message| message["method"] == "roots/list"));
}

#[test]
fn a_home_directory_is_no_workspace() {
    let home = Tree::new()
        .file("secret.txt", "secret\n")
        .file("work/a.txt", "one\n");
    let start = |directory: &std::path::Path| {
        McpProcess::in_directory(directory)
            .env("HOME", &home.spelled(""))
            .start()
    };
    let server = start(home.path());
    for (tool, arguments) in [
        ("read", json!({ "path": "secret.txt" })),
        ("read", json!({ "path": home.spelled("secret.txt") })),
        ("edit", json!({ "patch": "¶secret.txt#AAAA\ndelete 1\n" })),
        ("write", json!({ "path": "new.txt", "text": "x\n" })),
        (
            "read_many",
            json!({ "paths": ["secret.txt", "work/a.txt"] }),
        ),
    ] {
        let error = server.error(tool, arguments);
        assert!(error.contains("--root DIR"), "{tool}: {error}");
    }
    server.text("read", json!({ "path": "pilcrow://read" }));
    start(&home.join("work")).text("read", json!({ "path": "a.txt" }));
    let named = McpProcess::in_directory(home.path())
        .env("HOME", &home.spelled(""))
        .arg("--root=.")
        .start();
    named.text("read", json!({ "path": "secret.txt" }));
}

/// The root of the file system, and a folder above the home directory.
#[test]
fn a_folder_that_is_too_wide_is_no_workspace() {
    let above = Tree::new()
        .file("a.txt", "one\n")
        .file("home/me/b.txt", "b\n");
    let start = |directory: &std::path::Path| {
        McpProcess::in_directory(directory)
            .env("HOME", &above.spelled("home/me"))
            .start()
    };
    for server in [start("/".as_ref()), start(above.path())] {
        for path in [above.spelled("a.txt"), "a.txt".to_owned()] {
            let error = server.error("read", json!({ "path": path }));
            assert!(error.contains("--root DIR"), "{error}");
        }
    }
    // Of the roots that a client names such a one is left out, too.
    let server = McpProcess::in_directory(above.path())
        .env("HOME", &above.spelled("home/me"))
        .spawn();
    let project = Tree::new().file("p.txt", "p\n");
    server.initialize("2025-06-18", with_roots());
    name_roots(
        &server,
        json!([{ "uri": "file:///" }, { "uri": uri(&above) }, { "uri": uri(&project) }]),
    );
    server.text("read", json!({ "path": "p.txt" }));
    server.error("read", json!({ "path": above.spelled("a.txt") }));
}

#[test]
fn web_addresses_need_no_workspace() {
    let home = Tree::new();
    let page = |_: &_| Reply::text("a page\n");
    let web = Server::new().route("/page", page).start();
    let server = McpProcess::in_directory(home.path())
        .env("HOME", &home.spelled(""))
        .arg("--set")
        .arg("web.enabled=true")
        .start();
    let page = server.text("read", json!({ "path": web.url("/page") }));
    assert!(page.ends_with("a page"), "{page}");
}
