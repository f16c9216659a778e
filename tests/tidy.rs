//! Keeps the house in order: layers, headers, sizes, and what README.md and `docs/protocol.md` list of the registries; it never looks at behaviour.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pilcrow::protocol::{RefusalKind, Settings, settings::Images};
use serde_json::Value;

use crate::client::Daemon;

/// The rooms by line, lowest first: a room may name only rooms on lower lines.
const LINES: &[&[&str]] = &[
    // Of unit tests alone.
    &["chance"],
    &["picture", "protocol", "text"],
    &["task"],
    &["rpc", "net", "mcp_client"],
    &["worker", "github"],
    &["syntax", "convert"],
    &["hashline", "notebook", "outline", "search"],
    &["structure"],
    &["view"],
    &["sqlite"],
    &["workspace"],
    &["buffer"],
    &["session"],
    &["read"],
    &["edit"],
    &["server"],
    &["mcp"],
    &["cli"],
    // Of unit tests and the fuzz targets alone.
    &["fuzz"],
];

/// Lines of code after which a file is too long.
const MAX_LINES: usize = 600;

struct Source {
    path: PathBuf,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let path = path
                    .strip_prefix(root())
                    .expect("below the root")
                    .to_owned();
                found.push(Source { path, text });
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

fn line_of(room: &str) -> Option<usize> {
    LINES.iter().position(|line| line.contains(&room))
}

/// The rooms that a source names by `crate::`, or by more `super::`s than it has parents in its
/// own room.
fn named_rooms(source: &Source) -> Vec<String> {
    let is_module_root = source.path.ends_with("mod.rs");
    let depth = source.path.components().count() - if is_module_root { 2 } else { 1 };
    let to_crate = "super::".repeat(depth);
    let mut rooms = Vec::new();
    for line in code_lines(&source.text) {
        for prefix in ["crate::", to_crate.as_str()] {
            for (at, _) in line.match_indices(prefix) {
                let before = line[..at].chars().next_back();
                let rest = &line[at + prefix.len()..];
                let name: String = rest
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                if before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != ':') {
                    rooms.push(name);
                }
            }
        }
    }
    rooms
}

/// The lines that are no comments, without the module of unit tests, which is last in its file and
/// one `super` deeper.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("\nmod tests {").next().unwrap_or(text);
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn rooms_name_only_lower_rooms() {
    let mut wrong = Vec::new();
    for source in sources("src") {
        let parts: Vec<_> = source
            .path
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        let room = parts[1].trim_end_matches(".rs").to_owned();
        let Some(line) = line_of(&room) else {
            assert!(
                ["lib", "main", "logging"].contains(&room.as_str()),
                "{room} has no line in the table"
            );
            continue;
        };
        for named in named_rooms(&source) {
            let allowed = named == room || line_of(&named).is_some_and(|lower| lower < line);
            if !allowed {
                wrong.push(format!("{} names {named}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_open_with_what_they_hold_and_are_short() {
    for folder in ["src", "tests", "benches"] {
        for source in sources(folder) {
            let path = source.path.display();
            assert!(source.text.starts_with("//! "), "{path} has no //! line");
            let lines = source.text.lines().count();
            assert!(lines <= MAX_LINES, "{path} has {lines} lines");
        }
    }
}

/// What a page lists under a heading of its own, up to the next one.
fn section(page: &str, heading: &str) -> String {
    let text = fs::read_to_string(root().join(page)).expect(page);
    let section = text
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("{page} has no section {heading}"))
        .1;
    section.split("\n## ").next().unwrap_or(section).to_owned()
}

/// A page of the daemon's own guide.
fn guide(page: &str) -> String {
    let path = root().join("src/read/source/guide").join(page);
    fs::read_to_string(path.with_extension("md")).expect("a page")
}

/// The names in backticks in the first column of a section's table.
fn first_column(page: &str, heading: &str) -> Vec<String> {
    first_column_of(&section(page, heading))
}

fn first_column_of(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .flat_map(|row| quoted(row.split('|').nth(1).unwrap_or(""), '`'))
        .collect()
}

/// What stands between quotes in a line.
fn quoted(line: &str, quote: char) -> Vec<String> {
    let parts = line.split(quote).skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// The JSON of a section's block, without its comments.
fn settings_of(page: &str) -> Value {
    let section = section(page, "Settings");
    let block = section.split("```jsonc\n").nth(1).expect("a block");
    let block = block.split("```").next().unwrap_or(block);
    let mut json = String::new();
    let mut rest = block;
    while let Some(at) = rest.find(['"', '/']) {
        json.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = match &rest[..2] {
            "//" => rest.find('\n').expect("a line's end"),
            "/*" => rest.find("*/").expect("the comment's end") + 2,
            // No setting has an escaped quote in it.
            _ => rest[1..].find('"').expect("the string's end") + 2,
        };
        if rest.starts_with('"') {
            json.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    json.push_str(rest);
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{page}, Settings: {error}\n{json}"))
}

/// Every key with a value that is no object with members of its own: `read.contextLines.leading`.
fn leaves(settings: &Value, prefix: &str, into: &mut BTreeSet<String>) {
    match settings {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                leaves(value, &format!("{prefix}.{key}"), into);
            }
        }
        value => {
            into.insert(format!("{} = {value}", &prefix[1..]));
        }
    }
}

/// Fails with what is listed and not there, and what is there and not listed.
fn assert_listed(place: &str, listed: &[String], code: &str, there: &[String]) {
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
    let (listed, there) = (set(listed), set(there));
    let unlisted: Vec<_> = there.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&there).collect();
    assert!(
        unlisted.is_empty() && gone.is_empty(),
        "Add to {place}: {unlisted:?}. Take out of there, or add to {code}: {gone:?}."
    );
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|item| item.as_str().expect("a name").to_owned())
        .collect()
}

/// What the daemon says of itself at `initialize`.
fn registries() -> Value {
    let root = tempfile::tempdir().expect("a root");
    let daemon = Daemon::start(root.path());
    daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"].clone()
}

/// What clients tell by `agent/…` notifications and what they are told and asked by it.
const NO_METHODS: &[&str] = &[
    "agent/documentState",
    "agent/didChangeSnapshot",
    "agent/followFile",
    "agent/saveDocument",
    "agent/didChangeSchemes",
    "agent/resolve",
];

#[test]
fn the_pages_list_the_registries() {
    let registries = registries();
    let members: Vec<String> = registries
        .as_object()
        .expect("members")
        .keys()
        .cloned()
        .collect();
    let page = fs::read_to_string(root().join("docs/protocol.md")).expect("docs/protocol.md");
    let line = page
        .lines()
        .find_map(|line| line.split_once("experimental.pilcrow = { protocol: 1,"));
    let listed = line.expect("the result of initialize").1;
    let listed = listed.split('}').next().unwrap_or(listed).split(',');
    let listed = listed.map(|name| name.trim().to_owned());
    let listed: Vec<String> = listed.chain(["protocol".to_owned()]).collect();
    assert_listed(
        "docs/protocol.md, initialize",
        &listed,
        "server/lifecycle.rs",
        &members,
    );

    let methods = strings(&registries["methods"]);
    assert_eq!(first_column("README.md", "Methods"), methods);
    let named = page.lines().filter_map(|line| {
        let line = line.strip_prefix("## ").or(line.strip_prefix("- `"))?;
        let end = line.find([' ', '`']).unwrap_or(line.len());
        line.starts_with("agent/").then(|| line[..end].to_owned())
    });
    assert_listed(
        "docs/protocol.md, as a section or a bullet that begins with it",
        &named.collect::<Vec<_>>(),
        "server::METHODS",
        &methods,
    );
    let every = page.match_indices("agent/").map(|(at, _)| {
        let end = page[at + 6..].find(|c: char| !c.is_ascii_alphanumeric());
        page[at..at + 6 + end.unwrap_or(0)].to_owned()
    });
    for name in every.filter(|name| name != "agent/") {
        let known = methods.contains(&name) || NO_METHODS.contains(&name.as_str());
        assert!(known, "docs/protocol.md names {name}, which is no method");
    }

    let dialects = strings(&registries["dialects"]);
    assert_eq!(first_column("README.md", "Dialects"), dialects);
    assert_eq!(
        first_column("docs/protocol.md", "Dialects"),
        dialects,
        "docs/protocol.md, Dialects, and view::dialect::DIALECTS"
    );
}

#[test]
fn the_pages_list_the_kinds_of_resources() {
    let kinds = strings(&registries()["kinds"]);
    assert_eq!(
        first_column("README.md", "Kinds"),
        kinds,
        "README.md, Kinds"
    );
    assert_listed(
        "pilcrow://kinds",
        &first_column_of(&guide("kinds")),
        "read::kinds",
        &kinds,
    );
    let read = section("docs/protocol.md", "agent/read");
    let line = read
        .lines()
        .find(|line| line.trim_start().starts_with("kind: \""));
    assert_listed(
        "docs/protocol.md, agent/read, ReadDetails.kind",
        &quoted(line.expect("ReadDetails.kind"), '"'),
        "read::kinds",
        &kinds,
    );
}

#[test]
fn the_pages_list_the_schemes() {
    let schemes = strings(&registries()["schemes"]);
    assert_eq!(
        first_column("docs/protocol.md", "Schemes"),
        schemes,
        "docs/protocol.md, Schemes, and read::scheme::SCHEMES"
    );
}

#[test]
fn the_pages_list_the_kinds_of_errors() {
    let schema = schemars::schema_for!(RefusalKind);
    let kinds = strings(schema.get("enum").expect("variants without comments"));
    let place = "docs/protocol.md, Errors";
    let listed = first_column("docs/protocol.md", "Errors");
    assert_listed(place, &listed, "protocol::RefusalKind", &kinds);
    assert_listed(
        "pilcrow://errors",
        &first_column_of(&guide("errors")),
        "protocol::RefusalKind",
        &kinds,
    );
}

#[test]
fn the_pages_list_the_settings_with_their_defaults() {
    let mut defaults = serde_json::to_value(Settings::default()).expect("plain data");
    // Not set by default, since some dialects have limits of their own then: these are the others'.
    defaults["images"]["maxDimension"] = Images::MAX_DIMENSION.into();
    defaults["images"]["maxInlineBytes"] = Images::MAX_INLINE_BYTES.into();
    let all = |settings: &Value| {
        let mut all = BTreeSet::new();
        leaves(settings, "", &mut all);
        all.into_iter().collect::<Vec<_>>()
    };
    let defaults = all(&defaults);
    assert_listed(
        "docs/protocol.md, Settings",
        &all(&settings_of("docs/protocol.md")),
        "protocol::settings",
        &defaults,
    );
    // The guide has the names, and the defaults in words.
    let keys = defaults.iter().filter_map(|it| it.split(" = ").next());
    assert_listed(
        "pilcrow://settings",
        &first_column_of(&guide("settings")),
        "protocol::settings",
        &keys.map(str::to_owned).collect::<Vec<_>>(),
    );
    // The README leaves out what few people set.
    for setting in all(&settings_of("README.md")) {
        assert!(
            defaults.contains(&setting),
            "README.md, Settings: {setting}"
        );
    }
}
