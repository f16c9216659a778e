//! Names that lie: asked of a DNS server of the test's own, in a network namespace where public addresses are ours (`names.py`).

use std::process::Command;

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::tree::Tree;

const NAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/web/names.py");

/// A daemon in that network; `None` where none can be made.
struct Network {
    tree: Tree,
    daemon: Daemon,
}

impl Network {
    fn start(web: Value) -> Option<Network> {
        let namespaces = ["--net", "--mount", "--propagation", "private"];
        let can = Command::new("unshare")
            .args(namespaces)
            .arg("true")
            .status();
        if !rustix::process::geteuid().is_root() || !can.is_ok_and(|it| it.success()) {
            // Only root makes such namespaces; CI is root.
            return None;
        }
        let tree = Tree::new();
        tree.write("record", "");
        let path = |name: &str| tree.path().join(name).to_string_lossy().into_owned();
        let (record, resolv) = (path("record"), path("resolv.conf"));
        let mut builder = Daemon::builder()
            .root(tree.path())
            .settings(json!({ "web": web }))
            .program("unshare");
        for argument in namespaces {
            builder = builder.arg(argument);
        }
        let program = env!("CARGO_BIN_EXE_pilcrow");
        for argument in [
            "python3", NAMES, &record, &resolv, program, "serve", "--stdio",
        ] {
            builder = builder.arg(argument);
        }
        let daemon = builder.start();
        Some(Network { tree, daemon })
    }

    /// The addresses that pages were asked at.
    fn asked_at(&self) -> Vec<String> {
        let record = std::fs::read_to_string(self.tree.path().join("record")).expect("a record");
        let pages = record.lines().filter_map(|line| line.strip_prefix("page "));
        pages
            .map(|page| page.split(' ').next().expect("an address").to_owned())
            .collect()
    }

    fn denied(&self, url: &str) -> String {
        let error = self.daemon.read(url).expect_err(url);
        assert_eq!(error.kind(), "denied", "{url}: {error:?}");
        error.message
    }
}

#[test]
fn a_name_is_judged_by_every_address_it_has() {
    let Some(network) = Network::start(json!({})) else {
        return;
    };
    let text = network.daemon.read_text("http://public.example/");
    assert!(text.contains("1:asked at 93.184.215.14"), "{text}");
    for (name, word) in [
        ("private", "web.allowPrivateNetwork"),
        ("loopback", "web.localNames"),
        ("metadata", "no setting allows that"),
        ("split", "web.allowPrivateNetwork"),
        ("split-metadata", "no setting allows that"),
    ] {
        let message = network.denied(&format!("http://{name}.example/"));
        assert!(message.contains(word), "{message}");
        // What a name led to is nobody's to know.
        for address in ["10.1.2.3", "127.0.0.1", "169.254"] {
            assert!(!message.contains(address), "{message}");
        }
    }
    assert_eq!(network.asked_at(), ["93.184.215.14"]);
}

#[test]
fn a_name_that_turns_inwards_is_not_followed() {
    let Some(network) = Network::start(json!({})) else {
        return;
    };
    for name in ["turns-private", "turns-loopback", "turns-metadata"] {
        let before = network.asked_at().len();
        // The first page sends on to the same name, whose address is another one by then.
        let answer = network.daemon.read(format!("http://{name}.example/again"));
        let asked = network.asked_at().split_off(before);
        assert_eq!(asked[0], "93.184.215.14");
        assert!(asked.iter().all(|at| at == "93.184.215.14"), "{asked:?}");
        if let Err(error) = answer {
            assert_eq!(error.kind(), "denied", "{error:?}");
        }
        // And a read later on.
        network.denied(&format!("http://{name}.example/later"));
    }
    let text = network.daemon.read_text("http://moves.example/again");
    assert!(text.contains("1:asked at 93.184.215.1"), "{text}");
}

#[test]
fn settings_open_what_they_name_and_no_more() {
    let web = json!({ "allowPrivateNetwork": true, "localNames": ["loopback.example"] });
    let Some(network) = Network::start(web) else {
        return;
    };
    for (name, at) in [("private", "10.1.2.3"), ("loopback", "127.0.0.1")] {
        let text = network.daemon.read_text(format!("http://{name}.example/"));
        assert!(text.contains(&format!("1:asked at {at}")), "{text}");
    }
    // Public to private, private to loopback: never inwards on the way.
    network.denied("http://turns-loopback.example/again");
    network.denied("http://metadata.example/");
    let asked = network.asked_at();
    assert!(asked.iter().all(|at| at != "169.254.169.254"), "{asked:?}");
}

#[test]
fn nothing_leads_inwards_whatever_is_allowed() {
    let web = json!({ "allowPrivateNetwork": true, "localNames": ["loopback.example"] });
    let Some(network) = Network::start(web) else {
        return;
    };
    for (from, to) in [
        ("public", "private.example"),
        ("public", "10.1.2.3"),
        ("public", "loopback.example"),
        ("public", "127.0.0.1"),
        ("public", "localhost"),
        ("public", "metadata.example"),
        ("private", "loopback.example"),
        ("private", "127.0.0.1"),
        ("private", "169.254.169.254"),
    ] {
        let before = network.asked_at().len();
        network.denied(&format!("http://{from}.example/to/{to}"));
        assert_eq!(network.asked_at().len(), before + 1, "{from} to {to}");
        // A page that names the other host by every way there is, and has nothing else to read.
        let page = format!("http://{from}.example/names/{to}");
        let text = network.daemon.read_text(&page);
        assert!(text.contains("it sends its reader on to"), "{text}");
        let asked = network.asked_at().split_off(before + 1);
        let at = match from {
            "public" => "93.184.215.14",
            _ => "10.1.2.3",
        };
        assert!(asked.iter().all(|it| it == at), "{from} to {to}: {asked:?}");
    }
    // Outwards it may go.
    let text = network
        .daemon
        .read_text("http://private.example/to/public.example");
    assert!(text.contains("1:asked at 93.184.215.14"), "{text}");
}
