//! The grammars with their queries, one line each; nothing here ever says which file is in which language.

use tree_sitter::Language;

use super::scanners;

/// One grammar crate and the text of the query over it.
pub(super) struct Grammar {
    /// As `languages.toml` names it.
    pub name: &'static str,
    pub language: fn() -> Language,
    pub query: &'static str,
}

macro_rules! grammars {
    ($($name:literal, $language:expr, [$($query:literal),*];)*) => {
        pub(super) const GRAMMARS: &[Grammar] = &[$(Grammar {
            name: $name,
            language: || $language.into(),
            query: concat!($(include_str!(concat!("queries/", $query, ".scm"))),*),
        }),*];
    };
}

grammars! {
    "bash", tree_sitter_bash::LANGUAGE, ["bash"];
    "c", tree_sitter_c::LANGUAGE, ["c"];
    "c-sharp", tree_sitter_c_sharp::LANGUAGE, ["c-sharp"];
    "cmake", tree_sitter_cmake::LANGUAGE, ["cmake"];
    "cpp", tree_sitter_cpp::LANGUAGE, ["cpp"];
    "css", tree_sitter_css::LANGUAGE, ["css"];
    "dart", tree_sitter_dart::LANGUAGE, ["dart"];
    "dockerfile", tree_sitter_containerfile::LANGUAGE, ["dockerfile"];
    "elixir", tree_sitter_elixir::LANGUAGE, ["elixir"];
    "erlang", tree_sitter_erlang::LANGUAGE, ["erlang"];
    "go", tree_sitter_go::LANGUAGE, ["go"];
    "graphql", tree_sitter_graphql::LANGUAGE, ["graphql"];
    "haskell", tree_sitter_haskell::LANGUAGE, ["haskell"];
    "hcl", tree_sitter_hcl::LANGUAGE, ["hcl"];
    "html", tree_sitter_html::LANGUAGE, ["html"];
    "java", tree_sitter_java::LANGUAGE, ["java"];
    "javascript", tree_sitter_javascript::LANGUAGE, ["ecmascript", "javascript"];
    "json", tree_sitter_json::LANGUAGE, ["json"];
    "julia", tree_sitter_julia::LANGUAGE, ["julia"];
    "kotlin", tree_sitter_kotlin_ng::LANGUAGE, ["kotlin"];
    "lua", tree_sitter_lua::LANGUAGE, ["lua"];
    "make", tree_sitter_make::LANGUAGE, ["make"];
    "markdown", tree_sitter_md::LANGUAGE, ["markdown"];
    "nix", tree_sitter_nix::LANGUAGE, ["nix"];
    "ocaml", tree_sitter_ocaml::LANGUAGE_OCAML, ["ocaml"];
    "ocaml-interface", tree_sitter_ocaml::LANGUAGE_OCAML_INTERFACE, ["ocaml"];
    "php", tree_sitter_php::LANGUAGE_PHP, ["php"];
    "powershell", tree_sitter_powershell::LANGUAGE, ["powershell"];
    "proto", tree_sitter_proto::LANGUAGE, ["proto"];
    "python", scanners::python(), ["python"];
    "r", tree_sitter_r::LANGUAGE, ["r"];
    "ruby", scanners::ruby(), ["ruby"];
    "rust", tree_sitter_rust::LANGUAGE, ["rust"];
    "scala", tree_sitter_scala::LANGUAGE, ["scala"];
    "scss", tree_sitter_scss::language(), ["scss"];
    "solidity", tree_sitter_solidity::LANGUAGE, ["solidity"];
    "sql", tree_sitter_sequel::LANGUAGE, ["sql"];
    "svelte", tree_sitter_svelte_ng::LANGUAGE, ["svelte"];
    "swift", tree_sitter_swift::LANGUAGE, ["swift"];
    "toml", tree_sitter_toml_ng::LANGUAGE, ["toml"];
    "tsx", tree_sitter_typescript::LANGUAGE_TSX, ["ecmascript", "typescript", "tsx"];
    "typescript", tree_sitter_typescript::LANGUAGE_TYPESCRIPT, ["ecmascript", "typescript"];
    "xml", tree_sitter_xml::LANGUAGE_XML, ["xml"];
    "yaml", scanners::yaml(), ["yaml"];
    "zig", tree_sitter_zig::LANGUAGE, ["zig"];
}
