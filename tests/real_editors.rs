//! The editor extensions against this very build, in the real editors; what that takes is installed by `editors/setup.sh` and never into the checkout.
//!
//! A target of its own, so that it runs when the protocol tests are done and the machine is free.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// One editor at a time: each has the machine, and the tools are installed once.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock();
    // What a failure of the other editor's tests left poisoned holds nothing.
    turn.unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a script of the checkout; where it fails the test does, with what the script said last.
fn run(script: &str) -> String {
    let mut command = Command::new(root().join(script));
    command.env("PILCROW_BIN", env!("CARGO_BIN_EXE_pilcrow"));
    // The extensions name what they take from here themselves.
    for name in ["PILCROW_TEST_METHODS", "PILCROW_FAIL", "PILCROW_LOG"] {
        command.env_remove(name);
    }
    let output = command.output().expect("a script that can be started");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(
        output.status.success(),
        "{script}: {}\n{text}",
        output.status
    );
    text
}

/// Runs the tests of an editor and checks that there were some.
fn passes(editor: &str) {
    let _turn = alone();
    run("editors/setup.sh");
    let script: PathBuf = ["editors", editor, "tests", "run.sh"].iter().collect();
    let text = run(&script.to_string_lossy());
    let says = ["neovim: ", "all passed"];
    assert!(says.iter().any(|said| text.contains(said)), "{text}");
}

#[test]
fn neovim() {
    passes("neovim");
}

#[test]
fn vs_code() {
    passes("vscode");
}
