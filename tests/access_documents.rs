//! The text of an open document is given if and only if the file at its address may be read: every name of it, in every form of every method, in every state; nothing secret in any message.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Daemon, Id, WireError, file_uri};
use crate::editor::capabilities;
use crate::tree::Tree;

const SECRET: &str = "hunter2-the-secret";
const SHOWN: &str = "for-everyone-to-see";

/// Requests that are sent before the first answer is waited for.
const AT_ONCE: usize = 200;

/// What the client says of its documents, one after the other.
const STATES: [Option<bool>; 3] = [None, Some(false), Some(true)];

/// A document that the editor has open.
struct Open {
    /// As the client spells it.
    uri: String,
    /// The path that it names; none for a file of another machine, or of none.
    address: Option<PathBuf>,
    /// More names that lead to the same file.
    others: Vec<String>,
}

fn open(daemon: &Daemon, document: &Open, text: &str) {
    let item =
        json!({ "uri": document.uri, "languageId": "plaintext", "version": 1, "text": text });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": item }));
}

fn say(daemon: &Daemon, document: &Open, dirty: Option<bool>) {
    if let Some(dirty) = dirty {
        let params = json!({ "uri": document.uri, "version": 1, "dirty": dirty });
        daemon.notify("agent/documentState", params);
    }
}

/// Every byte escaped that may be, with digits of that case.
fn escaped(path: &Path, upper: bool) -> String {
    let escape = |byte: &u8| match (byte, upper) {
        (b'/', _) => "/".to_owned(),
        (byte, true) => format!("%{byte:02X}"),
        (byte, false) => format!("%{byte:02x}"),
    };
    let bytes = path.as_os_str().as_encoded_bytes();
    format!("file://{}", bytes.iter().map(escape).collect::<String>())
}

/// The names of a document: its own, those that its address has, and those by a new link to its
/// file and to its folder.
fn aliases(tree: &Tree, number: usize, document: &Open) -> Vec<String> {
    let mut names = document.others.clone();
    names.push(document.uri.clone());
    names.push(format!(" {}", document.uri));
    let Some(address) = &document.address else {
        return names;
    };
    let (to_file, to_folder) = (format!("to-file-{number}"), format!("to-folder-{number}"));
    let folder = address.parent().expect("it is in a folder");
    let name = address.file_name().expect("a name");
    let _ = symlink(address, tree.join(&to_file));
    let _ = symlink(folder, tree.join(&to_folder));
    let by_folder = Path::new(&to_folder).join(name).display().to_string();
    for link in [to_file, by_folder] {
        names.extend([file_uri(&tree.join(&link)), tree.spelled(&link), link]);
    }
    let below = folder.file_name().expect("a name").to_string_lossy();
    let climbing = format!("{}/../{below}/{}", folder.display(), name.display());
    let doubled = address.display().to_string().replace('/', "//");
    let path = address.display().to_string();
    names.extend([
        format!("file://{path}"),
        format!("FILE://{path}"),
        format!("file:{path}"),
        format!("file://localhost{path}"),
        format!("file://LOCALHOST{path}"),
        format!("file://{climbing}"),
        format!("file://{}/./{}", folder.display(), name.display()),
        format!("file://{doubled}"),
        format!("file:/{}", doubled.trim_start_matches('/')),
        escaped(address, true),
        escaped(address, false),
        escaped(address, true).replace('%', "%25"),
        climbing,
        doubled,
    ]);
    match address.strip_prefix(tree.path()) {
        Ok(below) => names.push(below.display().to_string()),
        Err(_) => {
            let up = "../".repeat(tree.path().components().count());
            names.push(format!("{up}{}", path.trim_start_matches('/')));
        }
    }
    names.push(path);
    names
}

/// All forms of a read of that path.
fn reads(path: &str) -> Vec<Value> {
    let mut reads = Vec::new();
    for dialect in ["hashline", "numbered", "plain"] {
        for selector in ["", ":raw", ":1-", ":conflicts", ":1-1:raw", "#raw"] {
            reads.push(json!({ "dialect": dialect, "path": format!("{path}{selector}") }));
        }
        for selector in ["", "raw", "1-", "conflicts"] {
            reads.push(json!({ "dialect": dialect, "path": path, "selector": selector }));
        }
    }
    reads.push(json!({ "path": path, "selector": "raw", "want": ["displayContent"] }));
    reads.extend([
        json!({ "dialect": "opencode", "filePath": path }),
        json!({ "dialect": "opencode", "filePath": path, "offset": 1, "limit": 5 }),
        json!({ "dialect": "pikuri", "path": path }),
        json!({ "dialect": "pikuri", "path": path, "offset": 1, "limit": 5 }),
        json!({ "dialect": "llm-gateway", "filePath": path }),
        json!({ "dialect": "llm-gateway", "filePath": path, "offset": 0, "limit": 5 }),
        json!({ "dialect": "roo", "path": path }),
        json!({ "dialect": "roo", "path": path, "start_line": 1, "end_line": 5 }),
    ]);
    reads
}

/// All forms of every request that names a path, none of which makes a file.
fn requests(path: &str) -> Vec<(&'static str, Value)> {
    let each = reads(path);
    let mut requests = vec![("agent/readMany", json!({ "targets": each }))];
    // On its own each form goes another way than among others; those of one dialect tell.
    let single = each.into_iter().filter(|read| match &read["dialect"] {
        Value::String(dialect) => dialect == "hashline",
        _ => true,
    });
    requests.extend(single.map(|read| ("agent/read", read)));
    let edits = [
        json!({ "op": "replace", "start": 1, "text": "x" }),
        json!({ "op": "replace_text", "old": "KEY", "new": "x" }),
        json!({ "op": "replace_text", "old": "nothing like it", "new": "x" }),
    ];
    for dry_run in [true, false] {
        for edit in &edits {
            let file = json!({ "path": path, "tag": "0000", "edits": [edit] });
            let params = json!({ "files": [file], "dryRun": dry_run });
            requests.push(("agent/edit", params));
        }
        let untagged = json!({ "path": path, "edits": [edits[1]] });
        let params = json!({ "files": [untagged], "dryRun": dry_run });
        requests.push(("agent/edit", params));
        let patch = format!("¶{path}#0000\nreplace 1:\n+x\n");
        requests.push(("agent/edit", json!({ "patch": patch, "dryRun": dry_run })));
    }
    for expect in ["absent", "0000"] {
        let params = json!({ "path": path, "text": "x\n", "expect": expect, "dryRun": true });
        requests.push(("agent/write", params));
    }
    requests.push(("agent/flush", json!({ "paths": [path] })));
    requests
}

/// Sends them all and hands each answer on.
fn ask_all(
    daemon: &Daemon,
    requests: impl Iterator<Item = (&'static str, Value)>,
    mut answered: impl FnMut(&str, &Value, Result<Value, WireError>),
) {
    let mut sent: Vec<(Id, &str, Value)> = Vec::new();
    let mut requests = requests.peekable();
    while requests.peek().is_some() {
        for (method, params) in requests.by_ref().take(AT_ONCE) {
            sent.push((daemon.request(method, params.clone()), method, params));
        }
        for (id, method, params) in sent.drain(..) {
            answered(method, &params, daemon.wait(&id));
        }
    }
}

/// A workspace, what is outside of it, and documents whose files may not be read.
fn forbidden(tree: &Tree, outside: &Tree) -> Vec<Open> {
    symlink(".env", tree.join("to-denied")).expect("a link");
    symlink(outside.join("x.txt"), tree.join("to-outside")).expect("a link");
    symlink(outside.path(), tree.join("outside-folder")).expect("a link");
    symlink(tree.join("hidden"), tree.join("hidden-folder")).expect("a link");
    symlink("ok.txt", tree.join(".env.link")).expect("a link");
    let at = |address: PathBuf, others: &[&str]| Open {
        uri: file_uri(&address),
        address: Some(address),
        others: others.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut documents = vec![
        at(
            outside.join("x.txt"),
            &["to-outside", "outside-folder/x.txt"],
        ),
        at(
            outside.join("never-saved.txt"),
            &["outside-folder/never-saved.txt"],
        ),
        at(tree.join(".env"), &["to-denied"]),
        at(tree.join(".env.never"), &[]),
        at(tree.join("hidden/h.txt"), &["hidden-folder/h.txt", "h.txt"]),
        at(
            tree.join("hidden/never-saved.txt"),
            &["hidden-folder/never-saved.txt"],
        ),
        at(tree.join("to-denied"), &[]),
        at(tree.join("to-outside"), &[]),
        at(tree.join("outside-folder/x.txt"), &[]),
        at(tree.join("outside-folder/never-saved.txt"), &[]),
        at(tree.join("hidden-folder/h.txt"), &[]),
        at(tree.join("hidden-folder/never-saved.txt"), &[]),
        // A denied name that leads to what may be read.
        at(tree.join(".env.link"), &["ok.txt"]),
    ];
    // The client's own spelling need not be a plain one.
    documents[1].uri = escaped(&outside.join("never-saved.txt"), false);
    documents[3].uri = format!("FILE://localhost{}", tree.spelled("src/../.env.never"));
    for uri in [
        "file://server/share/x.txt",
        "file:notes",
        "file:",
        "file://",
    ] {
        documents.push(Open {
            uri: uri.to_owned(),
            address: None,
            others: Vec::new(),
        });
    }
    documents
}

#[test]
fn no_text_of_a_document_whose_file_may_not_be_read_is_in_any_message() {
    let outside = Tree::new().file("x.txt", format!("KEY={SECRET}\n"));
    let tree = Tree::new()
        .file(".env", format!("KEY={SECRET}\n"))
        .file("hidden/h.txt", format!("KEY={SECRET}\n"))
        .file(".agentignore", "hidden/\n")
        .file("ok.txt", "KEY=ok\n")
        .file("src/a.txt", "x\n");
    let documents = forbidden(&tree, &outside);
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    let names: Vec<String> = documents
        .iter()
        .enumerate()
        .flat_map(|(number, document)| aliases(&tree, number, document))
        .collect();
    let all_at_each = std::env::var_os("PILCROW_LONG").is_some_and(|value| value == "1");
    let mut asked = 0;
    for (turn, dirty) in STATES.into_iter().enumerate() {
        for document in &documents {
            open(&daemon, document, &format!("KEY={SECRET} {turn}\n"));
            say(&daemon, document, dirty);
        }
        // In the short form each request is sent in one of the states: each name and each form in
        // all of them.
        let all = names.iter().enumerate().flat_map(|(at, name)| {
            let requests = requests(name).into_iter().enumerate();
            let due =
                requests.filter(move |(form, _)| all_at_each || (at + form) % STATES.len() == turn);
            due.map(|(_, request)| request)
        });
        ask_all(&daemon, all, |method, params, answer| {
            asked += 1;
            let text = match &answer {
                Ok(result) => result.to_string(),
                Err(error) => format!("{} {}", error.message, error.data),
            };
            assert!(
                !text.contains(SECRET),
                "{dirty:?}: {method} {params} leaks: {text}"
            );
        });
    }
    assert!(asked > 5_000, "{asked} requests");
    // Neither a notification nor a request of the daemon is left over: the client would say so.
    let status = daemon.call("agent/status", Value::Null).expect("a status");
    assert!(!status.to_string().contains(SECRET));
    // What may be read was edited on disk, where the denied name has no say.
    let edited = fs::read_to_string(tree.join("ok.txt"));
    assert_eq!(edited.expect("it is there"), "x=ok\n");
}

#[test]
fn the_text_of_a_document_whose_file_may_be_read_is_given_by_every_name() {
    let tree = Tree::new()
        .file("saved.txt", "disk\n")
        .file("real/linked.txt", "disk\n")
        .file("src/a.txt", "x\n");
    symlink("real", tree.join("folder")).expect("a link");
    let daemon = Daemon::start(tree.path());
    let at = |name: &str, others: &[&str]| Open {
        uri: file_uri(&tree.join(name)),
        address: Some(tree.join(name)),
        others: others.iter().map(|name| (*name).to_owned()).collect(),
    };
    let documents = [
        at("saved.txt", &["src/../saved.txt"]),
        at("never-saved.txt", &["src/../never-saved.txt"]),
        at("folder/linked.txt", &["real/linked.txt"]),
        at("folder/never-saved.txt", &["real/never-saved.txt"]),
        Open {
            uri: escaped(&tree.join("src/new.txt"), false),
            address: Some(tree.join("src/new.txt")),
            others: Vec::new(),
        },
    ];
    for dirty in [None, Some(true)] {
        for document in &documents {
            open(&daemon, document, &format!("{SHOWN}\n"));
            say(&daemon, document, dirty);
        }
        for (number, document) in documents.iter().enumerate() {
            let names = aliases(&tree, number, document);
            // With a space before it, and escaped twice, it is no name of a document.
            let names = names
                .iter()
                .filter(|name| !name.starts_with(' ') && !name.contains("%25"));
            let all = names.flat_map(|name| {
                let plain = json!({ "path": name });
                let apart = json!({ "path": name, "selector": "raw" });
                [("agent/read", plain), ("agent/read", apart)]
            });
            ask_all(&daemon, all, |_, params, answer| {
                let result = answer.unwrap_or_else(|error| panic!("{params}: {error:?}"));
                let text = result["content"][0]["text"].as_str().expect("a text");
                assert!(text.contains(SHOWN), "{dirty:?}: {params}: {text}");
                assert_eq!(result["details"]["origin"], "editor", "{params}");
                assert_eq!(result["details"]["uri"], document.uri, "{params}");
            });
        }
    }
}

#[test]
fn a_file_by_its_uri_is_read_with_a_selector_apart_as_by_its_path() {
    let tree = Tree::new()
        .file("a.txt", "disk\n")
        .file("file:/b.txt", "literally\n");
    let daemon = Daemon::start(tree.path());
    let uri = file_uri(&tree.join("a.txt"));
    let read = |path: &str| daemon.read_with(json!({ "path": path, "selector": "raw" }));
    assert_eq!(read(&uri).expect("a read")["content"][0]["text"], "disk\n");
    // What literally has that name wins.
    let literally = read("file:/b.txt").expect("a read");
    assert_eq!(literally["content"][0]["text"], "literally\n");
    let refusal = read("file:///etc/passwd").expect_err("it is outside");
    assert_eq!(refusal.kind(), "outsideWorkspace");
    assert_eq!(
        read("file://server/x").expect_err("elsewhere").kind(),
        "badParams"
    );
    // It waits for the edits before it, as by any other name.
    let new = file_uri(&tree.join("new.txt"));
    let write = daemon.request(
        "agent/write",
        json!({ "path": "new.txt", "text": "made\n" }),
    );
    let made = daemon.request("agent/read", json!({ "path": new, "selector": "raw" }));
    daemon.wait(&write).expect("a write");
    let made = daemon.wait(&made).expect("a read of what was just made");
    assert_eq!(made["content"][0]["text"], "made\n");
}

#[test]
fn a_document_whose_link_is_changed_to_a_denied_file_is_not_given_any_more() {
    let tree = Tree::new()
        .file("ok.txt", "ok\n")
        .file(".env", format!("{SECRET}\n"));
    symlink("ok.txt", tree.join("link.txt")).expect("a link");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let document = Open {
        uri: file_uri(&tree.join("link.txt")),
        address: Some(tree.join("link.txt")),
        others: Vec::new(),
    };
    open(&daemon, &document, &format!("{SHOWN}\n"));
    assert!(daemon.read_text("ok.txt").contains(SHOWN));
    fs::remove_file(tree.join("link.txt")).expect("removed");
    symlink(".env", tree.join("link.txt")).expect("a link");
    assert_eq!(daemon.read_text("ok.txt:raw"), "ok\n");
    for path in ["link.txt", &document.uri] {
        for params in [
            json!({ "path": path }),
            json!({ "path": path, "selector": "" }),
        ] {
            let refusal = daemon.read_with(params).expect_err("it is denied");
            assert_eq!(refusal.kind(), "denied");
        }
    }
}
