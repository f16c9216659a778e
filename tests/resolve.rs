//! Paths that are not exactly right: variants, unique endings, near names, several roots; access is tested elsewhere.

use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

#[test]
fn a_unique_ending_is_found_and_said() {
    let tree = Tree::new()
        .file("deep/er/unique_name.txt", "here\n")
        .file("a/index.ts", "a\n")
        .file("b/index.ts", "b\n")
        .file(".gitignore", "/built/\n")
        .file("built/only_built.txt", "built\n")
        .file("node_modules/pkg/only_module.js", "m\n");
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.call("agent/status", json!({})).expect("status")["scans"],
        0
    );
    let result = daemon
        .read("er/unique_name.txt")
        .expect("found by its ending");
    let text = result["content"][0]["text"].as_str().expect("text");
    let (notice, rest) = text.split_once('\n').expect("a notice");
    assert_eq!(
        notice,
        "[Path 'er/unique_name.txt' not found; resolved to 'deep/er/unique_name.txt' via suffix match]"
    );
    assert!(rest.starts_with("¶deep/er/unique_name.txt#"));
    assert_eq!(
        result["details"]["suffixResolution"],
        json!({ "from": "er/unique_name.txt", "to": "deep/er/unique_name.txt" })
    );
    let raw = daemon.read("unique_name.txt:1-1:raw").expect("raw");
    assert_eq!(raw["content"][0]["text"], "here\n");
    assert!(
        raw["content"][1]["text"]
            .as_str()
            .expect("a notice")
            .starts_with("[Path 'unique_name.txt' not found")
    );
    let error = daemon.read("index.ts").expect_err("two of them");
    assert_eq!(error.kind(), "notFound");
    assert_eq!(
        error.data["suggestions"],
        json!(["a/index.ts", "b/index.ts"])
    );
    for hidden in [
        "only_built.txt",
        "only_module.js",
        "e/unique_name.txt",
        "nique_name.txt",
    ] {
        let error = daemon.read(hidden).expect_err(hidden);
        assert_eq!(error.kind(), "notFound", "{hidden}");
    }
    // Ignored files are read when they are named.
    assert!(daemon.read_text("built/only_built.txt").contains("1:built"));
    assert!(daemon.call("agent/status", json!({})).expect("status")["scans"].as_u64() > Some(0));
}

#[test]
fn near_names_are_suggested() {
    let tree = Tree::new()
        .file("config.tsx", "")
        .file("config.js", "")
        .file("src/MidName.ts", "")
        .file("README.md", "");
    let daemon = Daemon::start(tree.path());
    let error = daemon.read("config.ts").expect_err("missing");
    assert_eq!(
        error.message,
        "File not found: config.ts. Did you mean config.tsx or config.js?"
    );
    assert_eq!((error.code, error.kind()), (-32803, "notFound"));
    assert_eq!(error.data["retryable"], false);
    assert_eq!(
        daemon.read("src/midname.ts").expect_err("case").data["suggestions"],
        json!(["src/MidName.ts"])
    );
    assert_eq!(
        daemon.read("readme.md:1-5").expect_err("case").data["suggestions"],
        json!(["README.md"])
    );
    assert_eq!(
        daemon
            .read("zzz/qqq/xxx")
            .expect_err("nothing near")
            .message,
        "File not found: zzz/qqq/xxx."
    );
    assert_eq!(
        daemon.read("README.md/x").expect_err("below a file").kind(),
        "notFound"
    );
}

#[test]
fn variants_of_a_name_are_the_same_name() {
    let tree = Tree::new()
        .file("Capture d\u{2019}\u{e9}cran 10\u{202f}h.txt", "french\n")
        .file("sn\u{ed}mek.txt", "czech\n")
        .file("e\u{301}t\u{e9}/x.txt", "folder\n");
    let daemon = Daemon::start(tree.path());
    for (asked, row) in [
        ("Capture d'e\u{301}cran 10 h.txt", "1:french"),
        ("sni\u{301}mek.txt", "1:czech"),
        ("sni\u{301}mek.txt:1-1", "1:czech"),
        ("\u{e9}te\u{301}/x.txt", "1:folder"),
    ] {
        let text = daemon.read_text(asked);
        assert!(text.ends_with(row), "{asked}: {text}");
    }
    let text = daemon.read_text("sni\u{301}mek.txt");
    assert!(text.starts_with("¶sn\u{ed}mek.txt#"), "{text}");
}

#[test]
fn several_roots_are_tried_in_order_and_told_apart() {
    let one = Tree::new()
        .file("shared.txt", "one\n")
        .file("only1.txt", "1\n");
    let two = Tree::new()
        .file("shared.txt", "two\n")
        .file("only2.txt", "2\n");
    let daemon = Daemon::builder().root(one.path()).root(two.path()).start();
    let name = two
        .path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(daemon.read_text("shared.txt").starts_with("¶shared.txt#"));
    assert!(daemon.read_text("shared.txt").ends_with("1:one"));
    let text = daemon.read_text("only2.txt");
    assert!(text.starts_with(&format!("¶{name}/only2.txt#")), "{text}");
    assert!(
        daemon
            .read_text(format!("{name}/shared.txt"))
            .ends_with("1:two")
    );
    assert!(
        daemon
            .read_text(two.spelled("shared.txt"))
            .ends_with("1:two")
    );
    let event = json!({ "event": {
        "added": [],
        "removed": [{ "uri": format!("file://{}", two.path().display()), "name": name }],
    } });
    daemon.notify("workspace/didChangeWorkspaceFolders", event);
    assert_eq!(
        daemon
            .read(two.spelled("shared.txt"))
            .expect_err("gone")
            .kind(),
        "outsideWorkspace"
    );
    assert_eq!(
        daemon.read("only2.txt").expect_err("gone").kind(),
        "notFound"
    );
    let event = json!({ "event": {
        "added": [{ "uri": format!("file://{}", two.path().display()), "name": name }],
        "removed": [],
    } });
    daemon.notify("workspace/didChangeWorkspaceFolders", event);
    assert!(daemon.read_text("only2.txt").ends_with("1:2"));
}

#[test]
fn other_spellings_of_the_same_file() {
    let tree = Tree::new().file("src/a b.txt", "x\n");
    std::os::unix::fs::symlink("src", tree.join("alias")).expect("a link");
    let daemon = Daemon::start(tree.path());
    let uri = format!("file://{}", tree.spelled("src/a%20b.txt"));
    for path in [
        "src/a b.txt",
        "./src/a b.txt",
        "src/../src/a b.txt",
        &tree.spelled("src/a b.txt"),
        &uri,
        "alias/a b.txt",
    ] {
        let result = daemon.read(path).expect(path);
        assert_eq!(
            result["details"]["resolvedPath"],
            tree.spelled("src/a b.txt").as_str()
        );
        assert!(
            result["details"]["hashline"]["path"]
                .as_str()
                .is_some_and(|p| p == "src/a b.txt" || p == "alias/a b.txt")
        );
    }
    // A bare slash is the first root.
    assert_eq!(
        daemon.read("/").expect("the root")["details"]["kind"],
        "directory"
    );
    assert_eq!(daemon.read("").expect_err("empty").kind(), "badParams");
    assert_eq!(daemon.read("a\0b").expect_err("NUL").kind(), "badParams");
    assert_eq!(
        daemon
            .read("ftp://example.com/x")
            .expect_err("no scheme of ours")
            .kind(),
        "unsupported"
    );
    assert_eq!(
        daemon.read("file://host/x").expect_err("host").kind(),
        "badParams"
    );
}
