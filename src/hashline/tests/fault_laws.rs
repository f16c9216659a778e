//! Laws of what is wrong with a patch: each fault is named once and spoils nothing else; no patch here is looked up in a file.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::apply_laws::cases;
use crate::hashline::error::Faulty;
use crate::hashline::ops::Op;
use crate::hashline::patch::Patch;
use crate::hashline::structured::parse_files;

/// Ops that can be meant.
const SOUND: &[&str] = &[
    "replace 2..3:\n+a\n+\n+b",
    "delete 4",
    "delete 5..6\n\n",
    "insert after 7:\n+delete 1,2\n",
    "insert head:\n+¶f#12\n# a remark",
    "replace 8:\n\nrow",
    "delete block 9",
    "delete 12\nmove 10..11 after 3",
    "delete 13\nreplace \"a\" with \"b\"\n",
];

/// Ops that cannot, and the line of each that is at fault, from 0.
const FAULTY: &[(&str, usize)] = &[
    ("replace 5..3:\n+x\n+y", 0),
    ("delete 1,4", 0),
    ("delete 1 4\n", 0),
    ("insert after 0:\n+x", 0),
    ("insert tail:\n", 0),
    ("delete 2\n+x\n+y\nz", 1),
    ("insert after 3:\nundo\n+x", 1),
    ("move 1,2 after 5", 0),
    ("replace 2:\n+x\nbare\n+y", 2),
    ("replace 2: text\n+x", 0),
    ("replace 2:\n-old", 0),
];

/// Headers that cannot be meant.
const HEADERS: &[&str] = &["¶f.rs", "¶f.rs#12", "¶f.rs#1A2G", "¶f.rs#1A2B copied"];

/// A section: whether its header is one of `HEADERS`, and its ops, some of `FAULTY`.
type SectionWish = (Option<usize>, Vec<(bool, usize)>);

fn wishes() -> impl Strategy<Value = Vec<SectionWish>> {
    let op = (prop::bool::weighted(0.4), 0usize..100);
    let section = (
        prop::option::weighted(0.2, 0usize..100),
        prop::collection::vec(op, 1..5),
    );
    prop::collection::vec(section, 1..6)
}

/// The patch, its lines at fault, and the same without what is at fault.
fn written(wishes: &[SectionWish]) -> (String, Vec<u64>, String) {
    let (mut lines, mut faults, mut sound) = (Vec::new(), Vec::new(), String::new());
    for (at, (bad_header, ops)) in wishes.iter().enumerate() {
        let header = format!("¶file{at}.rs#1A2B");
        match bad_header {
            None => lines.push(header.clone()),
            Some(which) => {
                faults.push(lines.len() as u64 + 1);
                lines.push(HEADERS[which % HEADERS.len()].to_owned());
            }
        }
        let mut kept = Vec::new();
        for (is_faulty, which) in ops {
            let op = match is_faulty {
                true => {
                    let (op, line) = FAULTY[which % FAULTY.len()];
                    faults.push((lines.len() + line) as u64 + 1);
                    op
                }
                false => {
                    kept.push(SOUND[which % SOUND.len()]);
                    SOUND[which % SOUND.len()]
                }
            };
            lines.extend(op.split('\n').map(str::to_owned));
        }
        if bad_header.is_none() && !kept.is_empty() {
            sound.push_str(&format!("{header}\n{}\n", kept.join("\n")));
        }
    }
    (lines.join("\n"), faults, sound)
}

fn ops(patch: &Patch) -> Vec<(String, Vec<Op>)> {
    let ops = |section: &crate::hashline::Section| {
        section.hunks.iter().map(|hunk| hunk.op.clone()).collect()
    };
    let sections = patch.sections.iter();
    sections
        .map(|section| (section.path.clone(), ops(section)))
        .collect()
}

#[test]
fn what_follows_a_fault_belongs_to_it() {
    let text =
        "¶f#1A2B\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\nx\ndelete 3\n2..3:\n+x\nremove 3\ndelete 4";
    let (patch, faults) = Faulty::parts(Patch::parse(text));
    let lines: Vec<_> = faults
        .iter()
        .filter_map(|it| it.origin.patch_line())
        .collect();
    assert_eq!(lines, [2, 8]);
    assert_eq!(patch.to_string(), "¶f#1A2B\ndelete 3..3\ndelete 4..4\n");
    // An op without rows was to have those of the other format.
    let (patch, faults) = Faulty::parts(Patch::parse("¶f#1A2B\nreplace 2:\n@@ -1 +1 @@\n-a"));
    assert_eq!((patch.sections.len(), faults.len()), (0, 1));
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_fault_is_named_once_and_spoils_nothing_else(wishes in wishes()) {
        let (text, lines, rest) = written(&wishes);
        let (patch, faults) = Faulty::parts(Patch::parse(&text));
        let named: Vec<u64> = faults.iter().filter_map(|fault| fault.origin.patch_line()).collect();
        prop_assert_eq!(named, lines, "{}", text);
        let expected = match rest.is_empty() {
            true => Vec::new(),
            false => ops(&Patch::parse(&rest).unwrap_or_else(|fault| panic!("{fault}\n{rest}"))),
        };
        prop_assert_eq!(ops(&patch), expected, "{}", text);
    }

    #[test]
    fn so_it_is_in_the_structured_form(files in prop::collection::vec(prop::collection::vec(0u8..6, 1..5), 1..5)) {
        let edit = |kind: &u8| match kind {
            0 => json!({ "op": "delete", "start": 3, "end": 2 }),
            1 => json!({ "op": "insert_tail", "text": [] }),
            2 => json!({ "op": "delet", "start": 1 }),
            _ => json!({ "op": "delete", "start": 1 }),
        };
        let file = |(at, kinds): (usize, &Vec<u8>)| {
            json!({ "path": format!("f{at}"), "tag": "1A2B", "edits": kinds.iter().map(edit).collect::<Vec<_>>() })
        };
        let sent: Vec<Value> = files.iter().enumerate().map(file).collect();
        let (sections, faults) = Faulty::parts(parse_files(&sent));
        let named: Vec<String> = faults.iter().map(|fault| fault.origin.to_string()).collect();
        let mut expected = Vec::new();
        let mut sound = Vec::new();
        for (at, kinds) in files.iter().enumerate() {
            let faulty = (0..kinds.len()).filter(|edit| kinds[*edit] < 3);
            expected.extend(faulty.map(|edit| format!("files[{at}].edits[{edit}]")));
            let count = kinds.iter().filter(|kind| **kind >= 3).count();
            sound.extend((count > 0).then(|| (format!("f{at}"), count)));
        }
        prop_assert_eq!(named, expected);
        let made: Vec<_> = sections.iter().map(|it| (it.path.clone(), it.hunks.len())).collect();
        prop_assert_eq!(made, sound);
    }
}
