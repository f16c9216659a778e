//! Everything has a limit: headers, waits, requests at once. The slow ones wait side by side.

use super::hostile::{Hostile, header};
use super::server::{Gate, Reply, Server};
use super::*;
use crate::net::Cut;
use crate::protocol::RefusalKind;
use futures::future::{Either, select};

#[test]
fn floods_of_headers_are_told() {
    let fields: String = (0..200)
        .map(|number| format!("X-Field-{number}: x\r\n"))
        .collect();
    let many = Hostile::says(format!("HTTP/1.1 200 OK\r\n{fields}\r\nbody"));
    let wide = Hostile::says(format!(
        "HTTP/1.1 200 OK\r\nX-Wide: {}\r\n\r\nbody",
        "x".repeat(70_000)
    ));
    let endless = Hostile::start(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n");
        connection.send_for_ever(b"X-More: more\r\n");
    });
    let one_line = Hostile::start(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\nX-More: ");
        connection.send_for_ever(&[b'x'; 4096]);
    });
    let bench = TestNet::new();
    for server in [&many, &wide, &endless, &one_line] {
        let error = bench.fetch(&server.url("/")).expect_err("a flood");
        assert!(
            error.to_string().contains("more than 100 fields or 64 KiB"),
            "{error}"
        );
        assert_eq!((error.retryable(), server.accepted()), (false, 1));
    }
    let enough: String = (0..90)
        .map(|number| format!("X-Field-{number}: x\r\n"))
        .collect();
    let allowed = Hostile::says(format!(
        "HTTP/1.1 200 OK\r\n{enough}X-Wide: {}\r\n\r\nbody",
        "x".repeat(60_000)
    ));
    assert_eq!(
        text(&bench.fetch(&allowed.url("/")).expect("a page")),
        "body"
    );
}

#[test]
fn what_is_no_http_is_told() {
    let bench = TestNet::new();
    for says in [
        "SSH-2.0-OpenSSH_9.9\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad field\r\n\r\n",
    ] {
        let server = Hostile::says(says);
        let told = bench.refused(&server.url("/"));
        assert!(told.contains("does not speak HTTP"), "{says}: {told}");
    }
}

/// What a fetch is told, and after how long.
fn timed(url: String, timeout_ms: u64) -> std::thread::JoinHandle<(NetError, Duration)> {
    std::thread::spawn(move || {
        let bench = TestNet::with(|web| web.timeout_ms = timeout_ms);
        let begun = Instant::now();
        let error = bench.fetch(&url).expect_err("no answer in time");
        (error, begun.elapsed())
    })
}

#[test]
fn every_wait_has_its_limit() {
    let silent = Hostile::start(|mut connection| connection.hang());
    let half_header = Hostile::start(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\nX-Half: ");
        connection.hang();
    });
    let half_body = Hostile::start(|mut connection| {
        connection
            .send(header("200 OK", &["Content-Type: text/plain", "Content-Length: 9"]) + "half");
        connection.hang();
    });
    let drip = Hostile::start(|mut connection| {
        connection.send(header("200 OK", &["Content-Type: text/plain"]));
        connection.drip(b'x', Duration::from_millis(50));
    });
    // A port that takes connections and accepts none: TLS is never spoken.
    let no_tls = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let no_tls = format!("https://{}/", no_tls.local_addr().expect("an address"));
    let cases = [
        (
            timed(silent.url("/"), 25_000),
            "no answer within 10 s",
            10.0,
        ),
        (
            timed(half_header.url("/"), 25_000),
            "no answer within 10 s",
            10.0,
        ),
        (
            timed(half_body.url("/"), 25_000),
            "nothing more came for 5 s",
            5.0,
        ),
        (timed(no_tls, 25_000), "no connection within 5 s", 5.0),
        (timed(drip.url("/"), 2000), "not there after 2 s", 2.0),
    ];
    for (waiting, words, seconds) in cases {
        let (error, took) = waiting.join().expect("the thread");
        assert!(error.to_string().contains(words), "{error}");
        let took = took.as_secs_f64();
        assert!(
            (seconds - 0.1..seconds + 2.0).contains(&took),
            "{took} s: {error}"
        );
        let refusal = error.into_refusal("u");
        assert_eq!(
            (refusal.kind(), refusal.retryable()),
            (RefusalKind::Timeout, true)
        );
    }
}

#[test]
fn events_are_listened_to_for_three_seconds() {
    let stream = Hostile::start(|mut connection| {
        connection.send(header("200 OK", &["Content-Type: text/event-stream"]) + "data: one\n\n");
        connection.hang();
    });
    let bench = TestNet::new();
    let begun = Instant::now();
    let fetched = bench.fetch(&stream.url("/")).expect("what came");
    assert_eq!(
        (text(&fetched).as_str(), fetched.cut),
        ("data: one\n\n", Some(Cut::EventStream))
    );
    assert!(
        (2.9..5.0).contains(&begun.elapsed().as_secs_f64()),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_refused_connection_is_told_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", free.local_addr().expect("an address"));
    drop(free);
    let error = TestNet::new().fetch(&url).expect_err("nobody is there");
    assert!(
        error.to_string().contains("connection was refused") && error.retryable(),
        "{error}"
    );
}

#[test]
fn six_of_a_host_are_asked_at_once_and_the_others_in_time_or_not() {
    let gate = Gate::closed();
    let held = gate.clone();
    let server = Server::new()
        .otherwise(move |_| Reply::text("x").held(&held))
        .start();
    let bench = TestNet::new();
    let (net, runtime) = (&bench.net, &bench.runtime);
    let request = |number: usize, limit: Duration| FetchRequest {
        deadline: Instant::now() + limit,
        ..bench.request(&server.url(&format!("/{number}")))
    };
    runtime.block_on(async {
        let all = (0..12).map(|number| net.fetch(request(number, Duration::from_secs(20))));
        let mut all = Box::pin(futures::future::join_all(all));
        let impatient = Box::pin(net.fetch(request(99, Duration::from_millis(300))));
        let busy = match select(&mut all, impatient).await {
            Either::Left(_) => panic!("somebody was answered"),
            Either::Right((outcome, _)) => outcome.expect_err("no place"),
        };
        assert_eq!(
            busy.clone().into_refusal("u").kind(),
            RefusalKind::Busy,
            "{busy}"
        );
        assert_eq!(
            (server.requests().len(), server.open(), net.in_flight()),
            (6, 6, 12)
        );
        // Another host is not held up.
        let other = Server::new().otherwise(|_| Reply::text("other")).start();
        let url = other.url_by("localhost", "/");
        let other = net.fetch(bench.request(&url)).await.expect("a page");
        assert_eq!(text(&other), "other");
        gate.open();
        for fetched in all.await {
            assert_eq!(text(&fetched.expect("a page")), "x");
        }
    });
    let order: Vec<String> = server
        .requests()
        .into_iter()
        .map(|asked| asked.path)
        .collect();
    let mut first: Vec<&str> = order[..6].iter().map(String::as_str).collect();
    first.sort_unstable();
    assert_eq!(first, ["/0", "/1", "/2", "/3", "/4", "/5"]);
    assert_eq!(bench.net.in_flight(), 0);
}
