//! The decided cases of the patch language, each a test named after its number; nothing here sees more than a client does.

mod apply;
mod blocks;
mod boundary;
mod faults;
mod ops;
mod parse;
mod stale;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::client::{Builder, Daemon, WireError};
use crate::tree::Tree;

/// A folder of files and a daemon on it.
struct Desk {
    tree: Tree,
    daemon: Daemon,
    cases: Cell<u32>,
}

/// The answer to an edit that was done.
struct Reply {
    /// What the model sees.
    text: String,
    details: Value,
}

/// A file and its tag.
struct File {
    path: String,
    tag: String,
}

impl Desk {
    fn new() -> Desk {
        Desk::with(|setup| setup)
    }

    fn with(set_up: impl FnOnce(Builder) -> Builder) -> Desk {
        let tree = Tree::new();
        let daemon = set_up(Daemon::builder().root(tree.path())).start();
        // These tests change files behind the daemon's back and are not about its word on that.
        daemon.ignore_changes();
        let cases = Cell::new(0);
        Desk {
            tree,
            daemon,
            cases,
        }
    }

    /// Writes a file and reads it whole.
    fn put(&self, path: &str, text: impl AsRef<[u8]>) -> String {
        self.tree.write(path, text);
        self.tag(path)
    }

    /// The tag that a read of the whole file shows.
    fn tag(&self, path: &str) -> String {
        self.tag_of(json!({ "path": path }))
    }

    /// The tag that a read with these parameters shows.
    fn tag_of(&self, params: Value) -> String {
        let result = self.daemon.read_with(params.clone());
        let result = result.unwrap_or_else(|error| panic!("{params}: {error:?}"));
        let tag = result["details"]["hashline"]["tag"].as_str();
        tag.unwrap_or_else(|| panic!("{params}: no tag: {result}"))
            .to_owned()
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.tree.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).expect("the file is UTF-8")
    }

    fn edit(&self, patch: &str) -> Result<Value, WireError> {
        self.daemon.call("agent/edit", json!({ "patch": patch }))
    }

    /// A patch that must be done. What it returns as tags must be what others read.
    fn done(&self, patch: &str) -> Reply {
        match self.edit(patch) {
            Ok(result) => self.reply(&result),
            Err(error) => panic!("refused: {error:?}\n{patch}"),
        }
    }

    fn reply(&self, result: &Value) -> Reply {
        let text = result["content"][0]["text"].as_str().expect("a text block");
        let reply = Reply {
            text: text.to_owned(),
            details: result["details"].clone(),
        };
        for file in reply.files() {
            let tag = file["tag"].as_str().expect("a tag");
            let path = file["path"].as_str().expect("a path");
            assert!(text.contains(&format!("¶{path}#{tag}")), "{path}: {text}");
            // Another session reads it, so that nothing more is shown to this one.
            let now = self.tag_of(json!({ "path": path, "session": "onlooker" }));
            assert_eq!(now, tag, "the tag of '{path}' is not that of what is there");
        }
        reply
    }

    /// A patch that must be refused with words that help, and change nothing.
    fn refused(&self, patch: &str, kind: &str, words: &[&str]) -> WireError {
        let before = self.everything();
        let error = match self.edit(patch) {
            Err(error) => error,
            Ok(result) => panic!("not refused: {result}\n{patch}"),
        };
        assert_eq!(self.everything(), before, "something changed\n{patch}");
        assert_eq!(error.kind(), kind, "{}\n{patch}", error.message);
        let syntax = ["patchSyntax", "badParams", "badSelector"].contains(&kind);
        assert_eq!(error.code, if syntax { -32602 } else { -32803 });
        if kind == "patchSyntax" {
            assert!(error.data["expected"].is_string(), "{}", error.data);
            assert!(error.data["patchLine"].is_u64(), "{}", error.data);
        }
        let message = &error.message;
        for word in words {
            assert!(message.contains(word), "no '{word}' in: {message}\n{patch}");
        }
        let first = message.chars().next().expect("a message");
        assert!(
            !first.is_lowercase(),
            "no capital at its beginning: {message}"
        );
        // Live lines may follow.
        let words = message.lines().next().expect("a line");
        assert!(words.ends_with(['.', '?']), "no sentence: {message}");
        error
    }

    /// Bytes and time of change of every file.
    fn everything(&self) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.tree.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let metadata = fs::metadata(&path).expect("metadata");
                if metadata.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = fs::read(&path).expect("a file");
                found.insert(path, (bytes, metadata.modified().expect("a time")));
            }
        }
        found
    }

    /// A new file of that base name, in a folder of its own.
    fn case(&self, name: &str, text: impl AsRef<[u8]>) -> File {
        self.cases.set(self.cases.get() + 1);
        let path = format!("{}/{name}", self.cases.get());
        let tag = self.put(&path, text);
        File { path, tag }
    }

    /// Sends ops for a new `f.txt`; gives its text afterwards.
    fn made(&self, text: &str, ops: &str) -> (String, Reply) {
        self.made_of("f.txt", text, ops)
    }

    fn made_of(&self, name: &str, text: &str, ops: &str) -> (String, Reply) {
        let file = self.case(name, text);
        let reply = self.done(&file.patch(ops));
        (self.text(&file.path), reply)
    }

    /// Sends ops for a new `f.txt`, which are refused.
    fn rejected(&self, text: &str, ops: &str, kind: &str, words: &[&str]) -> WireError {
        let file = self.case("f.txt", text);
        let error = self.refused(&file.patch(ops), kind, words);
        if kind == "patchSyntax" {
            assert_eq!(error.data["header"], file.header(), "{}", error.message);
        }
        error
    }
}

impl File {
    fn header(&self) -> String {
        format!("¶{}#{}", self.path, self.tag)
    }

    /// The header and those ops; or a whole patch, with `{F}` for the path and `{T}` for the tag.
    fn patch(&self, ops: &str) -> String {
        match ops.contains("{T}") || ops.contains("{F}") {
            true => ops.replace("{F}", &self.path).replace("{T}", &self.tag),
            false => format!("{}\n{ops}", self.header()),
        }
    }
}

impl Reply {
    fn files(&self) -> &Vec<Value> {
        self.details["files"].as_array().expect("files")
    }

    /// The codes of the warnings of all files.
    fn codes(&self) -> Vec<&str> {
        self.warnings("code")
    }

    fn messages(&self) -> Vec<&str> {
        self.warnings("message")
    }

    fn warnings(&self, key: &str) -> Vec<&str> {
        let files = self.files().iter();
        let warnings = files.flat_map(|file| file["warnings"].as_array().expect("warnings"));
        warnings
            .map(|warning| warning[key].as_str().expect("a string"))
            .collect()
    }

    /// There is one warning, of that code and with these words, and the model sees it.
    fn warns(&self, code: &str, words: &[&str]) {
        assert_eq!(self.codes(), [code], "{}", self.text);
        let message = self.messages()[0];
        assert!(
            self.text.contains(&format!("warning: {message}")),
            "{}",
            self.text
        );
        for word in words {
            assert!(message.contains(word), "no '{word}' in: {message}");
        }
    }

    fn tag(&self) -> &str {
        self.details["files"][0]["tag"].as_str().expect("a tag")
    }

    /// Where hunks went that were addressed to other lines.
    fn remapped(&self) -> &Value {
        &self.details["files"][0]["remapped"]
    }
}

/// Lines `l1` to `l{count}`.
fn l(count: usize) -> String {
    (1..=count).map(|n| format!("l{n}\n")).collect()
}
