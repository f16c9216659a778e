//! What a model sees of a page: header, rows, notes, summaries, sections, links, failures; each in the words of `docs/formats.md`.

use serde_json::{Value, json};

use super::server::{Reply, Running, Server};
use crate::client::Daemon;
use crate::tree::Tree;

pub const PAGE: &str = r##"<!doctype html><html><head><title>Streams</title></head><body>
<nav><a href="/">Home</a> <a href="/all">All</a></nav>
<main><h1>Streams</h1><p>A stream is read in chunks. See <a href="api#stream">the API</a>.</p>
<h2 id="install">Install</h2><p>Nothing has to be installed for it.</p>
<pre><code class="language-python">for chunk in stream:
    print(chunk)
</code></pre>
<h2 id="use">Use</h2><p>Open one, and read it to its end.</p></main>
<footer>Made by hand</footer></body></html>"##;

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

fn daemon(tree: &Tree) -> Daemon {
    Daemon::start(tree.path())
}

/// The answer with the server's port left out.
fn shown(daemon: &Daemon, server: &Running, path: &str) -> String {
    let result = daemon.read(server.url(path)).expect(path);
    let text = text(&result).replace(&server.url(""), "http://h");
    // However long the test took.
    let seconds = (0..30).map(|seconds| format!("as fetched {seconds}s ago"));
    seconds.fold(text, |text, age| text.replace(&age, "as fetched just now"))
}

fn server() -> Running {
    Server::new()
        .route("/page", |_| Reply::html(PAGE))
        .route("/moved", |_| Reply::redirect(301, "/page"))
        .route("/data", |_| Reply::json(r#"{"b":1.10,"a":[1,{"x":null}]}"#))
        .route("/item", |_| {
            Reply::json(r#"{"error":"no such item"}"#).status(404)
        })
        .route("/closed", |_| Reply::text("go away\n").status(403))
        .route("/busy", |_| Reply::empty(429).header("retry-after", "120"))
        .route("/broken-server", |_| {
            Reply::html("<html><body><h1>Oops</h1><p>Something broke here.</p></body></html>")
                .status(500)
        })
        .route("/challenge", |_| {
            Reply::html("<html><head><title>One moment</title></head><body>Checking.</body></html>")
                .status(503)
                .header("cf-mitigated", "challenge")
        })
        .route("/later", |_| {
            Reply::empty(503).header("retry-after", "Wed, 01 Jan 2020 00:00:00 GMT")
        })
        .route("/empty", |_| Reply::html(""))
        .route("/notes", |_| Reply::markdown("# Notes\n\nSome.\n"))
        .route("/notes.md", |_| Reply::markdown("# Notes\n\nSome.\n"))
        .route("/main.rs", |_| {
            Reply::text("fn main() {\n    println!();\n}\n")
        })
        .route("/blob", |_| {
            Reply::new(
                "application/octet-stream",
                b"\x7fELF\x02\x01\x01\0\0\0".to_vec(),
            )
        })
        .route("/broken", |_| Reply::json("{\"a\":"))
        .start()
}

#[test]
fn a_page_is_a_header_and_numbered_rows() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree);
    insta::assert_snapshot!(shown(&daemon, &server, "/page"), @r"
    URL: http://h/page
    Content-Type: text/html
    Method: reader

    ---

    1:# Streams
    2:
    3:A stream is read in chunks. See [the API](http://h/api#stream).
    4:
    5:## Install
    6:
    7:Nothing has to be installed for it.
    8:
    9:```python
    10:for chunk in stream:
    11:    print(chunk)
    12:```
    13:
    14:## Use
    15:
    16:Open one, and read it to its end.
    ");
    let result = daemon.read(server.url("/moved")).expect("a page");
    let details = &result["details"];
    assert_eq!(details["kind"], "url");
    assert_eq!(details["url"], server.url("/moved"));
    assert_eq!(details["finalUrl"], server.url("/page"));
    assert_eq!(details["meta"]["source"], server.url("/page"));
    assert_eq!(details["redirects"], json!([server.url("/moved")]));
    assert_eq!(details["contentType"], "text/html");
    assert_eq!(details["method"], "reader");
    assert_eq!(details["status"], 200);
    assert_eq!(details["origin"], "web");
    assert_eq!(details["trusted"], false);
    assert_eq!(details["title"], "Streams");
    assert_eq!(
        details["notices"],
        json!([format!("redirected from {}", server.url("/moved"))])
    );
    assert!(details["hashline"].is_null() && details["resolvedPath"].is_null());
}

#[test]
fn sections_links_and_ranges_are_parts_of_one_page() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree);
    daemon.read(server.url("/page")).expect("a page");
    insta::assert_snapshot!(shown(&daemon, &server, "/page#install"), @r"
    URL: http://h/page
    Content-Type: text/html
    Method: reader
    Notes: as fetched just now

    ---

    5:## Install
    6:
    7:Nothing has to be installed for it.
    8:
    9:```python
    10:for chunk in stream:
    11:    print(chunk)
    12:```

    [5-12 of 16]
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/page#instal"), @r"
    URL: http://h/page
    Content-Type: text/html
    Method: reader
    Notes: as fetched just now; no section 'instal'; nearest: install

    ---

    1:# Streams
    2:
    3:A stream is read in chunks. See [the API](http://h/api#stream).
    4:
    5:## Install
    6:
    7:Nothing has to be installed for it.
    8:
    9:```python
    10:for chunk in stream:
    11:    print(chunk)
    12:```
    13:
    14:## Use
    15:
    16:Open one, and read it to its end.
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/page:links"), @r"
    URL: http://h/page
    Content-Type: text/html
    Method: reader
    Notes: as fetched just now

    ---

    1:[the API](http://h/api#stream)
    2:[Home](http://h/)
    3:[All](http://h/all)
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/page:1-3"), @r"
    URL: http://h/page
    Content-Type: text/html
    Method: reader
    Notes: as fetched just now

    ---

    1:# Streams
    2:
    3:A stream is read in chunks. See [the API](http://h/api#stream).

    [1-3 of 16]
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/page:page"), @r"
    URL: http://h/page
    Content-Type: text/html
    Method: page
    Notes: as fetched just now

    ---

    1:[Home](http://h/) [All](http://h/all)
    2:
    3:# Streams
    4:
    5:A stream is read in chunks. See [the API](http://h/api#stream).
    6:
    7:## Install
    8:
    9:Nothing has to be installed for it.
    10:
    11:```python
    12:for chunk in stream:
    13:    print(chunk)
    14:```
    15:
    16:## Use
    17:
    18:Open one, and read it to its end.
    19:
    20:Made by hand
    ");
    assert_eq!(shown(&daemon, &server, "/page:raw"), PAGE);
    assert_eq!(server.count("/page"), 1);
}

#[test]
fn other_texts_are_shown_as_what_they_are() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree);
    insta::assert_snapshot!(shown(&daemon, &server, "/data"), @r#"
    URL: http://h/data
    Content-Type: application/json
    Method: json

    ---

    1:{
    2:  "b": 1.10,
    3:  "a": [
    4:    1,
    5:    {
    6:      "x": null
    7:    }
    8:  ]
    9:}
    "#);
    insta::assert_snapshot!(shown(&daemon, &server, "/notes"), @r"
    URL: http://h/notes
    Content-Type: text/markdown
    Method: content-negotiation

    ---

    1:# Notes
    2:
    3:Some.
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/notes.md"), @r"
    URL: http://h/notes.md
    Content-Type: text/markdown
    Method: text

    ---

    1:# Notes
    2:
    3:Some.
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/main.rs"), @r"
    URL: http://h/main.rs
    Content-Type: text/plain
    Method: text

    ---

    1:fn main() {
    2:    println!();
    3:}
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/blob"), @r"
    URL: http://h/blob
    Content-Type: application/octet-stream
    Method: binary

    ---

    [Binary content: application/octet-stream, 10B; begins 7f 45 4c 46]
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/empty"), @r"
    URL: http://h/empty
    Content-Type: text/html
    Method: text

    ---

    (no content)
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/broken"), @r#"
    URL: http://h/broken
    Content-Type: application/json
    Method: text
    Notes: shown as it was sent: it is not valid JSON

    ---

    1:{"a":
    "#);
}

#[test]
fn failures_are_results_that_keep_the_servers_words() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree);
    insta::assert_snapshot!(shown(&daemon, &server, "/item"), @r#"
    URL: http://h/item
    Content-Type: application/json
    Method: failed
    Notes: HTTP 404 Not Found

    ---

    1:{
    2:  "error": "no such item"
    3:}
    "#);
    insta::assert_snapshot!(shown(&daemon, &server, "/closed"), @r"
    URL: http://h/closed
    Content-Type: text/plain
    Method: failed
    Notes: HTTP 403 Forbidden; no credentials or cookies are ever sent: use an authenticated tool for this page

    ---

    1:go away
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/busy"), @r"
    URL: http://h/busy
    Content-Type: text/plain
    Method: failed
    Notes: HTTP 429 Too Many Requests; the server asks to wait 120 s

    ---

    (no content)
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/broken-server"), @r"
    URL: http://h/broken-server
    Content-Type: text/html
    Method: failed
    Notes: HTTP 500 Internal Server Error

    ---

    1:# Oops
    2:
    3:Something broke here.
    ");
    insta::assert_snapshot!(shown(&daemon, &server, "/challenge"), @r"
    URL: http://h/challenge
    Content-Type: text/html
    Method: failed
    Notes: HTTP 503 Service Unavailable; the site demands a browser check

    ---

    1:# One moment
    2:
    3:Checking.
    ");
    // A date that is past: once more at once, and what came then.
    daemon.read(server.url("/later")).expect("a result");
    assert_eq!((server.count("/later"), server.count("/challenge")), (2, 1));
    insta::assert_snapshot!(shown(&daemon, &server, "/nothing"), @r"
    URL: http://h/nothing
    Content-Type: text/plain
    Method: failed
    Notes: HTTP 404 Not Found

    ---

    1:nothing here
    ");
}

#[test]
fn plain_text_stands_alone_and_other_dialects_say_the_method_first() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree);
    let read = |dialect: &str, parameter: &str| {
        let params = json!({ "dialect": dialect, parameter: server.url("/page") });
        daemon.read_with(params).expect(dialect)
    };
    let plain = read("plain", "path");
    assert!(text(&plain).starts_with("# Streams\n"), "{plain}");
    let header = plain["content"][1]["text"].as_str().expect("a header");
    assert!(
        header.starts_with(&format!(
            "URL: {}\nContent-Type: text/html\nMethod: reader\n",
            server.url("/page")
        )),
        "{header}"
    );
    for (dialect, parameter) in [
        ("opencode", "filePath"),
        ("pikuri", "path"),
        ("llm-gateway", "filePath"),
        ("roo", "path"),
    ] {
        let result = read(dialect, parameter);
        assert!(
            text(&result).starts_with("[Method: reader"),
            "{dialect}: {result}"
        );
        assert!(
            text(&result).contains("A stream is read in chunks"),
            "{dialect}: {result}"
        );
    }
    assert_eq!(server.count("/page"), 5);
}

#[test]
fn what_cannot_be_meant_is_told() {
    let (tree, server) = (Tree::new(), server());
    let daemon = daemon(&tree);
    let refused = |path: &str| {
        let error = daemon.read(path).expect_err(path);
        (
            error.data["kind"].as_str().unwrap_or_default().to_owned(),
            error.message,
        )
    };
    let (kind, said) = refused("http://ann:secret@127.0.0.1/x");
    assert_eq!(kind, "badParams");
    assert!(
        said.contains("http://127.0.0.1/x") && !said.contains("secret"),
        "{said}"
    );
    assert_eq!(refused(&server.url("/page:9-5")).0, "badSelector");
    assert_eq!(refused(&server.url("/page:p3")).0, "badSelector");
    assert_eq!(refused("ftp://example.com/x").0, "unsupported");
    assert_eq!(refused("data:text/plain,x").0, "unsupported");
    let (kind, said) = refused("localhost:3000/x");
    assert_eq!(kind, "notFound");
    assert!(said.contains("http://localhost:3000/x"), "{said}");
    let edit = daemon.call(
        "agent/edit",
        json!({ "patch": format!("¶{}\n@@ 1\n-x\n+y\n", server.url("/page")) }),
    );
    assert!(edit.is_err());
    // What a page knows of selectors is told once it is there.
    assert_eq!(server.requests().len(), 1);
}
