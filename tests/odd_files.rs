//! What is no ordinary file, or is none for long: a typed answer, never a hang, and other requests served meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::json;

use crate::client::Daemon;
use crate::tree::Tree;

#[test]
fn fifos_sockets_and_devices() {
    let tree = Tree::new().file("plain.txt", "x\n");
    let made = Command::new("mkfifo")
        .arg(tree.join("fifo"))
        .status()
        .expect("mkfifo");
    assert!(made.success());
    let _socket = UnixListener::bind(tree.join("socket")).expect("a socket");
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "access": { "outsideWorkspace": "read" } }))
        .start();
    daemon.ignore_changes();
    let cases = [
        ("fifo", "FIFO"),
        ("socket", "socket"),
        ("/dev/zero", "device"),
        ("/dev/tty", "device"),
        ("fifo:1-5", "FIFO"),
    ];
    let slow: Vec<_> = cases
        .map(|(path, _)| daemon.request("agent/read", json!({ "path": path })))
        .into();
    assert!(daemon.read_text("plain.txt").ends_with("1:x"));
    for ((path, what), id) in cases.iter().zip(slow) {
        let error = daemon.wait(&id).expect_err(path);
        assert_eq!((error.code, error.kind()), (-32803, "notRegular"), "{path}");
        assert!(error.message.contains(what), "{}", error.message);
    }
}

#[test]
fn proc_files_claim_no_size_and_are_read_each_time() {
    let tree = Tree::new();
    let mut daemon = Daemon::builder()
        .root(tree.path())
        .settings(json!({ "access": { "outsideWorkspace": "read" } }))
        .start();
    daemon.ignore_changes();
    let version = fs::read_to_string("/proc/version").expect("/proc/version");
    assert_eq!(daemon.read_text("/proc/version:raw"), version);
    let uptime = |daemon: &mut Daemon| daemon.read_text("/proc/uptime:raw");
    let first = uptime(&mut daemon);
    let begun = std::time::Instant::now();
    while uptime(&mut daemon) == first {
        assert!(
            begun.elapsed().as_secs() < 10,
            "/proc/uptime is served from a cache"
        );
    }
}

#[test]
fn unreadable_files_say_so() {
    let tree = Tree::new()
        .file("secret.txt", "x\n")
        .file("locked/in.txt", "x\n")
        .file("open.txt", "fine\n");
    fs::set_permissions(tree.join("secret.txt"), PermissionsExt::from_mode(0o000)).expect("mode");
    fs::set_permissions(tree.join("locked"), PermissionsExt::from_mode(0o000)).expect("mode");
    fs::set_permissions(tree.path(), PermissionsExt::from_mode(0o755)).expect("mode");
    let daemon = Daemon::builder().root(tree.path()).ordinary_user().start();
    daemon.ignore_changes();
    for path in ["secret.txt", "locked/in.txt", "locked"] {
        let error = daemon.read(path).expect_err(path);
        assert_eq!(
            (error.code, error.kind()),
            (-32803, "io"),
            "{path}: {}",
            error.message
        );
        assert!(
            error.message.contains("ermission denied"),
            "{}",
            error.message
        );
    }
    assert!(daemon.read_text("open.txt").ends_with("1:fine"));
    fs::set_permissions(tree.join("locked"), PermissionsExt::from_mode(0o755)).expect("mode");
}

#[test]
fn a_file_and_a_folder_that_swap_places() {
    let tree = Tree::new().file("a", "file\n").file("other.txt", "x\n");
    fs::create_dir(tree.join("b")).expect("a folder");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapper = {
        let (stop, a, b, spare) = (
            stop.clone(),
            tree.join("a"),
            tree.join("b"),
            tree.join("spare"),
        );
        std::thread::spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::rename(&a, &spare).expect("renamed");
                fs::rename(&b, &a).expect("renamed");
                fs::rename(&spare, &b).expect("renamed");
            }
        })
    };
    for _ in 0..300 {
        match daemon.read("a") {
            Ok(result) => {
                let kind = result["details"]["kind"].as_str().expect("a kind");
                let text = result["content"][0]["text"].as_str().expect("text");
                let right = match kind {
                    "file" => text.ends_with("\n1:file"),
                    _ => text.contains("(empty directory)"),
                };
                assert!(right, "{kind}: {text}");
            }
            Err(error) => assert!(["notFound", "io"].contains(&error.kind()), "{error:?}"),
        }
        assert!(daemon.read_text("other.txt").ends_with("1:x"));
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().expect("the swapper");
}

#[test]
fn a_file_that_grows_while_it_is_read_is_never_torn() {
    let tree = Tree::new().file("f.txt", "");
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writer = {
        let (stop, path, spare) = (stop.clone(), tree.join("f.txt"), tree.join("spare"));
        std::thread::spawn(move || {
            let mut round = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                let line = format!("{round:08}\n");
                fs::write(&spare, line.repeat(20_000)).expect("written");
                fs::rename(&spare, &path).expect("renamed");
            }
        })
    };
    for _ in 0..200 {
        let result = daemon.read("f.txt:raw").expect("a read");
        let text = result["content"][0]["text"].as_str().expect("text");
        let first = text.lines().next().unwrap_or("");
        assert!(
            text.lines().all(|line| line == first),
            "two versions in one answer"
        );
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().expect("the writer");
}
