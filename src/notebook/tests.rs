//! Laws of the codec, on notebooks made up in many spacings; a byte outside of what was edited is never another.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::json::decode;
use super::model::{Notebook, parse};
use super::rewrite::{Rewrite, rewrite};
use super::text::{drafts, escape, is_marker, read_marker, render, unescape};
use crate::task::{CancelToken, Work};

fn work() -> Work {
    Work::new(CancelToken::new(), std::time::Duration::from_secs(60))
}

fn read(json: &str) -> Notebook {
    parse(json, &work()).unwrap_or_else(|error| panic!("{error:?}: {json}"))
}

fn text_of(notebook: &Notebook) -> String {
    render(
        notebook
            .cells()
            .map(|cell| (cell.kind.as_str(), cell.source.as_str())),
    )
    .text
}

/// A line of a source: often one that looks like a marker, or nearly.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zü\u{1F600}\" \\\\]{0,6}",
        "\\\\{0,3}# %% \\[(code|raw|x y|sql)\\]( cell:[0-9]{0,2})?( |\r)?",
        Just("# %%".to_owned()),
        Just(String::new()),
    ]
}

fn source() -> impl Strategy<Value = String> {
    prop::collection::vec(line(), 0..5).prop_map(|lines| lines.join("\n"))
}

#[derive(Debug, Clone)]
struct Dress {
    indent: Option<&'static str>,
    colon: &'static str,
    arrays: bool,
    ascii: bool,
    old: bool,
}

fn dress() -> impl Strategy<Value = Dress> {
    (
        prop::sample::select(vec![None, Some(" "), Some("    "), Some("\t")]),
        prop::sample::select(vec![":", ": ", " : "]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(indent, colon, arrays, ascii, old)| Dress {
            indent,
            colon,
            arrays,
            ascii,
            old,
        })
}

impl Dress {
    fn string(&self, text: &str) -> String {
        let plain = serde_json::to_string(text).expect("a string is JSON");
        if !self.ascii {
            return plain;
        }
        let escaped = plain.chars().map(|c| match c.is_ascii() {
            true => c.to_string(),
            false => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units).iter();
                units.map(|unit| format!("\\u{unit:04x}")).collect()
            }
        });
        escaped.collect()
    }

    fn list(&self, open: char, close: char, depth: usize, elements: &[String]) -> String {
        if elements.is_empty() {
            return format!("{open}{close}");
        }
        let line = |depth: usize| match self.indent {
            Some(unit) => format!("\n{}", unit.repeat(depth)),
            None => String::new(),
        };
        format!(
            "{open}{}{}{}{close}",
            line(depth),
            elements.join(&format!(",{}", line(depth))),
            line(depth - 1)
        )
    }

    fn notebook(&self, cells: &[(&str, String)]) -> String {
        let member = |name: &str, value: String| format!("\"{name}\"{}{value}", self.colon);
        let depth = if self.old { 4 } else { 2 };
        let cell = |(index, (kind, source)): (usize, &(&str, String))| {
            let lines: Vec<String> = source
                .split_inclusive('\n')
                .map(|line| self.string(line))
                .collect();
            let value = match self.arrays {
                true => self.list('[', ']', depth + 2, &lines),
                false => self.string(source),
            };
            let mut members = vec![member("cell_type", self.string(kind))];
            if !self.old {
                members.push(member("id", format!("\"c{index}\"")));
            }
            members.push(member("metadata", "{\"x\":[1, {\"y\" :2}]}".to_owned()));
            let name = if self.old && *kind == "code" {
                "input"
            } else {
                "source"
            };
            members.push(member(name, value));
            if *kind == "code" {
                members.push(member(
                    "outputs",
                    "[{\"data\":{\"image/png\":\"AAAA\"}}]".into(),
                ));
            }
            self.list('{', '}', depth + 1, &members)
        };
        let cells: Vec<String> = cells.iter().enumerate().map(cell).collect();
        let cells = member("cells", self.list('[', ']', depth, &cells));
        let mut top = vec![match self.old {
            true => member(
                "worksheets",
                self.list('[', ']', 2, &[self.list('{', '}', 3, &[cells])]),
            ),
            false => cells,
        }];
        top.push(member("nbformat", if self.old { "3" } else { "4" }.into()));
        top.push(member("nbformat_minor", "5".into()));
        self.list('{', '}', 1, &top)
    }
}

fn cells(range: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let kind = prop::sample::select(vec!["code", "markdown", "raw"]);
    prop::collection::vec((kind, source()), range)
}

fn applied(json: &str, rewrite: &Rewrite) -> String {
    let mut new = String::new();
    let mut from = 0;
    for splice in &rewrite.splices {
        assert!(splice.place.start >= from, "in order and apart");
        new.push_str(&json[from..splice.place.start]);
        new.push_str(&splice.text);
        from = splice.place.end;
    }
    new + &json[from..]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn escaping_is_taken_back(line in line()) {
        let shown = escape(&line);
        prop_assert!(!is_marker(&shown));
        prop_assert_eq!(unescape(&shown), line.as_str());
    }

    #[test]
    fn what_is_written_down_is_read_back(cells in cells(0..6)) {
        let rendered = render(cells.iter().map(|(kind, source)| (*kind, source.as_str())));
        let drafts = drafts(&rendered.text).expect("it begins with a marker");
        let back: Vec<_> = drafts.iter().map(|draft| (draft.kind.as_str(), draft.source.clone())).collect();
        prop_assert_eq!(back, cells);
        let lines: Vec<_> = drafts.iter().map(|draft| draft.line).collect();
        prop_assert_eq!(lines, rendered.markers);
    }

    #[test]
    fn strings_are_spelled_as_json_spells_them(text in any::<String>(), ascii in any::<bool>()) {
        let dress = Dress { indent: None, colon: ":", arrays: false, ascii, old: false };
        prop_assert_eq!(decode(&dress.string(&text)), (text, false));
    }

    /// Sources that are others: only their places are.
    #[test]
    fn an_edit_of_sources_changes_nothing_else(
        dress in dress(), old in cells(1..6), new in prop::collection::vec(prop::option::of(source()), 6),
    ) {
        let json = dress.notebook(&old);
        let notebook = read(&json);
        let wanted: Vec<(&str, String)> = old.iter().zip(&new)
            .map(|((kind, source), new)| (*kind, new.clone().unwrap_or_else(|| source.clone()))).collect();
        let rendered = render(wanted.iter().map(|(kind, source)| (*kind, source.as_str())));
        let kept: Vec<_> = rendered.markers.iter().copied().map(Some).collect();
        let rewritten = rewrite(&json, &notebook, &rendered.text, &kept, &BTreeSet::new()).expect("it is a notebook's");
        let after = applied(&json, &rewritten);
        prop_assert_eq!(&text_of(&read(&after)), &rewritten.rendered.text);
        // Line ends follow the old ones.
        let ends = |text: &str| text.replace("\r\n", "\n");
        prop_assert_eq!(ends(&rewritten.rendered.text), ends(&rendered.text));
        let places: Vec<_> = notebook.cells().filter_map(|cell| cell.source_place.as_ref()).map(|place| place.place.clone()).collect();
        for splice in &rewritten.splices {
            prop_assert!(places.contains(&splice.place));
        }
        // What is written is what the file's own writer would have written.
        let ours: Vec<(&str, String)> = read(&after).cells().zip(&old).map(|(cell, (kind, _))| (*kind, cell.source.clone())).collect();
        let sizes = old.iter().any(|(_, source)| source.matches('\n').count() > 0 && !source.ends_with('\n'));
        // A file that is all ASCII does not tell how it would write anything else.
        let tells = !dress.ascii || old.iter().any(|(_, source)| !source.is_ascii());
        if tells && (!dress.arrays || sizes || dress.indent.is_some()) {
            prop_assert_eq!(after, dress.notebook(&ours));
        }
    }

    /// Cells that come and go, by texts that were cut and joined at random.
    #[test]
    fn any_text_makes_a_notebook_that_reads_as_is_told(
        dress in dress(), old in cells(0..6), new in cells(0..6), stand in prop::collection::vec(any::<bool>(), 6),
    ) {
        let json = dress.notebook(&old);
        let notebook = read(&json);
        let rendered = render(new.iter().map(|(kind, source)| (*kind, source.as_str())));
        let kept: Vec<_> = (0..old.len()).map(|at| rendered.markers.get(at).copied().filter(|_| stand[at] && old[at].0 == new[at].0)).collect();
        let rewritten = rewrite(&json, &notebook, &rendered.text, &kept, &BTreeSet::new()).expect("it is a notebook's");
        let after = applied(&json, &rewritten);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&after).is_ok(), "{}", after);
        let read = read(&after);
        prop_assert_eq!(&text_of(&read), &rewritten.rendered.text);
        let mut ids: Vec<_> = read.cells().filter_map(|cell| cell.id.clone()).collect();
        ids.sort();
        let count = ids.len();
        ids.dedup();
        prop_assert_eq!((ids.len(), count), (count, if dress.old { 0 } else { new.len() }));
        prop_assert!(after.ends_with(&json[json.rfind("\"nbformat\"").expect("it is there")..]));
    }

    #[test]
    fn no_bytes_lead_it_astray(junk in "[\\[\\]{}\":,a0\\\\ ]{0,80}") {
        let _ = parse(&junk, &work());
        let _ = parse(&format!("{{\"cells\":[{junk}"), &work());
    }
}

#[test]
fn markers_are_read_leniently_and_nothing_else_is() {
    let check = |line: &str, found: Option<(&str, Option<u64>)>| {
        let marker = read_marker(line).map(|marker| (marker.kind, marker.number));
        assert_eq!(marker, found, "{line:?}");
    };
    check("# %% [code] cell:1", Some(("code", Some(1))));
    check("# %% [code]  ", Some(("code", None)));
    check("# %% [raw] cell:12\r", Some(("raw", Some(12))));
    check("# %% [diagram] cell:3", Some(("diagram", Some(3))));
    check("# %% [diagram]", None);
    check("# %% [markdown] A title", None);
    check(" # %% [code] cell:1", None);
    check("# %% ", Some(("code", None)));
    check("# %% A title", None);
    check("#%%", None);
    check("# %% [raw] cell:99 extra", None);
}
