//! Every language has a grammar, a query that compiles, and list nodes that exist; nothing here looks at outlines.

use std::collections::HashMap;

use tree_sitter::Query;

use super::languages;

#[test]
fn every_query_compiles_here_and_in_the_library() {
    let mut wrong = Vec::new();
    for language in languages() {
        if let Err(error) = Query::new(language.grammar(), language.query()) {
            wrong.push(format!("{}: {error}", language.name()));
        }
        if let Err(error) = super::Captures::new(language.grammar(), language.query()) {
            wrong.push(format!("{}: {error}", language.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn list_nodes_are_kinds_of_the_grammar() {
    let mut wrong = Vec::new();
    for language in languages() {
        for kind in language.list_nodes() {
            if language.grammar().id_for_node_kind(kind, true) == 0 {
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
