//! Bodies: decoded, kept in memory or in a file, and what is made of broken ones.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::hostile::{Hostile, header};
use super::server::{Reply, Server};
use super::*;
use crate::net::Cut;

/// Made by the libraries of Node.js: "brotli says hello\n", "deflate says hello\n", "gzip says hello\n".
const ENCODED: [(&str, &str); 3] = [
    ("br", "iwiAYnJvdGxpIHNheXMgaGVsbG8KAw=="),
    ("deflate", "eJxLSU3LSSxJVShOrCxWyEjNycnnAgBIgAb0"),
    ("gzip", "H4sIAAAAAAAAA0uvyixQKE6sLFbISM3JyecCAFZeYaYQAAAA"),
];

/// 48 MiB of the letter a, made by the same.
const BROTLI_BOMB: &str = "y///P/glwuKxQCD3/o///3/wSwDEYRGA7v0f////4JcAiMMCAN37P/7//8EvARCHBQC693/8//+DXwIgDgsAdO//8v//D78EQBwWAOje/wE=";

fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).expect("base64")
}

#[test]
fn bodies_are_decoded() {
    let mut server = Server::new();
    for (encoding, body) in ENCODED {
        let reply = Reply::new("text/plain", decoded(body)).header("content-encoding", encoding);
        server = server.route(&format!("/{encoding}"), move |_| reply.clone());
    }
    let unasked = Reply::text("x").header("content-encoding", "zstd");
    let server = server
        .route("/zstd", move |_| unasked.clone())
        .route("/identity", |_| {
            Reply::text("as it is\n").header("content-encoding", "identity")
        })
        .start();
    let bench = TestNet::new();
    for (path, words) in [
        ("/br", "brotli says hello\n"),
        ("/deflate", "deflate says hello\n"),
        ("/gzip", "gzip says hello\n"),
        ("/identity", "as it is\n"),
    ] {
        let fetched = bench.fetch(&server.url(path)).expect(path);
        assert_eq!((text(&fetched).as_str(), fetched.cut), (words, None));
    }
    let told = bench.refused(&server.url("/zstd"));
    assert!(
        told.contains("compressed in a way that was not asked for"),
        "{told}"
    );
}

#[test]
fn what_is_too_long_for_memory_is_in_a_file() {
    let body: Vec<u8> = (0..2_000_000u32).flat_map(u32::to_le_bytes).collect();
    let (whole, edge) = (body.clone(), body[..Body::IN_MEMORY].to_vec());
    let server = Server::new()
        .route("/long", move |_| {
            Reply::new("application/pdf", whole.clone())
        })
        .route("/edge", move |_| {
            Reply::new("application/pdf", edge.clone())
        })
        .start();
    let bench = TestNet::new();
    let long = bench.fetch(&server.url("/long")).expect("a body");
    let Body::File(file) = &long.body else {
        panic!("it is in memory");
    };
    let path = file.path().to_owned();
    assert!(path.starts_with(bench.folder.path().join("fetched")));
    assert_eq!(
        (file.bytes(), bench.net.spool().bytes()),
        (8_000_000, 8_000_000)
    );
    assert!(bytes(&long) == body);
    let edge = bench.fetch(&server.url("/edge")).expect("a body");
    assert!(matches!(edge.body, Body::Memory(_)) && edge.body.bytes() == Body::IN_MEMORY as u64);
    drop(long);
    assert!(!path.exists() && bench.net.spool().bytes() == 0);
}

#[test]
fn text_is_kept_up_to_the_limit_and_other_things_are_not() {
    let long = |kind: &'static str| move |_: &_| Reply::new(kind, "a".repeat(5000));
    let pdf = || format!("%PDF-1.7\n{}", "a".repeat(5000));
    let server = Server::new()
        .route("/text", long("text/plain"))
        .route("/json", long("application/problem+json"))
        .route("/binary", long("application/octet-stream"))
        .route("/image", long("image/png"))
        .route("/untyped", |_| {
            Reply::text("a".repeat(5000)).without("content-type")
        })
        .route("/lying", move |_| Reply::text(pdf()))
        .route("/endless", |_| {
            Reply::text("").pieces(vec!["a".repeat(5000).into()])
        })
        .route("/endless.bin", |_| {
            Reply::new("image/png", "").pieces(vec!["a".repeat(5000).into()])
        })
        .route("/failed", |_| {
            Reply::new("image/png", "a".repeat(5000)).status(500)
        })
        .route("/exact", |_| Reply::new("image/png", "a".repeat(1000)))
        .start();
    let bench = TestNet::with(|web| web.max_bytes = 1000);
    for (path, of) in [
        ("/text", Some(5000)),
        ("/json", Some(5000)),
        ("/untyped", Some(5000)),
        ("/endless", None),
        ("/failed", Some(5000)),
    ] {
        let fetched = bench.fetch(&server.url(path)).expect(path);
        assert_eq!(
            (fetched.body.bytes(), fetched.cut),
            (1000, Some(Cut::TooLong { of })),
            "{path}"
        );
    }
    for path in ["/binary", "/image", "/lying", "/endless.bin"] {
        let told = bench.refused(&server.url(path));
        assert!(
            told.contains("too large") && told.contains("web.maxBytes is 1000 bytes"),
            "{path}: {told}"
        );
    }
    let exact = bench.fetch(&server.url("/exact")).expect("a body");
    assert_eq!((exact.body.bytes(), exact.cut), (1000, None));
}

#[test]
fn bombs_end_at_the_limit() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..300 {
        gzip.write_all(&[b'a'; 1 << 20]).expect("packed");
    }
    let gzip = gzip.finish().expect("packed");
    let server = Server::new()
        .route("/gzip", move |_| {
            Reply::text("")
                .pieces(vec![gzip.clone().into()])
                .header("content-encoding", "gzip")
        })
        .route("/br", |_| {
            Reply::text("")
                .pieces(vec![decoded(BROTLI_BOMB).into()])
                .header("content-encoding", "br")
        })
        .start();
    let bench = TestNet::with(|web| web.max_bytes = 20 << 20);
    for path in ["/gzip", "/br"] {
        let begun = Instant::now();
        let fetched = bench.fetch(&server.url(path)).expect(path);
        assert_eq!(fetched.cut, Some(Cut::TooLong { of: None }), "{path}");
        assert_eq!(fetched.body.bytes(), 20 << 20);
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn a_text_that_breaks_off_is_kept_and_other_things_are_not() {
    let partly = |kind: &str, fields: &[&str], body: &str| {
        let kind = format!("Content-Type: {kind}");
        let mut all = vec![kind.as_str()];
        all.extend(fields);
        Hostile::says(header("200 OK", &all) + body)
    };
    let bench = TestNet::new();
    let short = partly("text/html", &["Content-Length: 90"], "0123456789");
    let fetched = bench.fetch(&short.url("/")).expect("a part");
    let broken = |at, of| Some(Cut::Broken { at, of });
    assert_eq!(
        (text(&fetched).as_str(), fetched.cut),
        ("0123456789", broken(10, Some(90)))
    );
    let chunked = partly(
        "text/html",
        &["Transfer-Encoding: chunked"],
        "5\r\nabcde\r\n9\r\nfg",
    );
    let fetched = bench.fetch(&chunked.url("/")).expect("a part");
    assert!(
        text(&fetched).starts_with("abcde")
            && matches!(fetched.cut, Some(Cut::Broken { of: None, .. }))
    );
    let nonsense = partly(
        "text/html",
        &["Transfer-Encoding: chunked"],
        "5\r\nabcde\r\nxyz\r\n",
    );
    assert_eq!(
        text(&bench.fetch(&nonsense.url("/")).expect("a part")),
        "abcde"
    );
    let binary = partly("application/pdf", &["Content-Length: 90"], "%PDF-1.7\n1");
    let error = bench.fetch(&binary.url("/")).expect_err("half a document");
    assert!(
        error.to_string().contains("broke before all of it") && error.retryable(),
        "{error}"
    );
    // Without a length the end of the connection is the end of the body, and more than the length is not there.
    let until_closed = partly("text/plain", &[], "all of it");
    assert_eq!(
        bench.fetch(&until_closed.url("/")).expect("a body").cut,
        None
    );
    let more = partly("text/plain", &["Content-Length: 3"], "abcdef");
    assert_eq!(text(&bench.fetch(&more.url("/")).expect("a body")), "abc");
    let not_gzip = partly(
        "application/zip",
        &["Content-Encoding: gzip"],
        "this is not compressed at all",
    );
    let told = bench.refused(&not_gzip.url("/"));
    assert!(told.contains("not compressed as its header says"), "{told}");
}

#[test]
fn empty_answers_have_no_body() {
    let server = Server::new()
        .route("/204", |_| {
            Reply::empty(204).header("content-encoding", "gzip")
        })
        .route("/304", |_| {
            Reply::empty(304)
                .header("content-length", "50")
                .header("etag", "\"v\"")
        })
        .route("/200", |_| Reply::empty(200))
        .start();
    let bench = TestNet::new();
    for status in [204, 304, 200] {
        let fetched = bench
            .fetch(&server.url(&format!("/{status}")))
            .expect("an answer");
        assert_eq!(
            (fetched.status, fetched.body.bytes(), fetched.cut),
            (status, 0, None),
            "{status}"
        );
    }
}
