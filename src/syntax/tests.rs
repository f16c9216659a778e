//! Every language has a grammar, a query that compiles, and list nodes that exist; nothing here looks at outlines.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use tree_sitter::{Query, QueryCursor, StreamingIterator as _, TreeCursor};

use crate::task::{CancelToken, Stopped, Work};
use crate::text::Text;

use super::{Captures, Language, Parsed, PathNode, Source, detect, languages, parse};

fn work() -> Work {
    Work::new(CancelToken::new(), Duration::from_secs(60))
}

#[test]
fn every_query_compiles_here_and_in_the_library() {
    let mut wrong = Vec::new();
    for language in languages() {
        if let Err(error) = Query::new(language.grammar(), language.query()) {
            wrong.push(format!("{}: {error}", language.name()));
        }
        if let Err(error) = Captures::new(language.grammar(), language.query()) {
            wrong.push(format!("{}: {error}", language.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kinds_of_nodes_are_of_the_grammar() {
    let mut wrong = Vec::new();
    for language in languages() {
        let kinds = [
            language.list_nodes(),
            language.attributes(),
            language.documented(),
        ];
        for kind in kinds.into_iter().flatten() {
            if language.grammar().id_for_node_kind(kind, true) == 0
                && language.grammar().id_for_node_kind(kind, false) == 0
            {
                wrong.push(format!("{} has no {kind}", language.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_extensions_and_grammars_are_told_apart() {
    let mut names = HashMap::new();
    let mut sizes = HashMap::new();
    for language in languages() {
        assert!(
            names.insert(language.name(), ()).is_none(),
            "{}",
            language.name()
        );
        let grammar = language.grammar();
        // Of two grammars that export one symbol the linker takes one, and both are the same.
        let size = (grammar.node_kind_count(), grammar.parse_state_count());
        if let Some(other) = sizes.insert(size, language.name()) {
            let pair = [other, language.name()];
            assert!(pair == ["html", "vue"], "{pair:?} have one grammar");
        }
    }
    assert_eq!(languages().len(), 46);
}

/// Every node with the role that the table finds for it.
fn by_table<'tree>(
    captures: &Captures,
    text: &str,
    cursor: &mut TreeCursor<'tree>,
    way: &mut Vec<PathNode<'tree>>,
    found: &mut BTreeSet<(usize, usize, String)>,
) {
    let node = cursor.node();
    if captures.find(cursor, way, text).is_some() || captures.defines(cursor, way, text).is_some() {
        found.insert((node.start_byte(), node.end_byte(), node.kind().to_owned()));
    }
    way.push(PathNode {
        node,
        field: cursor.field_id(),
    });
    if cursor.goto_first_child() {
        loop {
            by_table(captures, text, cursor, way, found);
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }
    way.pop();
}

fn by_query(language: &Language, parsed: &Parsed) -> BTreeSet<(usize, usize, String)> {
    let query = Query::new(language.grammar(), language.query()).expect("a query");
    let mut cursor = QueryCursor::new();
    let root = parsed.pieces[0].tree.root_node();
    let mut matches = cursor.matches(&query, root, parsed.source.text().as_bytes());
    let mut found = BTreeSet::new();
    while let Some(one) = matches.next() {
        for capture in one.captures() {
            let name = query.capture_names()[capture.index as usize];
            if !name.starts_with('_') {
                let node = capture.node;
                found.insert((node.start_byte(), node.end_byte(), node.kind().to_owned()));
            }
        }
    }
    found
}

#[test]
fn the_table_captures_what_the_query_captures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outline");
    for language in languages() {
        for sample in std::fs::read_dir(folder.join(language.name())).expect("samples") {
            let path = sample.expect("a sample").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            let text = Text::new(&std::fs::read_to_string(&path).expect("a text"));
            if detect(&name, &text).is_none_or(|found| found.name() != language.name()) {
                continue;
            }
            let parsed = parse(Source::new(&text), language, &work()).expect("time enough");
            let mut found = BTreeSet::new();
            let root = parsed.pieces[0].tree.root_node();
            let (captures, text) = (language.captures(), parsed.source.text());
            by_table(
                captures,
                text,
                &mut root.walk(),
                &mut Vec::new(),
                &mut found,
            );
            let wanted = by_query(language, &parsed);
            let differ: Vec<_> = found.symmetric_difference(&wanted).collect();
            assert!(differ.is_empty(), "{}: {differ:?}", path.display());
        }
    }
}

#[test]
fn a_parse_stops_when_nobody_waits_or_time_is_up() {
    let text = Text::new(&"fn f() { g(1, 2); }\n".repeat(200_000));
    let rust = detect("a.rs", &text).expect("rust");
    let late = Work::new(CancelToken::new(), Duration::from_millis(5));
    assert_eq!(
        parse(Source::new(&text), rust, &late).err(),
        Some(Stopped::TimedOut)
    );
    let cancel = CancelToken::new();
    let work = Work::new(cancel.clone(), Duration::from_secs(60));
    let parsing = std::thread::spawn(move || parse(Source::new(&text), rust, &work).err());
    cancel.cancel();
    assert_eq!(parsing.join().expect("no panic"), Some(Stopped::Cancelled));
}

#[test]
fn an_error_at_the_root_spoils_only_what_it_touches() {
    let text = Text::new("fn a() {\n    1\n}\n\nfn b( {{{ (((\n\nfn c() {\n    1\n}\n");
    let rust = detect("a.rs", &text).expect("rust");
    let parsed = parse(Source::new(&text), rust, &work()).expect("time enough");
    let sound: Vec<_> = parsed
        .pieces
        .iter()
        .flat_map(|piece| {
            let root = piece.tree.root_node();
            let mut cursor = root.walk();
            let children: Vec<_> = root.children(&mut cursor).collect();
            children
        })
        .filter(|node| node.kind() == "function_item" && !node.has_error())
        .map(|node| node.start_position().row + 1)
        .collect();
    assert_eq!(sound, [1, 7]);
}
