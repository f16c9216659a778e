//! The languages of `languages.toml`, read once; a language never differs from its row there.

use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

use super::captures::Captures;
use super::grammars::{GRAMMARS, Grammar};

/// One language: how its files are known, and how they are parsed.
#[derive(Debug)]
pub struct Language {
    row: LanguageRow,
    grammar: OnceLock<tree_sitter::Language>,
    captures: OnceLock<Captures>,
}

/// A row of `languages.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageRow {
    name: String,
    title: String,
    /// Where it is not the name.
    grammar: Option<String>,
    #[serde(default)]
    file_names: Vec<String>,
    #[serde(default)]
    extensions: Vec<String>,
    #[serde(default)]
    shebangs: Vec<String>,
    #[serde(default)]
    modelines: Vec<String>,
    #[serde(default)]
    line_starts: Vec<String>,
    #[serde(default)]
    list_nodes: Vec<String>,
    #[serde(default)]
    attributes: Vec<String>,
    #[serde(default)]
    docs: Vec<String>,
    #[serde(default)]
    documented: Vec<String>,
    #[serde(default)]
    prose: bool,
    #[serde(default)]
    scripts: bool,
}

#[derive(Deserialize)]
struct LanguagesFile {
    language: Vec<LanguageRow>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let table: LanguagesFile =
        // The file is part of the program, and a test reads it.
        toml::from_str(include_str!("languages.toml")).expect("languages.toml is well formed");
    let language = |row| Language {
        row,
        grammar: OnceLock::new(),
        captures: OnceLock::new(),
    };
    table.language.into_iter().map(language).collect()
});

/// All languages, in the order of `languages.toml`.
pub fn languages() -> &'static [Language] {
    &LANGUAGES
}

impl Language {
    /// As people write it, for instance `C#`.
    pub fn title(&self) -> &str {
        &self.row.title
    }

    /// As the wire names it, for instance `c-sharp`.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// Whether its files are read rather than run, as Markdown is.
    pub fn is_prose(&self) -> bool {
        self.row.prose
    }

    /// Whether its files hold scripts in another language beside their own markup.
    pub(super) fn has_scripts(&self) -> bool {
        self.row.scripts
    }

    /// The kinds of nodes that only hold siblings and begin where the first of them begins.
    pub fn list_nodes(&self) -> &[String] {
        &self.row.list_nodes
    }

    /// The kinds of nodes that say something of the item that comes next, or that they begin.
    pub fn attributes(&self) -> &[String] {
        &self.row.attributes
    }

    /// What a comment begins with that documents the item directly below.
    pub fn docs(&self) -> &[String] {
        &self.row.docs
    }

    /// The kinds of items that such comments document; all where there are none.
    pub fn documented(&self) -> &[String] {
        &self.row.documented
    }

    /// The compiled grammar.
    pub fn grammar(&self) -> &tree_sitter::Language {
        self.grammar.get_or_init(|| (self.grammar_row().language)())
    }

    /// What the language's query captures, as a table by kind of node; made at the first use.
    pub fn captures(&self) -> &Captures {
        self.captures.get_or_init(|| {
            Captures::new(self.grammar(), self.query())
                // A test compiles every query.
                .unwrap_or_else(|error| panic!("the query of {}: {error}", self.name()))
        })
    }

    /// The text of the language's query.
    pub fn query(&self) -> &'static str {
        self.grammar_row().query
    }

    /// Whole file names; one that ends in `*` stands for all that begin so.
    pub(super) fn file_names(&self) -> &[String] {
        &self.row.file_names
    }

    /// Without the dot.
    pub(super) fn extensions(&self) -> &[String] {
        &self.row.extensions
    }

    /// Names of interpreters, without version.
    pub(super) fn shebangs(&self) -> &[String] {
        &self.row.shebangs
    }

    /// Further names under which modelines of Vim and Emacs know it, in lower case.
    pub(super) fn modelines(&self) -> &[String] {
        &self.row.modelines
    }

    /// What begins a line in this language and not in another with the same extension.
    pub(super) fn line_starts(&self) -> &[String] {
        &self.row.line_starts
    }

    fn grammar_row(&self) -> &'static Grammar {
        let name = self.row.grammar.as_ref().unwrap_or(&self.row.name);
        GRAMMARS
            .iter()
            .find(|grammar| grammar.name == name)
            // A test asks every language for its grammar.
            .unwrap_or_else(|| panic!("no grammar {name}"))
    }
}
