//! Real clients against this very build: four agents with a scripted model, offline and without an
//! account, and the protocol's own clients. What that takes is installed by `tests/agents/setup.sh`
//! and never into the checkout; a target of its own, in the long form.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

const PILCROW: &str = env!("CARGO_BIN_EXE_pilcrow");

const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Lines before those that fill an answer: their numbers have seven digits.
const BEFORE: usize = 1_000_000;

fn here() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents"))
}

/// One client at a time; `None` in the short form.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    std::env::var_os("PILCROW_LONG")?;
    Some(
        TURN.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

/// Runs a command; what it writes. Where it fails the test does, with what it said.
fn output(command: &mut Command, input: &str) -> String {
    let spawned = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}\n{complained}");
    said
}

/// The folder of what is installed.
fn installed() -> PathBuf {
    let said = output(Command::new("sh").arg(here().join("setup.sh")), "");
    PathBuf::from(said.trim())
}

/// A project with a text, a picture, and a text that fills an answer.
fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &[u8]| {
        std::fs::write(folder.path().join(name), content).expect("a file");
    };
    write("a.txt", b"l1\nl2\nl3\nl4\nl5\n");
    write("dot.png", &BASE64_STANDARD.decode(DOT).expect("base64"));
    let mut wide = "\n".repeat(BEFORE);
    for number in 0..2000 {
        let _ = writeln!(wide, "{number:04} {}", "w".repeat(22));
    }
    write("wide.txt", wide.as_bytes());
    output(
        Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(&folder),
        "",
    );
    folder
}

/// What the model of an agent was asked, a request each, while the agent worked through a script.
fn requests(agent: &str, script: &str, project: &Path) -> Vec<Value> {
    let installed = installed();
    let bin = installed.join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let out = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("bash");
    command
        .arg(here().join("run_agent.sh"))
        .arg(agent)
        .arg(here().join(script))
        .args([project, out.path()])
        .args(["--", PILCROW, "mcp"])
        .env("AGENTS", &bin)
        .env("PATH", format!("{}:{path}", bin.display()));
    let said = output(&mut command, "");
    assert!(said.ends_with("ended with 0\n"), "{said}");
    let log = std::fs::read_to_string(out.path().join("model.jsonl")).expect("a log of the model");
    let requests = log.lines().map(serde_json::from_str);
    requests.collect::<Result<_, _>>().expect("JSON")
}

/// The results of the calls in a script, as its model saw them in the end.
fn results(requests: &[Value], script: &str) -> Vec<Value> {
    let of_it = requests
        .iter()
        .filter(|request| request["script"] == script);
    let results = of_it.filter_map(|request| request["results"].as_array());
    results
        .max_by_key(|results| results.len())
        .cloned()
        .unwrap_or_default()
}

fn text(result: &Value) -> &str {
    result["text"].as_str().expect("a text")
}

/// A read, an edit of what it showed, a stale edit that is mended from its error alone, several reads,
/// a picture, and an answer that reaches the model whole.
fn works_with(agent: &str) {
    let Some(_turn) = turn() else { return };
    let project = project();
    let results = results(&requests(agent, "edit-script.json", project.path()), "main");
    assert_eq!(results.len(), 7, "{agent}: {results:#?}");
    let holds = |at: usize, wanted: &str| {
        let text = text(&results[at]);
        assert!(text.contains(wanted), "{agent}, {at}: {text}");
    };
    holds(0, "¶a.txt#7CCB\n1:l1\n2:l2");
    holds(1, "2:changed by the agent");
    holds(2, "line 2 changed since it was read");
    holds(3, "2:mended from the error");
    holds(4, "[2 of 2: nothing.txt]\nFile not found: nothing.txt.");
    holds(5, "[dot.png: image/png, 1x1, 70B]");
    let picture = results[5]["raw"].to_string() + text(&results[5]);
    assert!(picture.contains("image"), "{agent}: {picture}");
    let wide = text(&results[6]);
    for number in 0..1000 {
        let row = format!("\n{}:{number:04} {}\n", BEFORE + 1 + number, "w".repeat(22));
        assert!(
            wide.contains(&row),
            "{agent}: row {number} is missing: {}",
            wide.len()
        );
    }
    assert!(wide.contains("Use :1001001- to continue"), "{agent}");
    let written = std::fs::read_to_string(project.path().join("a.txt")).expect("the file");
    assert_eq!(
        written, "l1\nmended from the error\nl3\nl4\nl5\n",
        "{agent}"
    );
}

#[test]
fn claude_code() {
    works_with("claude");
}

#[test]
fn codex() {
    works_with("codex");
}

#[test]
fn gemini_cli() {
    works_with("gemini");
}

#[test]
fn opencode() {
    works_with("opencode");
}

/// Two agents that the first one starts read and edit one file side by side, through its one server. Of
/// two edits that want the same line one is refused, and every other edit of both is kept.
fn works_with_subagents_of(agent: &str) {
    let Some(_turn) = turn() else { return };
    let project = project();
    let requests = requests(agent, "subagents-script.json", project.path());
    let (one, two) = (results(&requests, "one"), results(&requests, "two"));
    assert_eq!((one.len(), two.len()), (6, 6), "{agent}: {one:#?} {two:#?}");
    let was_late = |results: &[Value]| text(&results[1]).contains("Nothing was written");
    let overlapping = match (was_late(&one), was_late(&two)) {
        (true, false) => ["l1", "l2", "two has 3", "two has 4", "l5"],
        (false, true) => ["l1", "one has 2", "one has 3", "l4", "l5"],
        both => panic!("{agent}: {both:?} {one:#?} {two:#?}"),
    };
    let before = ["one, third", "one, second", "one, first"];
    let after = ["two, first", "two, second", "two, third"];
    let lines = [&before[..], &overlapping, &after].concat();
    let written = std::fs::read_to_string(project.path().join("a.txt")).expect("the file");
    assert_eq!(written, lines.join("\n") + "\n", "{agent}");
    let numbered = lines.iter().zip(1..);
    let rows: String = numbered.map(|(line, n)| format!("\n{n}:{line}")).collect();
    for results in [one, two] {
        let last = text(&results[5]);
        assert!(last.contains(&rows), "{agent}: {last}");
    }
}

#[test]
fn subagents_of_claude_code() {
    works_with_subagents_of("claude");
}

#[test]
fn subagents_of_codex() {
    works_with_subagents_of("codex");
}

#[test]
fn subagents_of_gemini_cli() {
    works_with_subagents_of("gemini");
}

#[test]
fn subagents_of_opencode() {
    works_with_subagents_of("opencode");
}

/// What a client of the protocol's own makes of some calls.
fn calls_all(mut client: Command, mode: &str, version: &str) {
    let project = project();
    client.arg(mode).arg(project.path()).args([PILCROW, "mcp"]);
    let patch =
        |text: &str| json!(["edit", { "patch": format!("¶a.txt#7CCB\nreplace 2:\n+{text}\n") }]);
    let calls = json!([
        ["read", { "path": "a.txt" }],
        patch("new"),
        patch("stale"),
        ["read_many", { "paths": ["a.txt", "no.txt"] }],
        ["write", { "path": "b.txt", "text": "b\n" }],
        ["read", { "path": "dot.png" }],
    ]);
    let said: Value = serde_json::from_str(&output(&mut client, &calls.to_string())).expect("JSON");
    assert_eq!(said["version"], version, "{said}");
    assert_eq!(
        said["tools"],
        json!(["read", "read_many", "search", "edit", "write"])
    );
    let calls = said["calls"].as_array().expect("calls");
    let errors: Vec<&Value> = calls.iter().map(|call| &call["error"]).collect();
    assert_eq!(errors, [false, false, true, false, false, false]);
    assert_eq!(
        calls[0]["content"][0],
        "¶a.txt#7CCB\n1:l1\n2:l2\n3:l3\n4:l4\n5:l5"
    );
    assert_eq!(calls[5]["content"][1], "image/png");
    assert!(project.path().join("b.txt").exists());
}

const MODES: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("auto", "2026-07-28")];

#[test]
fn the_python_client() {
    let Some(_turn) = turn() else { return };
    let installed = installed();
    for (mode, version) in MODES {
        let mut client = Command::new(installed.join("python/bin/python"));
        client.arg(here().join("clients/python.py"));
        calls_all(client, mode, version);
    }
}

#[test]
fn the_typescript_client() {
    let Some(_turn) = turn() else { return };
    let installed = installed();
    for (mode, version) in MODES {
        let mut client = Command::new(installed.join("bin/node"));
        client.arg(here().join("clients/typescript.mjs"));
        client.env(
            "CLIENT",
            installed.join("typescript/node_modules/@modelcontextprotocol/client"),
        );
        calls_all(client, mode, version);
    }
}

#[test]
fn the_inspector() {
    let Some(_turn) = turn() else { return };
    let installed = installed();
    let project = project();
    let inspect = |arguments: &[&str]| -> Value {
        let mut inspector = Command::new(installed.join("bin/node"));
        inspector
            .arg(installed.join("inspector/node_modules/.bin/mcp-inspector"))
            .args(["--cli", PILCROW, "mcp", "--method"])
            .args(arguments)
            .current_dir(&project);
        serde_json::from_str(&output(&mut inspector, "")).expect("JSON")
    };
    let listed = inspect(&["tools/list"]);
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(5));
    let read = inspect(&[
        "tools/call",
        "--tool-name",
        "read",
        "--tool-arg",
        "path=a.txt",
    ]);
    assert_eq!(
        read["content"][0]["text"],
        "¶a.txt#7CCB\n1:l1\n2:l2\n3:l3\n4:l4\n5:l5"
    );
}

/// The protocol's own tests of servers, as far as they are not of a reference server's own tools. They know
/// servers over HTTP alone.
#[test]
fn the_conformance_tests() {
    let Some(_turn) = turn() else { return };
    let installed = installed();
    let project = project();
    let mut bridge = Command::new("python3")
        .arg(here().join("clients/bridge.py"))
        .args([PILCROW, "mcp"])
        .current_dir(&project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a bridge");
    let mut address = String::new();
    let stdout = bridge.stdout.take().expect("stdout is piped");
    BufReader::new(stdout)
        .read_line(&mut address)
        .expect("its address");
    for scenario in ["server-initialize", "ping", "tools-list"] {
        let mut conformance = Command::new(installed.join("bin/node"));
        conformance
            .arg(installed.join("conformance/node_modules/.bin/conformance"))
            .args(["server", "--url", address.trim(), "--scenario", scenario])
            .current_dir(&project);
        let said = output(&mut conformance, "");
        assert!(said.contains("Passed: 1/1, 0 failed"), "{said}");
    }
    drop(bridge.stdin.take());
    assert!(bridge.wait().is_ok_and(|status| status.success()));
}
