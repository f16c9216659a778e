//! Warm reads in turns with reads of a text of as many bytes, so that whatever else the machine is at slows both; the ratios of separate runs are not to be had from here.

use serde_json::json;

use crate::support::table::{self, Times, timed};
use crate::support::{self, Answer, InProcess, Peer, Workspace};
use crate::{archive, document, notebook, sqlite};

/// Reads of each.
const ROUNDS: usize = 2000;

/// What is read, where, and the text beside it.
type Pair = (
    &'static str,
    fn() -> Answer<Workspace>,
    &'static str,
    &'static str,
);

const PAIRS: &[Pair] = &[
    (
        "a member of an archive",
        archive::workspace,
        "small.zip:member.txt",
        "member.txt",
    ),
    (
        "a page of a PDF",
        document::workspace,
        "long.pdf:p2",
        "page.txt",
    ),
    (
        "a notebook",
        notebook::workspace,
        "small.ipynb",
        "cells.txt",
    ),
    ("a table", sqlite::workspace, sqlite::PAGE, "table.txt"),
];

/// Prints a row for each pair, in this process and over pipes.
pub fn print() -> Answer<()> {
    println!();
    table::head();
    for (what, workspace, path, text) in PAIRS {
        let workspace = workspace()?;
        // Only a daemon has converters.
        if !path.contains(".pdf") {
            let times = in_process(&workspace, path, text)?;
            table::row(
                &format!("{what}, in process"),
                "text of as many bytes",
                times,
            );
        }
        let times = over_pipes(&workspace, path, text)?;
        table::row(
            &format!("{what}, over pipes"),
            "text of as many bytes",
            times,
        );
    }
    Ok(())
}

fn in_process(workspace: &Workspace, path: &str, text: &str) -> Answer<Times> {
    let reader = InProcess::reader();
    let (one, other) = (
        InProcess::new(workspace, path)?,
        InProcess::new(workspace, text)?,
    );
    in_turns(&mut || one.read(&reader).map(|_| ()), &mut || {
        other.read(&reader).map(|_| ())
    })
}

fn over_pipes(workspace: &Workspace, path: &str, text: &str) -> Answer<Times> {
    let daemon = std::cell::RefCell::new(Peer::daemon(workspace.path())?);
    let frame = |path: &str| support::request("agent/read", json!({ "path": path }));
    let (one, other) = (frame(path), frame(text));
    let ask = |frame: &[u8]| daemon.borrow_mut().exchange(frame).map(|_| ());
    in_turns(&mut || ask(&one), &mut || ask(&other))
}

fn in_turns(
    one: &mut dyn FnMut() -> Answer<()>,
    other: &mut dyn FnMut() -> Answer<()>,
) -> Answer<Times> {
    let mut times = Times::default();
    for round in 0..ROUNDS + 20 {
        let (first, ()) = timed(&mut *one)?;
        let (second, ()) = timed(&mut *other)?;
        // The first ones warm both.
        if round >= 20 {
            times.0.push(first);
            times.1.push(second);
        }
    }
    Ok(times)
}
