//! What is read in the place of a page: its Markdown, its entry in a feed, a document, `llms.txt`; what is asked for that, and what never is.

use serde_json::Value;

use super::server::{Reply, Running, Server};
use crate::client::Daemon;
use crate::tree::Tree;

/// A page that is nothing without its scripts.
const SHELL: &str = r#"<!doctype html><html><head><title>App</title><script src="/app.js"></script></head>
<body><div id="root"></div><noscript>Please enable JavaScript.</noscript></body></html>"#;

fn prose(words: usize) -> String {
    (0..words).map(|n| format!("word{n} ")).collect()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

fn read(daemon: &Daemon, server: &Running, path: &str) -> Value {
    daemon.read(server.url(path)).expect(path)
}

fn paths(server: &Running) -> Vec<String> {
    server
        .requests()
        .into_iter()
        .map(|asked| asked.path)
        .collect()
}

#[test]
fn the_markdown_that_a_page_names_is_read_instead() {
    let tree = Tree::new();
    let html = |head: &str, words: usize| {
        format!(
            "<html><head><title>T</title>{head}</head><body><main><h1>T</h1><p>{}</p></main></body></html>",
            prose(words)
        )
    };
    let linked = html(
        r#"<link rel="alternate" type="text/markdown" href="/md/a.md">"#,
        200,
    );
    let other = html(
        r#"<link rel="alternate" type="text/markdown" href="/md/other.md">"#,
        200,
    );
    let by_header = html("", 200);
    let server = Server::new()
        .route("/a", move |_| Reply::html(linked.clone()))
        .route("/b", move |_| {
            Reply::html(by_header.clone()).header(
                "link",
                "<md/a.md>; rel=\"alternate\"; type=\"text/markdown\"",
            )
        })
        .route("/c", move |_| Reply::html(other.clone()))
        .route("/md/a.md", |_| {
            Reply::markdown(format!("# T\n\n{}\n", prose(150)))
        })
        .route("/md/other.md", |_| {
            Reply::markdown(format!("# All pages\n\n{}\n", "index ".repeat(100)))
        })
        .start();
    let daemon = Daemon::start(tree.path());
    for page in ["/a", "/b"] {
        let result = read(&daemon, &server, page);
        assert_eq!(
            result["details"]["method"], "alternate-markdown",
            "{result}"
        );
        assert_eq!(result["details"]["url"], server.url(page));
        let note = format!("Notes: Markdown alternate {}", server.url("/md/a.md"));
        assert!(text(&result).contains(&note), "{result}");
    }
    // Of another matter: the page stays, and it is not asked for again.
    for _ in 0..2 {
        let result = read(&daemon, &server, "/c");
        assert_eq!(result["details"]["method"], "reader", "{result}");
    }
    assert_eq!(server.count("/md/other.md"), 1);
}

#[test]
fn a_shell_is_guessed_for_and_told_to_be_one() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let server = Server::new()
        .route("/docs/app", |_| Reply::html(SHELL))
        .route("/docs/app.md", |_| {
            Reply::markdown(format!("# App\n\n{}\n", prose(60)))
        })
        .route("/docs/bare", |_| Reply::html(SHELL))
        .start();
    let result = read(&daemon, &server, "/docs/app");
    assert_eq!(result["details"]["method"], "md-suffix", "{result}");
    assert!(text(&result).contains("word59"), "{result}");
    // What was not there for the first one is not asked for again, but by another daemon.
    let daemon = Daemon::start(tree.path());
    let result = read(&daemon, &server, "/docs/bare");
    let details = &result["details"];
    assert_eq!(details["method"], "shell", "{result}");
    assert_eq!(details["needsJavaScript"], true);
    assert!(
        text(&result).contains("needs JavaScript: the page itself holds"),
        "{result}"
    );
    let mut asked = paths(&server).split_off(
        paths(&server)
            .iter()
            .position(|path| path == "/docs/bare")
            .expect("asked"),
    );
    asked.sort();
    assert_eq!(
        asked,
        ["/docs/bare", "/docs/bare.md", "/docs/llms.txt", "/llms.txt"]
    );
}

#[test]
fn the_sites_llms_txt_is_the_last_resort() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let server = Server::new()
        .route("/app/start", |_| Reply::html(SHELL))
        .route("/llms.txt", |_| {
            Reply::text(format!("# Site\n\n{}\n", prose(60)))
        })
        .otherwise(|_| Reply::html(SHELL))
        .start();
    let result = read(&daemon, &server, "/app/start");
    assert_eq!(result["details"]["method"], "llms.txt", "{result}");
    assert!(
        text(&result).contains("the page has no readable text; this is the site's llms.txt"),
        "{result}"
    );
}

#[test]
fn an_entry_of_a_feed_and_a_linked_document_stand_for_a_page() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let pdf = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/document/book.pdf"
    ))
    .expect("a fixture");
    let head = r#"<html><head><title>Post</title><script src="/x.js"></script><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head><body><div id="app"></div></body></html>"#;
    let feed = format!(
        "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Blog</title><item><title>Other</title><link>/other</link><description>no</description></item><item><title>Post</title><link>/post</link><description>&lt;p&gt;{}&lt;/p&gt;</description></item></channel></rss>",
        prose(50)
    );
    let scripts = "x();".repeat(4000);
    let paper = format!(
        "<html><head><title>P</title></head><body><main><p>Get <a href=\"/files/book.pdf\">the book (PDF)</a></p></main><script>{scripts}</script></body></html>"
    );
    let server = Server::new()
        .route("/post", move |_| Reply::html(head))
        .route("/feed.xml", move |_| {
            Reply::new("application/rss+xml", feed.clone())
        })
        .route("/paper", move |_| Reply::html(paper.clone()))
        .route("/files/book.pdf", move |_| {
            Reply::new("application/pdf", pdf.clone())
        })
        .start();
    let result = read(&daemon, &server, "/post");
    assert_eq!(result["details"]["method"], "alternate-feed", "{result}");
    assert!(text(&result).contains("word49"), "{result}");
    let result = read(&daemon, &server, "/paper");
    assert_eq!(
        result["details"]["method"], "extracted-document",
        "{result}"
    );
    assert!(text(&result).contains("--- Page 1 ---"), "{result}");
    let result = read(&daemon, &server, "/feed.xml");
    assert_eq!(result["details"]["method"], "feed", "{result}");
    assert!(text(&result).contains("## Post"), "{result}");
}

#[test]
fn a_page_that_sends_its_reader_on_is_followed_and_never_inwards() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let on = |to: &str| {
        format!(
            "<html><head><meta http-equiv=\"refresh\" content=\"0; url={to}\"><title>Moved</title></head><body><p>Moved.</p></body></html>"
        )
    };
    let (here, metadata) = (on("/there"), on("http://169.254.169.254/latest"));
    let server = Server::new()
        .route("/here", move |_| Reply::html(here.clone()))
        .route("/there", |_| {
            Reply::html(format!(
                "<html><body><main><h1>There</h1><p>{}</p></main></body></html>",
                prose(80)
            ))
        })
        .route("/inwards", move |_| Reply::html(metadata.clone()))
        .start();
    let result = read(&daemon, &server, "/here");
    assert_eq!(
        result["details"]["finalUrl"],
        server.url("/there"),
        "{result}"
    );
    assert!(text(&result).contains("# There"), "{result}");
    let result = read(&daemon, &server, "/inwards");
    assert!(
        text(&result).contains("it sends its reader on to http://169.254.169.254/latest"),
        "{result}"
    );
    assert_eq!(result["details"]["finalUrl"], server.url("/inwards"));
}

#[test]
fn a_login_page_is_named_and_never_guessed_for() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let server = Server::new()
        .route("/private", |_| Reply::redirect(302, "/login"))
        .route("/login", |_| Reply::html("<html><head><title>Sign in</title><script src=x.js></script></head><body><form><input name=u><input type=password name=p><button>Go</button></form></body></html>"))
        .start();
    let result = read(&daemon, &server, "/private");
    assert!(
        text(&result).contains("this looks like a login page"),
        "{result}"
    );
    assert_eq!(paths(&server), ["/private", "/login"]);
}

#[test]
fn long_markdown_is_a_summary_that_can_be_read_on_in() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let sections: String = (0..60)
        .map(|n| format!("## Section {n}\n\nFirst of {n}.\n{}\n", "more\n".repeat(20)))
        .collect();
    let page = format!("# Reference\n\nIntroduction.\n\n{sections}");
    let server = Server::new()
        .route("/ref", move |_| Reply::markdown(page.clone()))
        .start();
    let result = read(&daemon, &server, "/ref");
    let shown = text(&result).replace(&server.url(""), "http://h");
    let rows: Vec<&str> = shown.lines().skip(5).take(10).collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    1:# Reference
    2:
    3:Introduction.
    4:
    5:## Section 0
    6:
    7:First of 0.
    8-28:…
    29:## Section 1
    ");
    assert!(
        shown.contains("lines elided; re-read needed ranges, e.g. http://h/ref:"),
        "{shown}"
    );
    assert_eq!(result["details"]["summary"]["language"], "markdown");
    let part = read(&daemon, &server, "/ref:5-9");
    assert!(text(&part).contains("5:## Section 0"), "{part}");
    let full = read(&daemon, &server, "/ref:full");
    assert_eq!(full["details"]["totalLines"], 4 + 60 * 24);
    assert!(full["details"]["summary"].is_null());
    assert_eq!(server.count("/ref"), 1);
}
