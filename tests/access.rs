//! What may not be read is not read, by whatever name it is asked for; nothing secret may appear in any answer, notice or log.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::client::{Daemon, HANG, WireError};
use crate::tree::Tree;

const SECRET: &str = "hunter2-the-secret";

fn no_secret(text: &str) {
    assert!(!text.contains(SECRET), "a secret leaked: {text}");
}

fn refused(daemon: &mut Daemon, path: &str, kind: &str) -> WireError {
    let error = daemon.read(path).expect_err(path);
    assert_eq!(error.kind(), kind, "{path}: {}", error.message);
    assert_eq!(error.code, -32803, "{path}");
    no_secret(&error.message);
    no_secret(&error.data.to_string());
    error
}

/// The log so far, with all that was asked before: the daemon gathers lines for a moment, so a
/// request is made that can be waited for.
fn log_of(daemon: &Daemon) -> String {
    let last = "the-last-path-to-be-logged";
    daemon.read(last).expect_err("it is not there");
    let folder = daemon.state_dir().join("pilcrow");
    let begun = std::time::Instant::now();
    loop {
        let mut log = String::new();
        for entry in fs::read_dir(&folder).expect("the log folder") {
            log += &fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default();
        }
        if log.contains(last) {
            return log;
        }
        assert!(begun.elapsed() < HANG, "the log is never written: {log}");
    }
}

#[test]
fn a_denied_file_by_every_name() {
    let tree = Tree::new()
        .file(".env", format!("KEY={SECRET}\n"))
        .file(".env.example", "KEY=example\n")
        .file("deep/er/.env.local", format!("KEY={SECRET}\n"))
        .file("private/clé.txt", format!("{SECRET}\n"))
        .file(".agentignore", "/private/\n")
        .file("src/a.txt", "x\n");
    symlink(tree.join(".env"), tree.join("innocent.txt")).expect("a link");
    symlink("../.env", tree.join("src/relative-link")).expect("a link");
    symlink(tree.join("private"), tree.join("open-folder")).expect("a link");
    let mut daemon = Daemon::start(tree.path());
    let uri = format!("file://{}", tree.spelled(".env"));
    let encoded = format!("file://{}/%2Eenv", tree.path().display());
    let absolute = tree.spelled(".env");
    let names = [
        ".env",
        "./.env",
        "src/../.env",
        "src/./../.env",
        "innocent.txt",
        "src/relative-link",
        ".env:1-2",
        ".env:raw",
        "innocent.txt:raw",
        &absolute,
        &uri,
        &encoded,
        ".ENV",
        ".Env",
        ".env/",
        "deep/er/.env.local",
        "er/.env.local",
        ".env.missing",
        "private/clé.txt",
        "private/cle\u{301}.txt",
        "open-folder/clé.txt",
        "private",
        "private/",
        "open-folder",
        "private/missing.txt",
        "src/../private/missing.txt",
    ];
    for name in names {
        let error = refused(&mut daemon, name, "denied");
        assert!(
            error.message.contains("access.deny") || error.message.contains(".agentignore"),
            "{}",
            error.message
        );
        assert!(error.data["path"].is_string());
    }
    let many = json!({ "targets": names.map(|path| json!({ "path": path })) });
    let many = daemon.call("agent/readMany", many).expect("results");
    no_secret(&many.to_string());
    for result in many["results"].as_array().expect("a list") {
        assert_eq!(result["error"]["data"]["kind"], "denied");
    }
    let literal = json!({ "path": ".env", "selector": "raw" });
    assert_eq!(
        daemon.read_with(literal).expect_err("denied").kind(),
        "denied"
    );
    assert!(daemon.read_text(".env.example").contains("1:KEY=example"));
    no_secret(&log_of(&daemon));
}

#[test]
fn denied_names_are_not_suggested_listed_or_found_by_their_ending() {
    let tree = Tree::new()
        .file("conf/.env.prod", SECRET)
        .file("conf/secrets.yml", SECRET)
        .file("conf/secrets.yxl", "fine\n")
        .file(".rooignore", "secrets.yml\n");
    let mut daemon = Daemon::start(tree.path());
    let error = refused(&mut daemon, "conf/secrets.yal", "notFound");
    assert_eq!(error.data["suggestions"], json!(["conf/secrets.yxl"]));
    let error = daemon.read("secrets.yml").expect_err("denied by its name");
    assert_eq!(error.kind(), "denied");
    let listing = daemon.read_text("conf");
    assert!(listing.contains("secrets.yxl"));
    assert!(
        !listing.contains("secrets.yml") && !listing.contains(".env"),
        "{listing}"
    );
}

#[test]
fn ignore_files_hold_in_any_directory_and_can_change() {
    let tree = Tree::new()
        .file("pkg/.agentignore", "*.key\n!public.key\n")
        .file("pkg/in/a.key", SECRET)
        .file("pkg/in/public.key", "public\n")
        .file("other/a.key", "not ignored\n");
    let mut daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let error = refused(&mut daemon, "pkg/in/a.key", "denied");
    assert!(
        error.message.contains("'*.key' in pkg/.agentignore"),
        "{}",
        error.message
    );
    assert!(daemon.read_text("pkg/in/public.key").contains("public"));
    assert!(daemon.read_text("other/a.key").contains("not ignored"));
    // The ignore file itself is no secret.
    assert!(daemon.read_text("pkg/.agentignore").contains("1:*.key"));
    tree.write("pkg/.agentignore", "");
    let begun = std::time::Instant::now();
    while daemon.read("pkg/in/a.key").is_err() {
        assert!(
            begun.elapsed().as_secs() < 5,
            "rules may lag by a second only"
        );
    }
}

#[test]
fn settings_replace_the_lists() {
    let tree = Tree::new()
        .file(".env", "A=1\n")
        .file("x.pem", SECRET)
        .file(".agentignore", "never.txt\n")
        .file("never.txt", "read\n");
    let mut daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "access": { "deny": ["*.pem"], "ignoreFiles": [] } }))
        .start();
    assert!(daemon.read_text(".env").contains("1:A=1"));
    assert!(daemon.read_text("never.txt").contains("1:read"));
    refused(&mut daemon, "x.pem", "denied");
}

#[test]
fn outside_is_refused_the_same_whether_it_exists() {
    let outside = Tree::new().file("there.txt", SECRET);
    let tree = Tree::new().file("in.txt", "x\n");
    symlink(outside.join("there.txt"), tree.join("to-file")).expect("a link");
    symlink(outside.path(), tree.join("to-folder")).expect("a link");
    let mut daemon = Daemon::start(tree.path());
    let pairs = [
        (outside.spelled("there.txt"), outside.spelled("missing.txt")),
        (
            format!("{}:1-2", outside.spelled("there.txt")),
            format!("{}:1-2", outside.spelled("missing.txt")),
        ),
        ("to-folder/there.txt".into(), "to-folder/missing.txt".into()),
        (
            format!("../{}/there.txt", name(&outside)),
            format!("../{}/missing.txt", name(&outside)),
        ),
        (
            format!("file://{}", outside.spelled("there.txt")),
            format!("file://{}", outside.spelled("missing.txt")),
        ),
    ];
    for (there, missing) in pairs {
        let one = refused(&mut daemon, &there, "outsideWorkspace");
        let other = refused(&mut daemon, &missing, "outsideWorkspace");
        assert_eq!(
            one.message.replace("there.txt", "missing.txt"),
            other.message
        );
        let data = one.data.to_string().replace("there.txt", "missing.txt");
        assert_eq!(data, other.data.to_string());
        assert_eq!(one.data["setting"], "access.outsideWorkspace");
    }
    let real = refused(&mut daemon, "to-file", "outsideWorkspace").data["realPath"].clone();
    assert_eq!(real, outside.spelled("there.txt").as_str());
}

fn name(tree: &Tree) -> String {
    tree.path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

#[test]
fn outside_can_be_allowed_and_roots_added() {
    let outside = Tree::new().file("a.txt", "outside\n").file(".env", SECRET);
    let tree = Tree::new().file("in.txt", "x\n");
    for access in [
        json!({ "outsideWorkspace": "read" }),
        json!({ "outsideWorkspace": "allow" }),
        json!({ "additionalRoots": [outside.path()] }),
    ] {
        let mut daemon = Daemon::builder()
            .root(tree.path())
            .settings(json!({ "access": access }))
            .start();
        let text = daemon.read_text(outside.spelled("a.txt"));
        assert!(
            text.starts_with(&format!("¶{}#", outside.spelled("a.txt"))),
            "{text}"
        );
        refused(&mut daemon, &outside.spelled(".env"), "denied");
    }
}

#[test]
fn a_swapped_link_never_yields_an_outside_byte() {
    let outside = Tree::new().file("secret.txt", SECRET);
    let tree = Tree::new().file("real/secret.txt", "inside\n");
    let link = tree.join("swap");
    let spare = tree.join("spare");
    symlink(tree.join("real"), &link).expect("a link");
    let daemon = Daemon::start(tree.path());
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapper = {
        let (stop, outside, inside) = (stop.clone(), outside.path().to_owned(), tree.join("real"));
        std::thread::spawn(move || {
            let mut swaps = 0u32;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) || swaps < 1000 {
                for target in [&outside, &inside] {
                    symlink(target, &spare).expect("a spare link");
                    fs::rename(&spare, &link).expect("swapped");
                    swaps += 1;
                }
            }
            swaps
        })
    };
    let (mut inside, mut out) = (0, 0);
    for _ in 0..1000 {
        match daemon.read("swap/secret.txt:raw") {
            Ok(result) => {
                assert_eq!(result["content"][0]["text"], "inside\n");
                inside += 1;
            }
            Err(error) => {
                no_secret(&error.message);
                assert!(
                    ["outsideWorkspace", "notFound"].contains(&error.kind()),
                    "{error:?}"
                );
                out += 1;
            }
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(swapper.join().expect("the swapper") >= 1000);
    assert!(
        inside > 0 && out > 0,
        "the link was never caught both ways: {inside} {out}"
    );
}

#[test]
fn an_ignore_file_that_cannot_be_read_denies_what_is_below() {
    let tree = Tree::new().file("a/x.txt", SECRET).file("b.txt", "fine\n");
    fs::create_dir(tree.join("a/.agentignore")).expect("a folder of that name");
    let fifo = std::process::Command::new("mkfifo")
        .arg(tree.join(".rooignore"))
        .status();
    assert!(fifo.expect("mkfifo").success());
    let daemon = Daemon::start(tree.path());
    // Neither hangs; what such a thing means for the files below is the same for all: no rule can be read.
    let answers: Vec<Result<Value, WireError>> =
        ["a/x.txt", "b.txt"].map(|path| daemon.read(path)).into();
    for answer in answers {
        if let Err(error) = answer {
            assert_eq!(error.kind(), "denied", "{error:?}");
        }
    }
}
