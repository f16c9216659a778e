//! The same warm reads over pipes, as a client sees them; nothing here is read in this process.

use divan::Bencher;
use serde_json::json;

use crate::support::{self, Answer, Peer, Workspace};
use crate::{archive, document, notebook, sqlite};

fn warm(bencher: Bencher, workspace: fn() -> Answer<Workspace>, path: &str) {
    let workspace = workspace().expect("a workspace");
    let mut daemon = Peer::daemon(workspace.path()).expect("a daemon");
    let frame = support::request("agent/read", json!({ "path": path }));
    for _ in 0..20 {
        daemon.result(&frame).expect("an answer");
    }
    bencher.bench_local(|| daemon.exchange(&frame).expect("an answer").len());
}

#[divan::bench]
fn archive_member(bencher: Bencher) {
    warm(bencher, archive::workspace, "small.zip:member.txt");
}

#[divan::bench]
fn archive_text_of_as_many_bytes(bencher: Bencher) {
    warm(bencher, archive::workspace, "member.txt");
}

#[divan::bench]
fn document_page(bencher: Bencher) {
    warm(bencher, document::workspace, "long.pdf:p2");
}

#[divan::bench]
fn document_text_of_as_many_bytes(bencher: Bencher) {
    warm(bencher, document::workspace, "page.txt");
}

#[divan::bench]
fn notebook_cells(bencher: Bencher) {
    warm(bencher, notebook::workspace, "small.ipynb");
}

#[divan::bench]
fn notebook_text_of_as_many_bytes(bencher: Bencher) {
    warm(bencher, notebook::workspace, "cells.txt");
}

#[divan::bench]
fn sqlite_table(bencher: Bencher) {
    warm(bencher, sqlite::workspace, sqlite::PAGE);
}

#[divan::bench]
fn sqlite_text_of_as_many_bytes(bencher: Bencher) {
    warm(bencher, sqlite::workspace, "table.txt");
}
