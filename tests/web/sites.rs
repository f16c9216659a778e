//! Site rules over the wire: the hosts' names lead, by a proxy's tunnel, to a server of the test's own.

use serde_json::{Value, json};

use super::proxy::Proxy;
use super::server::{Reply, Running, Server};
use super::tls::Authority;
use crate::client::Daemon;
use crate::tree::Tree;

const HOSTS: &[&str] = &[
    "github.com",
    "raw.githubusercontent.com",
    "gist.github.com",
    "gist.githubusercontent.com",
    "gitlab.com",
    "codeberg.org",
    "gitea.com",
    "bitbucket.org",
    "huggingface.co",
    "arxiv.org",
];

/// Everything of a rule, and what stands behind it.
struct Sites {
    server: Running,
    daemon: Daemon,
    _proxy: Proxy,
    _tree: Tree,
}

impl Sites {
    fn start(server: Server, settings: Value) -> Sites {
        let (tree, authority) = (Tree::new(), Authority::new());
        tree.write("authority.pem", authority.pem());
        let server = server
            .tls(authority.identity(HOSTS).without_http2())
            .start();
        let proxy = Proxy::to(server.address());
        let mut web = settings;
        web["proxy"] = json!(format!("http://{}", proxy.address()));
        web["caFile"] = json!(tree.path().join("authority.pem"));
        let daemon = Daemon::builder()
            .root(tree.path())
            .settings(json!({ "web": web }))
            .start();
        Sites {
            server,
            daemon,
            _proxy: proxy,
            _tree: tree,
        }
    }

    fn read(&self, url: &str) -> (String, Value) {
        let result = self.daemon.read(url).expect(url);
        let text = result["content"][0]["text"].as_str().expect("a text");
        (text.to_owned(), result["details"].clone())
    }

    /// All that was asked for since `from` requests, with hosts.
    fn asked_since(&self, from: usize) -> Vec<String> {
        let requests = self.server.requests().into_iter().skip(from);
        let asked = requests.map(|asked| format!("{}{}", asked.header("host"), asked.path));
        asked.collect()
    }
}

#[test]
fn what_a_site_has_as_it_is_is_read_from_there() {
    let sites = Sites::start(
        Server::new().otherwise(|_| Reply::text("fn one() {}\nfn two() {}\nfn three() {}\n")),
        json!({}),
    );
    for (url, asked) in [
        (
            "https://github.com/o/r/blob/main/src/a.rs",
            "raw.githubusercontent.com/o/r/main/src/a.rs",
        ),
        (
            "https://github.com/o/r/raw/v1.2/a.rs",
            "raw.githubusercontent.com/o/r/v1.2/a.rs",
        ),
        (
            "https://github.com/o/other",
            "raw.githubusercontent.com/o/other/HEAD/README.md",
        ),
        (
            "https://gist.github.com/o/0123abc",
            "gist.githubusercontent.com/o/0123abc/raw",
        ),
        (
            "https://gitlab.com/g/sub/r/-/blob/main/a.rs",
            "gitlab.com/g/sub/r/-/raw/main/a.rs",
        ),
        (
            "https://codeberg.org/o/r/src/branch/main/a.rs",
            "codeberg.org/o/r/raw/branch/main/a.rs",
        ),
        (
            "https://gitea.com/o/r/src/tag/v1/a.rs",
            "gitea.com/o/r/raw/tag/v1/a.rs",
        ),
        (
            "https://bitbucket.org/o/r/src/main/a.rs",
            "bitbucket.org/o/r/raw/main/a.rs",
        ),
        (
            "https://huggingface.co/o/m/blob/main/a.rs",
            "huggingface.co/o/m/resolve/main/a.rs",
        ),
    ] {
        let before = sites.server.requests().len();
        let (text, _) = sites.read(url);
        let host = asked.split('/').next().expect("a host");
        assert!(text.contains(&format!("read from {host}")), "{text}");
        assert!(text.contains("fn two() {}"), "{text}");
        assert_eq!(sites.asked_since(before), [asked], "{url}");
        // Reading on asks nobody.
        let (text, _) = sites.read(&format!("{url}:2-2"));
        assert!(
            text.ends_with("\n2:fn two() {}") || text.contains("2:fn two() {}"),
            "{text}"
        );
        assert_eq!(sites.asked_since(before).len(), 1, "{url}");
    }
    // A fragment of lines is a range of them.
    let (text, _) = sites.read("https://github.com/o/r/blob/main/src/a.rs#L2-L3");
    assert!(
        text.contains("2:fn two() {}") && !text.contains("1:fn one() {}"),
        "{text}"
    );
}

#[test]
fn where_the_site_has_nothing_the_page_itself_is_read() {
    let sites = Sites::start(
        Server::new()
            .route("/o/r/blob/main/a.rs", |_| {
                Reply::html("<html><body><main><h1>a.rs</h1><p>The page of a file.</p></main></body></html>")
            })
            .route("/abs/2401.00001", |_| {
                Reply::html("<html><body><main><h1>A paper</h1><p>Its abstract.</p></main></body></html>")
            }),
        json!({}),
    );
    let (text, _) = sites.read("https://github.com/o/r/blob/main/a.rs");
    assert!(
        text.contains("raw.githubusercontent.com answered 404; this is the page itself"),
        "{text}"
    );
    assert!(text.contains("The page of a file."), "{text}");
    assert_eq!(
        sites.asked_since(0),
        [
            "raw.githubusercontent.com/o/r/main/a.rs",
            "github.com/o/r/blob/main/a.rs"
        ]
    );
    let (text, _) = sites.read("https://arxiv.org/abs/2401.00001");
    assert!(
        text.contains("the paper: https://arxiv.org/pdf/2401.00001"),
        "{text}"
    );
    assert_eq!(sites.asked_since(2), ["arxiv.org/abs/2401.00001"]);
}

#[test]
fn rules_that_are_off_are_not_followed() {
    let page = "<html><body><main><h1>a.rs</h1><p>The page of a file.</p></main></body></html>";
    let sites = Sites::start(
        Server::new().otherwise(move |_| Reply::html(page)),
        json!({ "sites": false }),
    );
    let (text, _) = sites.read("https://github.com/o/r/blob/main/a.rs");
    assert!(text.contains("The page of a file."), "{text}");
    assert_eq!(sites.asked_since(0), ["github.com/o/r/blob/main/a.rs"]);
}
