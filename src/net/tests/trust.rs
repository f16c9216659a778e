//! Whom TLS trusts, and what is said when it does not.

use reqwest::Version;

use super::hostile::Hostile;
use super::server::{Reply, Running, Server};
use super::tls::{Authority, Identity};
use super::*;

fn serving(identity: Identity) -> Running {
    Server::new()
        .otherwise(|_| Reply::text("safe"))
        .tls(identity)
        .start()
}

/// A network that trusts an authority.
fn trusting(authority: &Authority) -> TestNet {
    let mut bench = TestNet::new();
    let file = bench.folder.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).expect("a file");
    bench.settings.ca_file = Some(file.to_string_lossy().into_owned());
    bench
}

#[test]
fn http_2_and_1_are_spoken_to_whom_the_authority_vouches_for() {
    let authority = Authority::new();
    let bench = trusting(&authority);
    let names = ["localhost", "127.0.0.1"];
    let second = serving(authority.identity(&names));
    let first = serving(authority.identity(&names).without_http2());
    for (server, version) in [(&second, Version::HTTP_2), (&first, Version::HTTP_11)] {
        for url in [server.url("/"), server.url_by("localhost", "/")] {
            assert_eq!(text(&bench.fetch(&url).expect("a page")), "safe");
            assert_eq!(server.last().version, version);
        }
    }
    // One connection for each request, and none is left.
    assert_eq!(second.accepted(), 2);
    second.wait_until("they are closed", |server| server.open() == 0);
}

#[test]
fn whoever_is_not_trusted_is_told_why() {
    let authority = Authority::new();
    let bench = trusting(&authority);
    let stranger = TestNet::new();
    let names = ["localhost"];
    let cases = [
        (&bench, serving(authority.expired(&names)), "has expired"),
        (
            &bench,
            serving(authority.identity(&["other.example"])),
            "for another name",
        ),
        (
            &bench,
            serving(Identity::self_signed(&names)),
            "SSL_CERT_FILE",
        ),
        (
            &stranger,
            serving(authority.identity(&names)),
            "SSL_CERT_FILE",
        ),
    ];
    for (bench, server, words) in cases {
        let error = bench
            .fetch(&server.url_by("localhost", "/"))
            .expect_err(words);
        let told = error.to_string();
        assert!(
            told.contains(words) && !told.contains("other.example"),
            "{told}"
        );
        assert!(!error.retryable() && server.requests().is_empty(), "{told}");
    }
}

#[test]
fn who_was_not_trusted_is_once_the_file_says_so() {
    let authority = Authority::new();
    let bench = trusting(&Authority::new());
    let server = serving(authority.identity(&["localhost"]));
    let url = server.url_by("localhost", "/");
    assert!(bench.refused(&url).contains("issuer"));
    let file = bench.settings.ca_file.clone().expect("a file");
    std::fs::write(file, authority.pem()).expect("a file");
    assert_eq!(text(&bench.fetch(&url).expect("a page")), "safe");
}

#[test]
fn a_file_of_certificates_that_is_none_is_named() {
    let mut bench = TestNet::new();
    let file = bench.folder.path().join("none.pem");
    let server = serving(Authority::new().identity(&["localhost"]));
    bench.settings.ca_file = Some(file.to_string_lossy().into_owned());
    for (content, words) in [
        (None, "cannot be read"),
        (Some("no certificate\n"), "no certificate"),
    ] {
        if let Some(content) = content {
            std::fs::write(&file, content).expect("a file");
        }
        let told = bench.refused(&server.url_by("localhost", "/"));
        assert!(
            told.contains("web.caFile") && told.contains("none.pem") && told.contains(words),
            "{told}"
        );
    }
    assert_eq!(server.accepted(), 0);
    // It is nobody's business where nothing is encrypted.
    let plain = Server::new().otherwise(|_| Reply::text("plain")).start();
    assert_eq!(
        text(&bench.fetch(&plain.url("/")).expect("a page")),
        "plain"
    );
}

#[test]
fn what_speaks_no_tls_is_told() {
    let server = Hostile::says("no TLS here, go away\r\n\r\n");
    let bench = TestNet::new();
    let told = bench.refused(&server.url("/").replace("http:", "https:"));
    assert!(
        told.contains("does not speak TLS") || told.contains("no connection"),
        "{told}"
    );
}
