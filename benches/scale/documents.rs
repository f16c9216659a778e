//! Rows about a great many open documents; it never looks at what they hold.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::table::{lone_row, row, shown, timed};
use super::support::{Answer, Peer};
use super::{mib, read, trees};

const MANY: usize = 100_000;
const FEW: usize = 10;
const READS: usize = 2000;

/// Opens many documents, and reads a file that is none of them, beside them and beside a few.
pub fn documents(root: &Path) -> Answer<()> {
    let mut many = Peer::daemon(root)?;
    let (took, ()) = timed(|| open(&mut many, root, MANY))?;
    lone_row(&format!("{MANY} documents opened"), &shown(took));
    lone_row("memory with them", &mib(many.resident()?));
    let mut few = Peer::daemon(root)?;
    open(&mut few, root, FEW)?;
    let (mut beside_many, mut beside_few) = (Vec::new(), Vec::new());
    for _ in 0..READS {
        beside_many.push(read_beside(&mut many)?);
        beside_few.push(read_beside(&mut few)?);
    }
    row(
        &format!("warm read beside {MANY} open documents"),
        &format!("beside {FEW}"),
        (beside_many, beside_few),
    );
    Ok(())
}

/// Opens documents that were never saved, and waits until a read has seen that.
fn open(daemon: &mut Peer, root: &Path, count: usize) -> Answer<()> {
    let mut frames = Vec::new();
    for number in 0..count {
        let uri = uri_of(root, number);
        let text = format!("document {number}\n");
        let document = json!({ "uri": uri, "languageId": "x", "version": 1, "text": text });
        notification(
            &mut frames,
            "textDocument/didOpen",
            json!({ "textDocument": document }),
        );
        let state = json!({ "uri": uri, "version": 1, "dirty": true });
        notification(&mut frames, "agent/documentState", state);
        // As an editor would: a pipe holds 64 KiB.
        if frames.len() > 64 << 10 {
            daemon.send(&frames)?;
            frames.clear();
        }
    }
    daemon.send(&frames)?;
    let last = daemon.result(&read(&uri_of(root, count - 1)))?;
    match last["details"]["origin"] == "editor" {
        true => Ok(()),
        false => Err(format!("not what was opened: {last}").into()),
    }
}

fn uri_of(root: &Path, number: usize) -> String {
    format!("file://{}/open{number}.txt", root.display())
}

fn read_beside(daemon: &mut Peer) -> Answer<Duration> {
    Ok(timed(|| daemon.result(&read(&trees::name(0))))?.0)
}

fn notification(frames: &mut Vec<u8>, method: &str, params: Value) {
    let body = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
    frames.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).bytes());
}
