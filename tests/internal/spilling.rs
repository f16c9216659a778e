//! What is to be had again only from its server, and is cut, becomes an artifact as a whole.

use serde_json::{Value, json};

use super::{numbered, text};
use crate::client::Daemon;
use crate::tree::{Tree, numbered_lines};
use crate::web::server::{Reply, Server};

fn artifacts(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["artifacts"]["count"].clone()
}

#[test]
fn a_page_that_is_cut_is_there_as_a_whole() {
    let tree = Tree::new();
    let lines = numbered_lines(1, 5000);
    let body = lines.clone();
    let server = Server::new()
        .route("/long", move |_| Reply::text(body.clone()))
        .route("/short", |_| Reply::text("one\ntwo\n"))
        .start();
    let daemon = Daemon::start(tree.path());
    let url = server.url("/long");
    let read = daemon.read(&url).expect("a page");
    let shown = text(&read);
    assert!(
        shown.contains("[Whole text: artifact://1]"),
        "{}",
        &shown[shown.len() - 300..]
    );
    assert_eq!(read["details"]["truncation"]["artifactId"], "1");
    assert_eq!(
        daemon.read_text("artifact://1:4999-"),
        "4999:line 4999\n5000:line 5000"
    );
    let raw = daemon.read_with(json!({ "path": "artifact://1", "selector": "raw", "budget": { "lines": 20_000, "bytes": 1_000_000 } }));
    assert_eq!(text(&raw.expect("all of it")), lines);
    // One for each text, whoever reads it again and however much of it.
    let again = daemon
        .read_with(json!({ "path": url, "budget": { "lines": 7 } }))
        .expect("a page");
    assert_eq!(again["details"]["truncation"]["artifactId"], "1");
    assert_eq!(artifacts(&daemon), 1);
    // What is whole, and what names its lines, is not.
    let short = daemon.read(server.url("/short")).expect("a page");
    assert!(
        text(&short).ends_with(&numbered("one\ntwo\n").join("\n")),
        "{}",
        text(&short)
    );
    let some = daemon.read(format!("{url}:100-")).expect("lines");
    assert!(!text(&some).contains("Whole text"));
    assert!(some["details"]["truncation"]["artifactId"].is_null());
    assert_eq!(artifacts(&daemon), 1);
    // Another session has one of its own.
    let other = daemon
        .read_with(json!({ "session": "B", "path": url }))
        .expect("a page");
    assert_eq!(other["details"]["truncation"]["artifactId"], "1");
    assert_eq!(artifacts(&daemon), 2);
    let title = daemon.read_text("artifact://");
    assert!(title.contains(&url), "{title}");
}

#[test]
fn what_is_read_again_from_its_place_is_not() {
    let tree = Tree::new().file("long.txt", numbered_lines(1, 5000));
    let daemon = Daemon::start(tree.path());
    let read = daemon.read("long.txt").expect("a file");
    assert!(read["details"]["truncation"]["artifactId"].is_null());
    assert_eq!(artifacts(&daemon), 0);
}

#[test]
fn spilled_texts_go_first_and_a_full_store_costs_the_footer_alone() {
    let tree = Tree::new();
    let body = numbered_lines(1, 5000);
    let length = body.len() as u64;
    let server = Server::new()
        .route("/long", move |_| Reply::text(body.clone()))
        .start();
    let settings =
        json!({ "artifacts": { "sessionBytes": length + 1000, "maxBytes": length + 500 } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    super::put(&daemon, json!({ "text": "x".repeat(400) }));
    daemon.read(server.url("/long")).expect("a page");
    assert_eq!(artifacts(&daemon), 2);
    let put = super::put(&daemon, json!({ "text": "y".repeat(900) }));
    assert_eq!(put["dropped"], json!(["artifact://2"]));
    let gone = daemon.read("artifact://2").expect_err("dropped");
    assert!(
        gone.message.contains("was dropped to make room"),
        "{}",
        gone.message
    );
    // It gets another number when it is read again; what was put goes for it only if it must.
    let again = daemon.read(server.url("/long")).expect("a page");
    assert_eq!(again["details"]["truncation"]["artifactId"], "4");
    let small = json!({ "artifacts": { "maxBytes": 100 } });
    let daemon = Daemon::builder().root(tree.path()).settings(small).start();
    let read = daemon.read(server.url("/long")).expect("a page");
    assert!(!text(&read).contains("Whole text"));
    assert_eq!(artifacts(&daemon), 0);
}

#[test]
fn each_dialect_says_so() {
    let tree = Tree::new();
    let body = numbered_lines(1, 9000);
    let server = Server::new()
        .route("/long", move |_| Reply::text(body.clone()))
        .start();
    let daemon = Daemon::start(tree.path());
    for (dialect, parameter) in [
        ("hashline", "path"),
        ("numbered", "path"),
        ("plain", "path"),
        ("opencode", "filePath"),
        ("pikuri", "path"),
        ("llm-gateway", "filePath"),
        ("roo", "path"),
    ] {
        let params = json!({ "dialect": dialect, parameter: server.url("/long") });
        let read = daemon.read_with(params).expect(dialect);
        let blocks = read["content"].as_array().expect("blocks");
        let all: String = blocks.iter().filter_map(|it| it["text"].as_str()).collect();
        assert!(
            all.contains("Whole text: artifact://1"),
            "{dialect}: {}",
            &all[all.len().saturating_sub(400)..]
        );
        assert_eq!(
            read["details"]["truncation"]["artifactId"], "1",
            "{dialect}"
        );
    }
    assert_eq!(artifacts(&daemon), 1);
}

/// A daemon whose client has one long text.
fn of_client(tree: &Tree, settings: Value) -> Daemon {
    super::clients::offering(json!(["jira"]), tree, settings)
}

fn read_of_client(daemon: &Daemon, params: Value, answer: &str) -> Value {
    let (read, _) =
        super::clients::read_by(daemon, params, |uri| super::clients::contents(uri, answer));
    read.expect("a text")
}

#[test]
fn the_clients_and_servers_texts_are_there_as_a_whole() {
    let tree = Tree::new();
    let daemon = of_client(&tree, json!({}));
    let lines = numbered_lines(1, 5000);
    let read = read_of_client(&daemon, json!({ "path": "jira://A" }), &lines);
    // How to go on is the last line, as the tool's description promises.
    let ends = "[Whole text: artifact://1]\n[Showing lines 1-3000 of 5000. Use :3001- to continue]";
    assert!(
        text(&read).ends_with(ends),
        "{}",
        &text(&read)[text(&read).len() - 200..]
    );
    assert_eq!(read["details"]["truncation"]["artifactId"], "1");
    let whole =
        json!({ "path": "artifact://1:raw", "budget": { "lines": 20_000, "bytes": 1_000_000 } });
    assert_eq!(text(&daemon.read_with(whole).expect("all of it")), lines);
    // Who reads on is not given another, and neither is who names lines.
    for path in ["jira://A:3001-", "jira://A:1-4000"] {
        let more = read_of_client(&daemon, json!({ "path": path }), &lines);
        assert!(
            more["details"]["truncation"]["artifactId"].is_null(),
            "{path}"
        );
        assert!(!text(&more).contains("Whole text"), "{path}");
    }
    assert_eq!(artifacts(&daemon), 1);
    // One for each text: what is the same is there, what is another is put there, too.
    read_of_client(&daemon, json!({ "path": "jira://B" }), &lines);
    assert_eq!(artifacts(&daemon), 1);
    let other = numbered_lines(2, 5001);
    let read = read_of_client(&daemon, json!({ "path": "jira://A" }), &other);
    assert_eq!(read["details"]["truncation"]["artifactId"], "2");
    assert_eq!(
        daemon.read_text("artifact://2:1-1"),
        "1:line 2\n\n[1-1 of 5000]"
    );
}

#[test]
fn a_store_that_cannot_be_written_costs_the_footer_alone() {
    let (tree, state, elsewhere) = (Tree::new(), Tree::new(), Tree::new());
    std::fs::create_dir_all(state.join("pilcrow")).expect("a folder");
    let sessions = state.join("pilcrow/sessions");
    std::os::unix::fs::symlink(elsewhere.path(), sessions).expect("a link");
    let offered = json!({ "resources": { "schemes": ["jira"] } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .env("XDG_STATE_HOME", &state.spelled(""))
        .capabilities(json!({ "experimental": { "pilcrow": offered } }))
        .start();
    let lines = numbered_lines(1, 5000);
    let read = read_of_client(&daemon, json!({ "path": "jira://A" }), &lines);
    assert!(text(&read).starts_with("1:line 1\n"));
    assert!(!text(&read).contains("Whole text"));
    assert_eq!(read["details"]["truncation"]["nextSelector"], "3001-");
    let entries = std::fs::read_dir(elsewhere.path()).expect("a folder");
    assert_eq!(entries.count(), 0);
}

#[test]
fn what_has_a_place_is_never_spilled_whatever_it_is() {
    let bytes = |name: &str| std::fs::read(super::fixture(name)).expect(name);
    let mut tree = Tree::new()
        .file("harbour.zip", bytes("archive/harbour.zip"))
        .file("museum.db", bytes("sqlite/museum.db"))
        .file("columns.pdf", bytes("document/columns.pdf"))
        .file("long.zip.txt", numbered_lines(1, 9000));
    for n in 0..200 {
        tree = tree.file(&format!("folder/{n}.txt"), "");
    }
    let skill =
        "---\nname: long\ndescription: Long.\n---\n".to_owned() + &numbered_lines(1, 30_000);
    let tree = tree.file(".agents/skills/long/SKILL.md", skill);
    let daemon = Daemon::start(tree.path());
    super::put(&daemon, json!({ "text": numbered_lines(1, 9000) }));
    let write = json!({ "path": "local://long.txt", "text": numbered_lines(1, 9000) });
    daemon.call("agent/write", write).expect("made");
    for path in [
        "harbour.zip",
        "museum.db:users",
        "columns.pdf",
        "long.zip.txt",
        "folder",
        "skill://long",
        "artifact://1",
        "local://long.txt",
        "pilcrow://internal",
    ] {
        let params = json!({ "path": path, "budget": { "lines": 2 } });
        let read = daemon.read_with(params).expect(path);
        let truncation = &read["details"]["truncation"];
        assert!(truncation.is_object(), "{path}: {}", text(&read));
        assert!(truncation["artifactId"].is_null(), "{path}: {truncation}");
        assert!(!read.to_string().contains("Whole text"), "{path}");
    }
    assert_eq!(artifacts(&daemon), 1);
}
