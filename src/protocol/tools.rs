//! The tool list of `agent/tools`, ready for a model.
//!
//! What a schema allows is what the methods take. Schemas hold only the words that the providers of
//! all models know (`type`, one at a time, `properties`, `required`, `description`, `items`, `enum`
//! and the four bounds): one word more, and some agents' every request is refused.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

/// One tool, as the Model Context Protocol lists it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: &'static str,
    pub description: Cow<'static, str>,
    /// JSON Schema.
    pub input_schema: Value,
}

/// How the edits of a model name what they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// By the headers and line numbers of its reads.
    ByLine,
    /// By the text itself: its reads show no headers.
    ByText,
}

/// What a description says that does not hold for everybody who is given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Describes {
    /// That unsaved text of an editor is read.
    pub unsaved: bool,
    /// That web addresses are.
    pub web: bool,
    /// That documents are given as the files that they are.
    pub whole_files: bool,
}

impl Describes {
    /// All of it.
    pub const EVERYTHING: Describes = Describes {
        unsaved: true,
        web: true,
        whole_files: true,
    };
}

const UNSAVED: &str = " Unsaved changes in the editor are part of what you see.";

/// What stands for the addresses of what is no file, in a point of its own.
const ADDRESSES: &str = "{addresses}";

/// In a sentence that holds of images as well.
const WHOLE_FILES: &str = " and PDFs";

impl Tool {
    pub fn new(
        name: &'static str,
        description: impl Into<Cow<'static, str>>,
        input_schema: Value,
    ) -> Tool {
        Tool {
            name,
            description: description.into(),
            input_schema,
        }
    }

    /// Leaves out of its description what does not hold, and names the addresses that are read.
    pub fn describing(mut self, describes: Describes, addresses: &[String]) -> Tool {
        let named = addresses.join(", ");
        self.description = self.description.replace(ADDRESSES, &named).into();
        if !describes.unsaved {
            self.description = self.description.replace(UNSAVED, "").into();
        }
        if !describes.whole_files {
            self.description = self.description.replace(WHOLE_FILES, "").into();
        }
        if !describes.web {
            // It is a point of its own in all of them.
            let lines = self.description.lines();
            let lines: Vec<&str> = lines.filter(|line| !line.contains("web address")).collect();
            self.description = lines.join("\n").into();
        }
        self
    }
}

/// An object of these properties, all of which are wanted but for `optional`.
pub fn object(properties: Value, optional: &[&str]) -> Value {
    let names = properties
        .as_object()
        .into_iter()
        .flat_map(|all| all.keys());
    let required: Vec<&String> = names
        .filter(|name| !optional.contains(&name.as_str()))
        .collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

const READ_MANY: &str = "Reads several files at once; one that fails spoils no other. They share one budget; a cut one's footer says how to go on.";

/// Reads in one request.
pub const MAX_TARGETS: usize = 64;

/// `agent/readMany`.
pub fn read_many() -> Tool {
    let paths = json!({ "type": "array", "minItems": 1, "maxItems": MAX_TARGETS, "items": { "type": "string" }, "description": "Each as for a single read: src/a.ts:50-80" });
    Tool::new(
        "read_many",
        READ_MANY,
        object(json!({ "paths": paths }), &[]),
    )
}

const EDIT_BY_LINE: &str = r#"Changes files by the line numbers of your reads. The patch is text:

¶src/shapes.ts#C3DE
replace 12..13:
+  area(): number {
+    return this.r * this.r * Math.PI;
insert after 25:
+
+export const unit = new Circle(1);
delete 3..9

- Begin with the header ¶PATH#TAG as a read or edit showed it, then ops. More sections change more files: all, or none.
- Ops (N alone for N..N): replace N..M:  delete N..M  insert before N:  insert after N:  insert head:  insert tail:  and, for a function, class, loop or section beginning at line N: replace block N:  delete block N  insert after block N:
- One range for each op. delete block N takes attributes, decorators and doc comments above N along; replace block N and insert after block N only where N is one of the attributes or decorators.
- Without rows: move A..B after K (or before K)  move file to PATH  delete file  undo (takes back the edit that made TAG)  replace "old" with "new"  replace all "old" with "new" (exact text as JSON strings; a section of these alone may begin ¶PATH, without tag or reading).
- Below an op with a colon stand the new lines, each with one + before its exact text, indentation included. + alone is a blank line. Never repeat old lines, nor write N: prefixes or - lines.
- All numbers are those of the read whose tag you name; they never shift: do not add up your own changes. An older tag stays good after edits elsewhere in the file.
- A range is replaced whole; lines just outside stay: do not repeat them.
- Only lines you were shown can be edited: rows of any read, edit's answer or error; of a block, line N. A folded row A-B:… shows none of its inside: read that range first.

The answer has the new header and the rows around each change: use those for the next edit. If refused, nothing was written; the error has all faults, and the live lines with the tag to use: go on from it."#;

const EDIT_BY_TEXT: &str = "Changes files by replacing exact text. 'old' must be in the file once, to the last blank and line end (set 'all' to replace every occurrence); 'new' takes its place. Give enough lines of 'old' to make it unique. All edits of all files are made, or none; if it is refused nothing was written, and the error says where the text is or how it differs.";

/// `agent/edit`.
pub fn edit(edits: Edits) -> Tool {
    let dry_run = json!({ "type": "boolean", "description": "Only show the diff" });
    let (description, properties) = match edits {
        Edits::ByLine => (
            EDIT_BY_LINE,
            json!({
                "patch": { "type": "string", "description": "A header ¶PATH#TAG, then ops with their rows" },
                "dryRun": dry_run,
            }),
        ),
        Edits::ByText => {
            let edit = json!({
                "type": "object",
                "required": ["op", "old", "new"],
                "properties": {
                    "op": { "type": "string", "enum": ["replace_text"] },
                    "old": { "type": "string", "description": "The text to replace, exactly as it stands in the file" },
                    "new": { "type": "string", "description": "What is to stand there" },
                    "all": { "type": "boolean", "description": "Replace every occurrence" },
                },
            });
            let file = json!({
                "type": "object",
                "required": ["path", "edits"],
                "properties": {
                    "path": { "type": "string" },
                    "edits": { "type": "array", "minItems": 1, "items": edit },
                },
            });
            (
                EDIT_BY_TEXT,
                json!({
                    "files": { "type": "array", "minItems": 1, "items": file, "description": "The files, each with its edits" },
                    "dryRun": dry_run,
                }),
            )
        }
    };
    Tool::new("edit", description, object(properties, &["dryRun"]))
}

const WRITE: &str = "Writes a new file; directories above it are made. To replace a whole file, set 'expect' to its tag after you have read all of it; for anything less use edit. No line numbers in the text.";

/// `agent/write`.
pub fn write() -> Tool {
    let properties = json!({
        "path": { "type": "string", "description": "Where the file is to be" },
        "text": { "type": "string", "description": "The whole text" },
        "expect": { "type": "string", "description": "\"absent\" (the default), or the tag of what is replaced" },
    });
    Tool::new("write", WRITE, object(properties, &["expect"]))
}
