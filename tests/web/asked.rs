//! What is asked of whom: case by case, all requests that reads of a page lead to, as a proxy sees them.
//!
//! The hosts are made up, so that every request of the daemon has to pass the proxy, and what passes is
//! recorded by the one server behind it.

use serde_json::{Value, json};

use super::proxy::Proxy;
use super::server::{Asked, Reply, Running, Server};
use super::shown::PAGE;
use crate::client::Daemon;
use crate::tree::Tree;

/// A page that is nothing without its scripts, and names much that a browser would load.
const SHELL: &str = r#"<!doctype html><html><head><title>App</title><script src="/app.js"></script>
<link rel="stylesheet" href="/app.css"><link rel="icon" href="/icon.png"><link rel="preload" href="/font.woff2"></head>
<body><div id="root"></div><iframe src="/frame"></iframe><img src="/pixel.gif"></body></html>"#;

fn page_with(head: &str) -> String {
    let words: String = (0..150).map(|n| format!("word{n} ")).collect();
    format!(
        "<html><head><title>T</title>{head}</head><body><main><h1>T</h1><p>{words}</p></main></body></html>"
    )
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/");
    std::fs::read(format!("{folder}{name}")).expect("a fixture")
}

fn site() -> Running {
    let (book, pixels) = (
        fixture("document/book.pdf"),
        fixture("image/flag-palette.png"),
    );
    let refresh = r#"<html><head><meta http-equiv="refresh" content="0; url=/page"></head><body>On.</body></html>"#;
    let markdown = r#"<link rel="alternate" type="text/markdown" href="/t.md">"#;
    let elsewhere =
        r#"<link rel="alternate" type="text/markdown" href="http://other.example/t.md">"#;
    let feed = r#"<link rel="alternate" type="application/rss+xml" href="/feed.xml">"#;
    let login = r#"<html><head><title>Sign in</title><script src="x.js"></script></head><body><form><input type="password" name="p"></form></body></html>"#;
    let challenge = "<html><head><title>One moment</title></head><body></body></html>";
    let with_feed = SHELL.replace("</head>", &format!("{feed}</head>"));
    let paper = format!(
        r#"<html><body><p>Get <a href="/book.pdf">the book (PDF)</a></p><script>{}</script></body></html>"#,
        "x();".repeat(4000)
    );
    let etag = |asked: &Asked| match asked.header("if-none-match") {
        "\"1\"" => Reply::empty(304),
        _ => Reply::text("tagged\n").header("etag", "\"1\""),
    };
    Server::new()
        .route("/page", |_| Reply::html(PAGE))
        .route("/moved", |_| Reply::redirect(301, "/page"))
        .route("/refresh", move |_| Reply::html(refresh))
        .route("/markdown", move |_| Reply::html(page_with(markdown)))
        .route("/t.md", |_| {
            Reply::markdown("# T\n\nword1 word2\n".repeat(90))
        })
        .route("/elsewhere", move |_| Reply::html(page_with(elsewhere)))
        .route("/app", |_| Reply::html(SHELL))
        .route("/post", move |_| Reply::html(with_feed.clone()))
        .route("/paper", move |_| Reply::html(paper.clone()))
        .route("/book.pdf", move |_| {
            Reply::new("application/pdf", book.clone())
        })
        .route("/photo.png", move |_| {
            Reply::new("image/png", pixels.clone())
        })
        .route("/data", |_| {
            Reply::json(r#"{"next":"http://other.example/2"}"#)
        })
        .route("/login", move |_| Reply::html(login))
        .route("/challenge", move |_| {
            Reply::html(challenge)
                .status(503)
                .header("cf-mitigated", "challenge")
        })
        .route("/broken", |_| Reply::html(SHELL).status(500))
        .route("/busy", |_| Reply::empty(429).header("retry-after", "1"))
        .route("/late", |_| Reply::empty(503).header("retry-after", "120"))
        .route("/talk:5", |_| Reply::text("a talk\n"))
        .route("/tagged", etag)
        .start()
}

/// Through the proxy, and no other way.
fn daemon(tree: &Tree, proxy: &Proxy) -> Daemon {
    let settings = json!({ "web": { "proxy": format!("http://{}", proxy.address()) } });
    Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start()
}

/// The requests that these reads lead to, each with its host; what is asked side by side is sorted.
fn asked_for(paths: &[&str]) -> Vec<String> {
    let (tree, server) = (Tree::new(), site());
    let proxy = Proxy::to(server.address());
    let daemon = daemon(&tree, &proxy);
    for path in paths {
        let _ = daemon.read(format!("http://site.example{path}"));
    }
    let requests = server.requests();
    // Whoever is asked for HTTP without TLS by a proxy is named in full.
    assert!(
        requests
            .iter()
            .all(|asked| asked.absolute && asked.method == "GET")
    );
    let mut asked: Vec<String> = requests
        .iter()
        .map(|asked| format!("{}{}", asked.header("host"), asked.path))
        .collect();
    if asked.len() > 2 {
        asked[1..].sort();
    }
    asked
}

#[test]
fn no_request_is_made_but_those_that_are_told() {
    let cases: &[(&[&str], &[&str])] = &[
        // A page is one request, however it is read on in.
        (
            &[
                "/page",
                "/page:3-5",
                "/page#use",
                "/page:links",
                "/page:raw",
                "/page:full",
            ],
            &["/page"],
        ),
        (&["/page:raw"], &["/page"]),
        (&["/moved", "/moved:2-"], &["/moved", "/page"]),
        (&["/refresh"], &["/refresh", "/page"]),
        (&["/markdown", "/markdown:2-3"], &["/markdown", "/t.md"]),
        (&["/elsewhere"], &["/elsewhere"]),
        (&["/app"], &["/app", "/app.md", "/llms.txt"]),
        // What was not there is not asked for again.
        (&["/app", "/app"], &["/app", "/app", "/app.md", "/llms.txt"]),
        (&["/post"], &["/post", "/feed.xml", "/llms.txt", "/post.md"]),
        (
            &["/paper"],
            &["/paper", "/book.pdf", "/llms.txt", "/paper.md"],
        ),
        (
            &["/book.pdf", "/book.pdf:p2", "/book.pdf:raw"],
            &["/book.pdf"],
        ),
        (&["/photo.png", "/photo.png:raw"], &["/photo.png"]),
        (&["/data", "/data:1-2"], &["/data"]),
        (&["/login"], &["/login"]),
        (&["/challenge"], &["/challenge"]),
        (&["/broken"], &["/broken"]),
        (&["/gone", "/gone:5-"], &["/gone"]),
        // What was taken for a line may be part of the name.
        (&["/talk:5"], &["/talk", "/talk:5"]),
        // Once more, if that is soon.
        (&["/busy"], &["/busy", "/busy"]),
        (&["/late"], &["/late"]),
        (&["/tagged", "/tagged"], &["/tagged", "/tagged"]),
    ];
    for (paths, expected) in cases {
        let expected: Vec<String> = expected
            .iter()
            .map(|path| format!("site.example{path}"))
            .collect();
        assert_eq!(asked_for(paths), expected, "{paths:?}");
    }
}

#[test]
fn nothing_is_asked_for_what_is_no_read() {
    let (tree, server) = (Tree::new(), site());
    tree.write(
        "notes.md",
        "See http://site.example/page and <img src=\"http://site.example/x\">\n",
    );
    let proxy = Proxy::to(server.address());
    let daemon = daemon(&tree, &proxy);
    let url = "http://site.example/page";
    daemon.read("notes.md").expect("a file");
    let edit = json!({ "patch": format!("¶{url}\ninsert head:\n+x\n") });
    daemon
        .call("agent/edit", edit)
        .expect_err("no page is edited");
    let write = json!({ "path": url, "text": "x" });
    daemon
        .call("agent/write", write)
        .expect_err("no page is written");
    daemon.call("agent/status", json!({})).expect("a status");
    assert_eq!(proxy.asked().len() + server.requests().len(), 0);
    // Of one that is named twice there is one request.
    let targets =
        json!([{ "path": url }, { "path": format!("{url}:1-3") }, { "path": "notes.md" }]);
    let results = daemon.call("agent/readMany", json!({ "targets": targets }));
    assert_eq!(
        results.expect("three answers")["results"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    assert_eq!(server.requests().len(), 1);
    let headers = &server.last().headers;
    for name in ["cookie", "authorization", "referer", "proxy-authorization"] {
        assert_eq!(headers.get(name), None);
    }
}

#[test]
fn what_is_off_asks_nobody() {
    let (tree, server) = (Tree::new(), site());
    let proxy = Proxy::to(server.address());
    for web in [
        json!({ "enabled": false }),
        json!({ "deny": ["site.example"] }),
        json!({ "allow": ["docs.example"] }),
    ] {
        let mut settings = json!({ "web": web });
        settings["web"]["proxy"] = json!(format!("http://{}", proxy.address()));
        let daemon = Daemon::builder()
            .root(tree.path())
            .settings(settings)
            .start();
        let error = daemon.read("http://site.example/page").expect_err("denied");
        assert_eq!(error.data["kind"], Value::from("denied"));
    }
    assert_eq!(proxy.asked().len() + server.requests().len(), 0);
}
