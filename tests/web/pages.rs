//! The pages of `fixtures/web` as a server gives them, against their goldens: through the fetch, a confined converter and the window.

use std::path::Path;

use serde_json::json;

use super::server::{Reply, Server};
use crate::client::Daemon;
use crate::tree::Tree;

/// Pages whose text their scripts would write.
const SHELLS: &[&str] = &["challenge", "shell-app", "shell-frame", "shell-sentence"];

/// The address for which the goldens were written.
const WRITTEN_FOR: &str = "https://site.example";

#[test]
fn every_page_is_its_golden() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/web");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the fixtures")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".html").map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names.len(), 24);
    let pages = folder.clone();
    let server = Server::new()
        .otherwise(move |asked| {
            let name = asked.path.trim_start_matches("/a/");
            match std::fs::read(pages.join(format!("{name}.html"))) {
                // What says its encoding by itself has no header for it.
                Ok(page) => Reply::new("text/html", page),
                Err(_) => Reply::text("nothing here\n").status(404),
            }
        })
        .start();
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for name in names {
        let url = server.url(&format!("/a/{name}"));
        let params = json!({ "path": format!("{url}:full"), "dialect": "plain" });
        let result = daemon.read_with(params).expect(&name);
        let method = result["details"]["method"].as_str().expect("a method");
        assert_eq!(
            method == "shell",
            SHELLS.contains(&name.as_str()),
            "{name}: {method}"
        );
        let text = result["content"][0]["text"].as_str().expect("a text");
        let text = text.replace(&server.url(""), WRITTEN_FOR);
        let golden = std::fs::read_to_string(folder.join(format!("{name}.md"))).expect("a golden");
        // An empty text is a note.
        if !golden.trim().is_empty() {
            assert_eq!(text.trim_end(), golden.trim_end(), "{name}");
        }
    }
}

/// 50 MB of HTML, and pages that are made to break a parser: each has an answer, and costs the daemon
/// neither its life nor its memory.
#[test]
fn hostile_html_is_answered() {
    const MIB: u64 = 1024 * 1024;
    let is_long = std::env::var_os("PILCROW_LONG").is_some();
    let size = if is_long { 50 } else { 10 } * MIB as usize;
    let paragraph =
        "<p>A harbour has berths, and each ship one of them until the tide is out.</p>\n";
    let huge = paragraph.repeat(size / paragraph.len());
    let nested = format!("{}deep{}", "<div>".repeat(10_000), "</div>".repeat(10_000));
    let inline = format!("<p>{}deep", "<b>".repeat(100_000));
    let attributes: String = (0..100_000).map(|n| format!(" a{n}=1")).collect();
    let attributes = format!("<p{attributes}>many</p>");
    let server = Server::new()
        .route("/huge", move |_| Reply::html(huge.clone()))
        .route("/nested", move |_| Reply::html(nested.clone()))
        .route("/inline", move |_| Reply::html(inline.clone()))
        .route("/attributes", move |_| Reply::html(attributes.clone()))
        .start();
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let (pid, before) = (daemon.pid(), daemon.peak_bytes());
    for (path, words) in [
        ("/nested", "deep"),
        ("/inline", "deep"),
        ("/attributes", "many"),
        ("/huge", "berths"),
    ] {
        // What takes too long on a slow machine says so.
        match daemon.read(server.url(path)) {
            Ok(result) => {
                let text = result["content"][0]["text"].as_str().expect("a text");
                let is_converted = result["details"]["method"] != "raw-html";
                assert!(text.contains(words) || !is_converted, "{path}: {text:.300}");
                let note = "Notes: the first 8.0MB of";
                assert!(
                    path != "/huge" || !is_converted || text.contains(note),
                    "{text:.300}"
                );
            }
            Err(error) => assert!(
                matches!(error.kind(), "timeout" | "io"),
                "{path}: {error:?}"
            ),
        }
    }
    assert_eq!(daemon.pid(), pid);
    let grown = daemon.peak_bytes().saturating_sub(before);
    assert!(grown < 150 * MIB, "{} MiB more", grown / MIB);
    daemon.read("").expect_err("it still answers");
}
