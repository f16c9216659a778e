//! Parsers that crash, spin, stop or lie: one answer lacks its structure and says so, and nothing else is lost.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Daemon, file_uri};
use crate::processes::{children, descriptors, is_stopped, until, zombies};
use crate::tree::Tree;

const NOTICE: &str = "[No structure: the Rust parser did not finish on this text]";

/// A source file worth folding, with a comment of these words.
fn code(words: &str) -> String {
    let function =
        |number: usize| format!("fn f{number}() {{\n    one();\n    two();\n    three();\n}}\n\n");
    let functions: String = (0..40).map(function).collect();
    format!("// {words}\n{functions}")
}

/// A daemon whose parsers misbehave when a text asks them to.
fn misbehaving(tree: &Tree, more: &str) -> Daemon {
    let builder = Daemon::builder().root(tree.path());
    let limits = format!("misbehave=1,{more}");
    let daemon = builder.env("PILCROW_SYNTAX", &limits).start();
    daemon.ignore_changes();
    daemon
}

fn workers(daemon: &Daemon) -> Value {
    daemon.call("agent/status", json!({})).expect("status")["workers"]["syntax"].take()
}

#[track_caller]
fn is_folded(daemon: &Daemon, path: &str) {
    let text = daemon.read_text(path);
    assert!(text.contains(":fn f7() { … }"), "{text}");
    assert!(!text.contains("[No structure"), "{text}");
}

/// All of the text, and why it is not folded.
#[track_caller]
fn is_plain(daemon: &Daemon, path: &str) {
    let read = daemon.read(path).expect("the text");
    let text = read["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("\n240:}\n"), "{text}");
    assert!(text.ends_with(NOTICE), "{text}");
    assert!(read["details"]["summary"].is_null());
    let notices = json!([&NOTICE[1..NOTICE.len() - 1]]);
    assert_eq!(read["details"]["notices"], notices);
}

/// What the daemon has open, but for the socket and the process of each worker: there may be two
/// where two texts came at once.
fn descriptors_beside_workers(daemon: &Daemon) -> Vec<String> {
    let mut open = descriptors(daemon.pid());
    for _ in 0..workers(daemon)["alive"].as_u64().expect("a number") {
        for of_worker in ["anon_inode", "socket"] {
            let at = open.iter().position(|name| name == of_worker);
            open.remove(at.expect("one for each worker"));
        }
    }
    open
}

/// What a worker does wrong, by the words that have it do so.
const WRONGS: &[&str] = &[
    "abort", "overflow", "spin", "lengths", "lines", "kind", "number", "frame", "half",
];

#[test]
fn a_parser_that_goes_wrong_costs_one_structure() {
    let mut tree = Tree::new().file("typed.txt", "disk\n");
    for wrong in WRONGS {
        tree = tree.file(&format!("{wrong}.rs"), code(&format!("pilcrow:{wrong}")));
    }
    let daemon = misbehaving(&tree, "");
    let pid = daemon.pid();
    let uri = file_uri(&tree.join("typed.txt"));
    let opened = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": "typed\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": opened }));
    let state = json!({ "uri": uri, "version": 1, "dirty": true });
    daemon.notify("agent/documentState", state);
    let typed = daemon.read_text("typed.txt");
    assert!(typed.ends_with("\n1:typed"), "{typed}");
    tree.write("sound.rs", code("first"));
    is_folded(&daemon, "sound.rs");
    let before = descriptors_beside_workers(&daemon);
    for (number, wrong) in WRONGS.iter().enumerate() {
        is_plain(&daemon, &format!("{wrong}.rs"));
        tree.write("sound.rs", code(&format!("after {wrong}")));
        is_folded(&daemon, "sound.rs");
        assert_eq!(workers(&daemon)["replaced"], number + 1, "{wrong}");
    }
    assert_eq!(daemon.pid(), pid);
    assert_eq!(daemon.read_text("typed.txt"), typed);
    assert_eq!(zombies(pid), Vec::<u32>::new());
    assert_eq!(descriptors_beside_workers(&daemon), before);
}

#[test]
fn a_text_that_ended_a_parser_is_not_tried_again() {
    let tree = Tree::new()
        .file("abort.rs", code("pilcrow:abort"))
        .file("same.rs", code("pilcrow:abort"))
        .file("spin.rs", code("pilcrow:spin"));
    let daemon = misbehaving(&tree, "");
    for _ in 0..3 {
        is_plain(&daemon, "abort.rs");
        is_plain(&daemon, "same.rs");
        is_plain(&daemon, "spin.rs");
    }
    let status = workers(&daemon);
    assert_eq!(
        (&status["replaced"], &status["jobs"]),
        (&json!(2), &json!(2))
    );
}

#[test]
fn an_edit_of_such_a_text_is_done_and_not_checked() {
    let tree = Tree::new().file("abort.rs", code("pilcrow:abort"));
    let daemon = misbehaving(&tree, "");
    let tag = daemon.read("abort.rs").expect("a read")["details"]["hashline"]["tag"].take();
    let tag = tag.as_str().expect("a tag").to_owned();
    let block = format!("¶abort.rs#{tag}\nreplace block 2:\n+x\n");
    let refused = daemon.call("agent/edit", json!({ "patch": block }));
    let refused = refused.expect_err("no block").message;
    assert!(
        refused.contains("the parser did not finish on this text. Use a range of lines."),
        "{refused}"
    );
    let line = format!("¶abort.rs#{tag}\nreplace 3:\n+    other();\n");
    let edited = daemon.call("agent/edit", json!({ "patch": line }));
    let edited = edited.expect("an edit");
    let warning = &edited["details"]["files"][0]["warnings"][0];
    assert_eq!(warning["code"], "notChecked", "{edited}");
    let text = std::fs::read_to_string(tree.join("abort.rs")).expect("the file");
    assert!(text.contains("    other();\n"));
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process");
    kill_process(pid, signal).expect("a signal");
}

/// The text is not to blame, so it is tried again.
#[test]
fn a_parser_that_is_killed_or_stopped_is_replaced() {
    let tree = Tree::new().file("a.rs", code("first"));
    let daemon = misbehaving(&tree, "wallMs=300");
    is_folded(&daemon, "a.rs");
    for round in 0..3 {
        let [worker] = children(daemon.pid())[..] else {
            panic!("one parser");
        };
        signal(worker, Signal::KILL);
        tree.write("a.rs", code(&format!("killed {round}")));
        // It was gone before it was asked, or while.
        let text = daemon.read_text("a.rs");
        assert!(text.contains("fn f7() {"), "{text}");
        is_folded(&daemon, "a.rs");
        let [worker] = children(daemon.pid())[..] else {
            panic!("one parser");
        };
        signal(worker, Signal::STOP);
        until("it is stopped", || is_stopped(worker));
        tree.write("a.rs", code(&format!("stopped {round}")));
        is_plain(&daemon, "a.rs");
        is_folded(&daemon, "a.rs");
    }
}

#[test]
fn a_parser_that_is_killed_at_work_is_replaced() {
    let tree = Tree::new().file("a.rs", code("pilcrow:sleep"));
    let daemon = misbehaving(&tree, "");
    for _ in 0..2 {
        let read = daemon.request("agent/read", json!({ "path": "a.rs" }));
        until("a parser is at work", || workers(&daemon)["alive"] == 1);
        signal(children(daemon.pid())[0], Signal::KILL);
        let read = daemon.wait(&read).expect("the text");
        let text = read["content"][0]["text"].as_str().expect("a text");
        assert!(text.ends_with(NOTICE), "{text}");
    }
    tree.write("a.rs", code("sound"));
    is_folded(&daemon, "a.rs");
    assert_eq!(workers(&daemon)["replaced"], 2);
}

/// As in an image that holds the program and little else. Only root makes such a place; CI is root.
#[test]
fn a_parser_starts_where_there_is_no_dev_null() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let tree = Tree::new();
    tree.write("a.rs", code("alone"));
    let program = env!("CARGO_BIN_EXE_pilcrow");
    let alone = "mount -t tmpfs none /dev && exec \"$0\" serve --stdio";
    let mut builder = Daemon::builder().root(tree.path()).program("unshare");
    for argument in ["--mount", "sh", "-c", alone, program] {
        builder = builder.arg(argument);
    }
    let daemon = builder.start();
    is_folded(&daemon, "a.rs");
}

#[test]
fn an_idle_parser_ends_and_comes_back() {
    let tree = Tree::new().file("a.rs", code("first"));
    let daemon = misbehaving(&tree, "idleMs=50");
    for round in 0..5 {
        tree.write("a.rs", code(&format!("round {round}")));
        is_folded(&daemon, "a.rs");
        until("it ends", || workers(&daemon)["alive"] == 0);
    }
    assert_eq!(zombies(daemon.pid()), Vec::<u32>::new());
    assert_eq!(workers(&daemon)["replaced"], 0);
}

/// More levels than there is stack for: what once ended the daemon ends a worker.
#[test]
fn what_no_stack_is_deep_enough_for_is_shown_as_text() {
    let deep = format!(
        "let a = 1\n{}\n{}",
        "(*".repeat(1_000_000),
        "\n".repeat(120)
    );
    let tree = Tree::new().file("deep.ml", deep).file("a.rs", code("a"));
    let daemon = Daemon::start(tree.path());
    let text = daemon.read_text("deep.ml");
    let notice = "[No structure: the OCaml parser did not finish on this text]";
    assert!(text.ends_with(notice), "{}", &text[..200]);
    is_folded(&daemon, "a.rs");
}

/// Busy processes, which end with this.
struct Load(Vec<Child>);

impl Load {
    /// Two for each core.
    fn begin() -> Load {
        let cores = std::thread::available_parallelism().expect("cores").get();
        let busy = |_| {
            let mut busy = Command::new("sh");
            busy.args(["-c", "while :; do :; done"]);
            busy.stdin(Stdio::null()).spawn().expect("a busy process")
        };
        Load((0..2 * cores).map(busy).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            busy.kill().expect("it runs");
            busy.wait().expect("it ended");
        }
    }
}

/// Its budget is processor time: what is shown does not depend on who else is at work.
#[test]
fn a_busy_machine_gives_the_same_outlines() {
    let mut tree = Tree::new();
    for number in 0..6 {
        // Long enough for a parse to be put off more than once.
        let text: String = (0..40)
            .map(|part| code(&format!("{number} {part}")))
            .collect();
        tree = tree.file(&format!("{number}.rs"), text);
    }
    let all = |daemon: &Daemon| -> Vec<String> {
        let read = |number| daemon.read_text(format!("{number}.rs"));
        (0..6).map(read).collect()
    };
    let idle = all(&Daemon::start(tree.path()));
    assert!(idle.iter().all(|text| text.contains(":fn f7() { … }")));
    let load = Load::begin();
    let loaded = all(&Daemon::start(tree.path()));
    drop(load);
    assert_eq!(idle, loaded);
}
