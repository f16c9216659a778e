//! Who is asked and who is not: names that change what they lead to, ways inwards, proxies.

use super::proxy::Proxy;
use super::server::{Reply, Server};
use super::tls::Authority;
use super::*;
use crate::net::Space;
use crate::protocol::{Refusal, RefusalKind, settings};

#[test]
fn a_name_that_leads_here_is_refused_and_nothing_is_sent() {
    let server = Server::new().route("/", |_| Reply::text("here")).start();
    let bench = TestNet::with(|web| web.local_names = vec!["myapp.test".to_owned()]);
    bench.name("rebound.example", &[&["127.0.0.1"]]);
    bench.name("split.example", &[&["93.184.216.34", "127.0.0.1"]]);
    bench.name("six.example", &[&["::ffff:127.0.0.1"]]);
    bench.name("meta.example", &[&["169.254.169.254"]]);
    bench.name("inside.example", &[&["10.0.0.8"]]);
    bench.name("myapp.test", &[&["127.0.0.1"]]);
    for (name, words) in [
        ("rebound.example", "web.localNames"),
        ("split.example", "web.localNames"),
        ("six.example", "web.localNames"),
        ("meta.example", "never asked"),
        ("inside.example", "web.allowPrivateNetwork"),
    ] {
        let told = bench.refused(&server.url_by(name, "/"));
        assert!(told.contains(words) && told.contains(name), "{told}");
        for address in ["127.0.0.1", "169.254", "10.0.0.8"] {
            assert!(!told.contains(address), "{told}");
        }
    }
    assert_eq!(server.accepted(), 0);
    let fetched = bench
        .fetch(&server.url_by("myapp.test", "/"))
        .expect("a page");
    assert_eq!(
        (text(&fetched).as_str(), fetched.space),
        ("here", Space::Loopback)
    );
}

#[test]
fn the_connection_goes_to_what_was_judged() {
    let server = Server::new().route("/", |_| Reply::text("here")).start();
    let bench = TestNet::with(|web| web.local_names = vec!["swings.test".to_owned()]);
    // What it is the second time is judged the second time, and never asked for the first.
    bench.name("swings.test", &[&["127.0.0.1"], &["169.254.169.254"]]);
    let url = server.url_by("swings.test", "/");
    assert_eq!(text(&bench.fetch(&url).expect("a page")), "here");
    assert_eq!(*bench.names.asked.lock(), ["swings.test"]);
    assert!(bench.refused(&url).contains("never asked"));
    assert_eq!(server.accepted(), 1);
}

#[test]
fn nothing_that_is_no_name_is_resolved() {
    let server = Server::new().route("/", |_| Reply::text("here")).start();
    let bench = TestNet::new();
    for host in [
        "localhost",
        "a.localhost",
        "LOCALHOST.",
        "127.0.0.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
    ] {
        let url = server.url_by(host, "/");
        assert_eq!(text(&bench.fetch(&url).expect(host)), "here", "{host}");
    }
    assert!(bench.names.asked.lock().is_empty());
    let told = bench.refused("http://nobody.example/");
    assert!(told.contains("'nobody.example' has no address"), "{told}");
}

#[test]
fn a_page_never_leads_inwards() {
    let server = Server::new().route("/", |_| Reply::text("here")).start();
    let bench = TestNet::with(|web| web.allow_private_network = true);
    for from in [Space::Public, Space::Private] {
        let request = FetchRequest {
            from: Some(from),
            ..bench.request(&server.url("/"))
        };
        let refused = bench
            .run(request)
            .expect_err("inwards")
            .into_refusal("asked");
        let Refusal::NotAsked { path, setting, .. } = &refused else {
            panic!("{refused:?}");
        };
        assert_eq!(
            (path.as_str(), *setting, refused.kind()),
            ("asked", None, RefusalKind::Denied)
        );
    }
    assert_eq!(server.accepted(), 0);
}

#[test]
fn the_web_can_be_off_and_hosts_denied() {
    let server = Server::new()
        .route("/", |_| Reply::redirect(302, "http://b.localhost:1234/"))
        .start();
    let off = TestNet::with(|web| web.enabled = false);
    assert!(off.refused(&server.url("/")).contains("web.enabled"));
    let closed = TestNet::with(|web| web.allow_loopback = false);
    assert!(
        closed
            .refused(&server.url("/"))
            .contains("web.allowLoopback")
    );
    assert_eq!(server.accepted(), 0);
    // Each hop is judged.
    let denied = TestNet::with(|web| web.deny = vec!["*.localhost".to_owned()]);
    let told = denied.refused(&server.url_by("localhost", "/"));
    assert!(
        told.contains("'*.localhost' of the setting web.deny") && told.contains("//b."),
        "{told}"
    );
    assert_eq!(server.accepted(), 1);
}

fn through(proxy: &Proxy, credentials: &str) -> settings::Proxy {
    let url = format!("http://{credentials}{}", proxy.address());
    settings::Proxy::try_from(url).expect("a proxy")
}

#[test]
fn a_proxy_is_asked_in_full_and_resolves_the_name() {
    let server = Server::new().otherwise(|_| Reply::text("far")).start();
    let proxy = Proxy::to(server.address());
    let bench = TestNet::with(|web| web.proxy = through(&proxy, "me:secret@"));
    let fetched = bench.fetch("http://far.example/a?b").expect("a page");
    assert_eq!(
        (text(&fetched).as_str(), fetched.proxied, fetched.space),
        ("far", true, Space::Public)
    );
    assert!(bench.names.asked.lock().is_empty());
    let asked = proxy.asked();
    assert!(
        asked[0].starts_with("GET http://far.example/a?b HTTP/1.1\r\n"),
        "{asked:?}"
    );
    assert!(
        asked[0]
            .to_lowercase()
            .contains("proxy-authorization: basic bwu6c2vjcmv0"),
        "{asked:?}"
    );
    // Rules on literal addresses and names hold.
    assert!(
        bench
            .refused("http://10.0.0.1/")
            .contains("web.allowPrivateNetwork")
    );
    assert!(
        bench
            .refused("http://169.254.169.254/")
            .contains("never asked")
    );
    assert!(
        bench
            .refused("http://metadata.google.internal/")
            .contains("never asked")
    );
    assert_eq!(proxy.asked().len(), 1);
}

#[test]
fn this_machine_is_never_asked_through_a_proxy() {
    let server = Server::new().otherwise(|_| Reply::text("here")).start();
    let proxy = Proxy::to(server.address());
    let bench = TestNet::with(|web| {
        web.proxy = through(&proxy, "");
        web.local_names = vec!["myapp.test".to_owned()];
    });
    bench.name("myapp.test", &[&["127.0.0.1"]]);
    for host in ["localhost", "127.0.0.1", "x.localhost", "myapp.test"] {
        let fetched = bench.fetch(&server.url_by(host, "/")).expect("a page");
        assert_eq!((text(&fetched).as_str(), fetched.proxied), ("here", false));
    }
    assert!(proxy.asked().is_empty());
}

#[test]
fn tls_goes_through_a_tunnel() {
    let authority = Authority::new();
    let server = Server::new()
        .otherwise(|_| Reply::text("far"))
        .tls(authority.identity(&["far.example"]))
        .start();
    let proxy = Proxy::to(server.address());
    let mut bench = TestNet::with(|web| web.proxy = through(&proxy, ""));
    let file = bench.folder.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).expect("a file");
    bench.settings.ca_file = Some(file.to_string_lossy().into_owned());
    let fetched = bench.fetch("https://far.example/a").expect("a page");
    assert_eq!((text(&fetched).as_str(), fetched.proxied), ("far", true));
    assert!(proxy.asked()[0].starts_with("CONNECT far.example:443 HTTP/1.1\r\n"));
    assert!(!server.last().absolute);
    // The proxy cannot pass itself off as somebody else.
    let told = bench.refused("https://other.example/");
    assert!(told.contains("for another name"), "{told}");
}

#[test]
fn a_proxy_that_is_not_there_is_told() {
    let bench = TestNet::with(|web| {
        web.proxy = settings::Proxy::try_from("http://user:secret@127.0.0.1:9".to_owned())
            .expect("a proxy");
    });
    for url in ["http://far.example/", "https://far.example/"] {
        let told = bench.refused(url);
        assert!(
            told.contains("to the proxy") && !told.contains("secret"),
            "{told}"
        );
    }
}
