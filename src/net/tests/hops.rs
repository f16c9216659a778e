//! Requests as they are sent, redirects, and what is tried again.

use super::hostile::{Hostile, header};
use super::server::{Gate, Reply, Server};
use super::*;
use crate::net::{Conditional, HeaderMap, HeaderValue, Progress, Redirects, Space};
use crate::protocol::RefusalKind;

#[test]
fn a_page_is_asked_for_in_plain_words() {
    let server = Server::new()
        .route("/a", |_| Reply::html("<p>one</p>"))
        .start();
    let bench = TestNet::new();
    let fetched = bench.fetch(&server.url("/a?q=1#part")).expect("a page");
    assert_eq!(
        (fetched.status, text(&fetched).as_str()),
        (200, "<p>one</p>")
    );
    assert_eq!(fetched.url.as_str(), server.url("/a?q=1#part"));
    assert_eq!(
        (fetched.space, fetched.proxied, fetched.cut),
        (Space::Loopback, false, None)
    );
    assert!(fetched.hops.is_empty() && fetched.requested_at <= fetched.responded_at);
    let asked = server.last();
    assert_eq!(
        (asked.method.as_str(), asked.query.as_deref()),
        ("GET", Some("q=1"))
    );
    let mut names: Vec<&str> = asked.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "accept",
            "accept-encoding",
            "accept-language",
            "host",
            "user-agent"
        ]
    );
    assert_eq!(asked.header("accept-encoding"), "gzip, br, deflate");
    assert_eq!(asked.header("accept-language"), "en, *;q=0.5");
    let own_name = concat!("pilcrow/", env!("CARGO_PKG_VERSION"));
    assert_eq!(asked.header("user-agent"), own_name);
    assert_eq!(bench.net.in_flight(), 0);
}

#[test]
fn settings_say_who_asks_and_in_which_languages() {
    let server = Server::new().route("/", |_| Reply::text("x")).start();
    let bench = TestNet::with(|web| {
        web.user_agent = Some("somebody/1".to_owned());
        web.accept_language = "de".to_owned();
    });
    let request = FetchRequest {
        accept: "text/markdown",
        ..bench.request(&server.url("/"))
    };
    bench.run(request).expect("a page");
    let asked = server.last();
    assert_eq!(asked.header("user-agent"), "somebody/1");
    assert_eq!(asked.header("accept-language"), "de");
    assert_eq!(asked.header("accept"), "text/markdown");
}

#[test]
fn any_thread_may_wait_and_dropping_closes_the_connection() {
    let gate = Gate::closed();
    let (held, half) = (gate.clone(), gate.clone());
    let server = Server::new()
        .route("/page", |_| Reply::text("x"))
        .route("/held", move |_| Reply::text("x").held(&held))
        .route("/half", move |_| {
            let pieces = vec!["a".into(), "b".into()];
            Reply::text("").pieces(pieces).held_after_first_piece(&half)
        })
        .start();
    let bench = TestNet::new();
    let (net, page) = (bench.net.clone(), bench.request(&server.url("/page")));
    let hanging = ["/held", "/half"].map(|path| bench.request(&server.url(path)));
    let runtime = bench.runtime;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let driver = std::thread::spawn(move || runtime.block_on(ended));
    // No runtime here.
    let fetched = futures::executor::block_on(net.fetch(page)).expect("a page");
    assert_eq!(text(&fetched), "x");
    for request in hanging {
        let path = request.url.path().to_owned();
        let mut fetch = Box::pin(net.fetch(request));
        assert!(fetch.as_mut().now_or_never().is_none());
        server.wait_until("it is asked", |server| server.count(&path) == 1);
        assert_eq!(net.in_flight(), 1);
        let dropped = Instant::now();
        drop(fetch);
        server.wait_until("it is closed", |server| server.open() == 0);
        assert!(
            dropped.elapsed() < Duration::from_millis(100),
            "{:?}",
            dropped.elapsed()
        );
        assert_eq!(net.in_flight(), 0);
    }
    drop(end);
    let _ = driver.join().expect("the runtime's thread");
}

#[test]
fn progress_is_told() {
    let server = Server::new().route("/", |_| Reply::text("four")).start();
    let bench = TestNet::new();
    let (told, progress) = tokio::sync::watch::channel(Progress::Connecting);
    let request = FetchRequest {
        progress: Some(told),
        ..bench.request(&server.url("/"))
    };
    bench.run(request).expect("a page");
    let last = Progress::Received {
        bytes: 4,
        of: Some(4),
    };
    assert_eq!(*progress.borrow(), last);
}

#[test]
fn redirects_are_followed_one_by_one() {
    let server = Server::new()
        .route("/a", |_| Reply::redirect(301, "b?x=1"))
        .route("/b", |_| {
            Reply::redirect(302, "/c#own").header("cache-control", "max-age=5")
        })
        .route("/d", |_| Reply::text("end"))
        .route("/c", |asked| {
            let port = asked
                .header("host")
                .rsplit(':')
                .next()
                .unwrap_or("")
                .to_owned();
            Reply::redirect(307, &format!("//localhost:{port}/é?ü#"))
        })
        .route("/%C3%A9", |asked| {
            Reply::redirect(
                308,
                &format!("http://user:secret@{}/d", asked.header("host")),
            )
        })
        .start();
    let bench = TestNet::new();
    let fetched = bench.fetch(&server.url("/a#first")).expect("a page");
    assert_eq!(text(&fetched), "end");
    assert_eq!(fetched.url.as_str(), server.url_by("localhost", "/d#"));
    let hops: Vec<(String, u16)> = fetched
        .hops
        .iter()
        .map(|hop| (hop.from.to_string(), hop.status))
        .collect();
    assert_eq!(
        hops,
        [
            (server.url("/a#first"), 301),
            (server.url("/b?x=1#first"), 302),
            (server.url("/c#own"), 307),
            (server.url_by("localhost", "/%C3%A9?%C3%BC#"), 308),
        ]
    );
    assert_eq!(fetched.hops[1].headers["cache-control"], "max-age=5");
    for asked in server.requests() {
        assert_eq!(
            (asked.header("referer"), asked.header("authorization")),
            ("", "")
        );
    }
}

#[test]
fn loops_and_long_ways_are_told() {
    let server = Server::new()
        .route("/x", |_| Reply::redirect(302, "/y"))
        .route("/y", |_| Reply::redirect(302, "/x#z"))
        .route("/self", |_| Reply::redirect(302, ""))
        .route("/nowhere", |_| Reply::redirect(302, "http://"))
        .route("/script", |_| Reply::redirect(302, "javascript:alert(1)"))
        .otherwise(|asked| {
            let step: u32 = asked.path.trim_start_matches("/n").parse().unwrap_or(0);
            match step {
                0 => Reply::text("end"),
                _ => Reply::redirect(302, &format!("/n{}", step - 1)),
            }
        })
        .start();
    let bench = TestNet::new();
    let told = bench.refused(&server.url("/x"));
    assert!(
        told.contains("round in a circle") && told.contains("/x#z"),
        "{told}"
    );
    assert_eq!((server.count("/x"), server.count("/y")), (1, 1));
    assert!(
        bench
            .refused(&server.url("/self"))
            .contains("round in a circle")
    );
    assert!(
        bench
            .refused(&server.url("/nowhere"))
            .contains("no address")
    );
    assert_eq!(text(&bench.fetch(&server.url("/n10")).expect("ten")), "end");
    let eleven = bench.fetch(&server.url("/n11")).expect_err("eleven");
    assert!(eleven.to_string().contains("more than 10 times") && !eleven.retryable());
    let refusal = eleven.into_refusal("u");
    assert_eq!(
        (refusal.kind(), refusal.retryable()),
        (RefusalKind::Network, false)
    );
    let script = bench.fetch(&server.url("/script")).expect_err("no address");
    assert_eq!(script.into_refusal("u").kind(), RefusalKind::Denied);
}

#[test]
fn a_guess_follows_no_redirect_to_another_origin() {
    let other = Server::new()
        .route("/", |_| Reply::text("elsewhere"))
        .start();
    let elsewhere = other.url("/");
    let server = Server::new()
        .route("/away", move |_| Reply::redirect(302, &elsewhere))
        .route("/near", |_| Reply::redirect(302, "/here"))
        .route("/here", |_| Reply::text("here"))
        .start();
    let bench = TestNet::new();
    let guess = |path: &str| {
        let request = FetchRequest {
            redirects: Redirects::SameOrigin,
            ..bench.request(&server.url(path))
        };
        bench.run(request).expect("an answer")
    };
    let away = guess("/away");
    assert_eq!((away.status, other.accepted()), (302, 0));
    assert_eq!(text(&guess("/near")), "here");
}

#[test]
fn extra_headers_go_to_whom_they_are_for() {
    let other = Server::new()
        .route("/", |_| Reply::text("elsewhere"))
        .start();
    let elsewhere = other.url("/");
    let server = Server::new()
        .route("/", move |_| Reply::redirect(302, &elsewhere))
        .start();
    let bench = TestNet::new();
    let headers = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        headers
    };
    let request = FetchRequest {
        headers: headers("x-own", "1"),
        conditional: vec![Conditional {
            url: Url::parse(&other.url("/#part")).expect("a URL"),
            headers: headers("if-none-match", "\"v1\""),
        }],
        ..bench.request(&server.url("/"))
    };
    bench.run(request).expect("a page");
    let (first, second) = (server.last(), other.last());
    assert_eq!(
        (first.header("x-own"), first.header("if-none-match")),
        ("1", "")
    );
    assert_eq!(
        (second.header("x-own"), second.header("if-none-match")),
        ("", "\"v1\"")
    );
}

#[test]
fn credentials_in_a_url_are_not_sent() {
    let server = Server::new().route("/", |_| Reply::text("x")).start();
    let bench = TestNet::new();
    let fetched = bench
        .fetch(&server.url_by("user:secret@localhost", "/"))
        .expect("a page");
    assert_eq!(fetched.url.as_str(), server.url_by("localhost", "/"));
    assert_eq!(server.last().header("authorization"), "");
}

#[test]
fn a_connection_that_breaks_before_its_answer_is_tried_once_more() {
    let page = || header("200 OK", &["Content-Length: 2"]) + "ok";
    let once = Hostile::start(move |mut connection| match connection.number {
        0 => connection.reset(),
        _ => {
            connection.send(page());
            connection.close();
        }
    });
    let bench = TestNet::new();
    assert_eq!(
        text(&bench.fetch(&once.url("/")).expect("the second time")),
        "ok"
    );
    assert_eq!(once.accepted(), 2);
    let always = Hostile::says("");
    let error = bench.fetch(&always.url("/")).expect_err("never");
    assert!(
        error.to_string().contains("broke before an answer") && error.retryable(),
        "{error}"
    );
    assert_eq!(always.accepted(), 2);
}

#[test]
fn a_server_that_says_when_is_asked_once_more() {
    let server = Server::new()
        .route("/soon", |_| {
            Reply::text("busy").status(503).header("retry-after", "1")
        })
        .route("/late", |_| {
            Reply::text("busy").status(429).header("retry-after", "6")
        })
        .route("/whenever", |_| Reply::text("busy").status(503))
        .start();
    let bench = TestNet::new();
    for (path, count) in [("/soon", 2), ("/late", 1), ("/whenever", 1)] {
        let fetched = bench.fetch(&server.url(path)).expect("an answer");
        assert_eq!(text(&fetched), "busy");
        assert_eq!(server.count(path), count, "{path}");
    }
    // Not past the deadline.
    let request = FetchRequest {
        deadline: Instant::now() + Duration::from_millis(700),
        ..bench.request(&server.url("/soon"))
    };
    assert_eq!(bench.run(request).expect("the first answer").status, 503);
    assert_eq!(server.count("/soon"), 3);
}
