//! A model of an editor with one document, as the LSP sees it; it never does what it was not asked for.

use std::cell::{Cell, RefCell};

use serde_json::{Value, json};

use crate::client::{Daemon, Id};

/// What a client says that its editor can do.
pub fn capabilities() -> Value {
    json!({
        "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
        "experimental": { "pilcrow": { "saveDocument": true } },
    })
}

/// An open document. Positions are counted in UTF-16.
pub struct Editor<'a> {
    daemon: &'a Daemon,
    pub uri: String,
    text: RefCell<String>,
    version: Cell<i32>,
}

impl<'a> Editor<'a> {
    pub fn open(daemon: &'a Daemon, uri: &str, text: &str) -> Editor<'a> {
        let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
        daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
        Editor {
            daemon,
            uri: uri.to_owned(),
            text: RefCell::new(text.to_owned()),
            version: Cell::new(1),
        }
    }

    pub fn text(&self) -> String {
        self.text.borrow().clone()
    }

    pub fn version(&self) -> i32 {
        self.version.get()
    }

    /// Says whether the document has unsaved changes.
    pub fn says_dirty(&self, dirty: bool) {
        let params = json!({ "uri": self.uri, "version": self.version(), "dirty": dirty });
        self.daemon.notify("agent/documentState", params);
    }

    /// The user replaces a text that is there once.
    pub fn types(&self, old: &str, new: &str) {
        let at = self.text().find(old).expect("the text is there");
        self.change(&[(at, at + old.len(), new.to_owned())]);
    }

    /// The document gets another text in one piece, as some editors tell of an undo.
    pub fn replaces_all(&self, text: &str) {
        *self.text.borrow_mut() = text.to_owned();
        self.tell(json!([{ "text": text }]));
    }

    pub fn closes(&self) {
        let document = json!({ "textDocument": { "uri": self.uri } });
        self.daemon.notify("textDocument/didClose", document);
    }

    pub fn saves(&self, path: &std::path::Path) {
        std::fs::write(path, self.text()).expect("saved");
        let document = json!({ "textDocument": { "uri": self.uri } });
        self.daemon.notify("textDocument/didSave", document);
    }

    /// The next request to change documents, which must be of this one and its version.
    pub fn asked(&self) -> (Id, Value) {
        let (id, params) = self.daemon.expect_request("workspace/applyEdit");
        assert_eq!(params["label"], Value::Null, "Neovim would show a label");
        let change = &params["edit"]["documentChanges"][0];
        assert_eq!(change["textDocument"]["uri"], self.uri.as_str());
        assert_eq!(change["textDocument"]["version"], self.version());
        (id, change["edits"].clone())
    }

    /// Takes the edits over and tells of it.
    pub fn applies(&self, edits: &Value) {
        let text = self.text();
        let mut changes: Vec<(usize, usize, String)> = edits
            .as_array()
            .expect("edits")
            .iter()
            .map(|edit| {
                let range = &edit["range"];
                let new = edit["newText"].as_str().expect("new text").to_owned();
                (
                    offset(&text, &range["start"]),
                    offset(&text, &range["end"]),
                    new,
                )
            })
            .collect();
        // From the end, so that the places before stay where they are.
        changes.sort_by_key(|change| std::cmp::Reverse((change.0, change.1)));
        self.change(&changes);
    }

    pub fn says_applied(&self, id: Id, applied: bool) {
        self.daemon.respond(id, json!({ "applied": applied }));
    }

    /// Waits for the request to change documents and does as it is told.
    pub fn obeys(&self) {
        let (id, edits) = self.asked();
        self.applies(&edits);
        self.says_applied(id, true);
    }

    fn change(&self, changes: &[(usize, usize, String)]) {
        let mut told = Vec::new();
        for (start, end, new) in changes {
            let mut text = self.text.borrow_mut();
            let range = json!({ "start": position(&text, *start), "end": position(&text, *end) });
            told.push(json!({ "range": range, "text": new }));
            text.replace_range(start..end, new);
        }
        self.tell(json!(told));
    }

    fn tell(&self, changes: Value) {
        self.version.set(self.version() + 1);
        let document = json!({ "uri": self.uri, "version": self.version() });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.daemon.notify("textDocument/didChange", params);
    }
}

fn offset(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().expect("a line") as usize;
    let units = position["character"].as_u64().expect("a character") as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let mut left = units;
    let mut at = start;
    for c in text[start..].chars() {
        if left == 0 || c == '\n' {
            break;
        }
        left = left.checked_sub(c.len_utf16()).expect("no half character");
        at += c.len_utf8();
    }
    assert_eq!(left, 0, "the position is in its line");
    at
}

fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    json!({ "line": line, "character": before[start..].encode_utf16().count() })
}
