//! SQLite databases over the wire: every form, every refusal, as a user reads them; files beside a database and damage have tests of their own.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::client::{Daemon, WireError};
use crate::tree::Tree;

/// A folder with copies of the databases that other programs made.
pub fn databases() -> Tree {
    let tree = Tree::new();
    copy_all("sqlite", &tree);
    tree
}

pub fn copy_all(folder: &str, tree: &Tree) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(folder);
    for entry in fs::read_dir(folder).expect("fixtures") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("its type").is_file() {
            fs::copy(entry.path(), tree.path().join(entry.file_name())).expect("a copy");
        }
    }
}

/// Runs a Python script with sqlite3 in the folder of a tree.
pub fn python(tree: &Tree, script: &str) {
    let status = python_command(tree, script).status().expect("python3 runs");
    assert!(status.success(), "{script}");
}

/// Starts a script that says when it is ready and ends when its input does.
pub fn python_until_closed(tree: &Tree, script: &str) -> Child {
    use std::io::Read;
    let script = format!("{script}\nimport sys\nprint('r', end='', flush=True)\nsys.stdin.read()");
    let mut child = python_command(tree, &script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut ready = [0];
    let stdout = child.stdout.as_mut().expect("stdout is piped");
    stdout
        .read_exact(&mut ready)
        .expect("the script gets there");
    child
}

fn python_command(tree: &Tree, script: &str) -> Command {
    let mut command = Command::new("python3");
    let prelude = "import sqlite3, os, time";
    command.arg("-c").arg(format!("{prelude}\n{script}"));
    command.current_dir(tree.path());
    command
}

pub fn refusal(daemon: &Daemon, path: &str) -> WireError {
    match daemon.read(path) {
        Err(error) => error,
        Ok(result) => panic!("{path}: {result}"),
    }
}

#[track_caller]
pub fn check(daemon: &Daemon, path: &str, expected: &str) {
    assert_eq!(daemon.read_text(path), expected.trim_end(), "{path}");
}

#[test]
fn the_list_of_tables_and_views() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    check(&daemon, "words.db3", "words (3 rows)");
    check(
        &daemon,
        "museum.sqlite",
        "adults (view)
boxes (2 rows)
boxes_node (1 row)
boxes_parent (0 rows)
boxes_rowid (2 rows)
config (4 rows)
counters (3 rows)
countries (5 rows)
empty_table (0 rows)
long_key (2 rows)
made (3 rows)
notes (3 rows)
notes_config (1 row)
notes_content (3 rows)
notes_data (3 rows)
notes_docsize (3 rows)
notes_idx (1 row)
odd_cells (9 rows)
order_sums (view)
orders (12 rows)
tags (6 rows)
users (30 rows)
wide (2 rows)",
    );
    let result = daemon.read("museum.sqlite").expect("a list");
    let details = &result["details"];
    assert_eq!(details["kind"], "sqlite");
    assert_eq!(details["meta"]["source"], tree.spelled("museum.sqlite"));
    assert_eq!(details["resolvedPath"], tree.spelled("museum.sqlite"));
    assert!(details["hashline"].is_null() && details["limits"].is_null());
    check(&daemon, "empty.sqlite", "(no tables)");
    check(
        &daemon,
        "modules.db",
        "collated (2 rows)\nindexed (2 rows)\nplain (1 row)\nvirtual (not readable: no such module: harbour)",
    );
    let names = daemon.read_text("names.db");
    for row in [
        "50 (1 row)",
        "\"new\\nline\" (1 row)",
        "日本 (1 row)",
        "col:on (1 row)",
    ] {
        assert!(names.lines().any(|line| line == row), "{row} in {names}");
    }
}

#[test]
fn a_long_list_is_paged() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    let result = daemon.read("many.db").expect("a list");
    let text = result["content"][0]["text"].as_str().expect("a text");
    let footer = "[Showing 500 of 612 tables. Use many.db:501- to continue]";
    assert!(text.ends_with(footer), "{text}");
    assert_eq!(
        result["details"]["limits"],
        json!({ "resultLimit": 500, "total": 612 })
    );
    let rest = daemon.read_text("many.db:501-");
    assert_eq!(rest.lines().count(), 112);
    assert!(
        rest.starts_with("v488 (view)\n") && rest.ends_with("v599 (view)"),
        "{rest}"
    );
    check(
        &daemon,
        "many.db:12-14",
        "t11 (1 row)\nv000 (view)\nv001 (view)\n\n[12-14 of 612 tables]",
    );
    let apart = daemon.read_with(json!({ "path": "many.db", "selector": "612" }));
    assert_eq!(apart.expect("a list")["content"][0]["text"], "v599 (view)");
}

#[test]
fn rows_are_counted_to_fifty_thousand() {
    let tree = Tree::new();
    python(
        &tree,
        "c = sqlite3.connect('big.db')
c.execute('create table big (id integer primary key, word text)')
c.execute('create table exact (id integer primary key)')
for name, rows in (('big (id)', 50001), ('exact (id)', 50000)):
    c.execute('with recursive c(x) as (select 1 union all select x + 1 from c where x < %d) insert into %s select x from c' % (rows, name))
c.commit()",
    );
    let daemon = Daemon::start(tree.path());
    check(&daemon, "big.db", "big (>50000 rows)\nexact (50000 rows)");
    let page = daemon.read_text("big.db:big?limit=1&order=id:desc");
    assert!(
        page.ends_with(
            "[50000 more rows; continue with big.db:big?limit=1&order=id:desc&offset=1]"
        ),
        "{page}"
    );
    let endless = databases();
    let daemon = Daemon::start(endless.path());
    let text = daemon.read_text("views.db:endless");
    assert!(
        text.ends_with("[>50000 more rows; continue with views.db:endless?limit=20&offset=5]"),
        "{text}"
    );
}

#[test]
fn a_table_is_its_statement_and_five_rows() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    check(
        &daemon,
        "museum.db:odd_cells",
        "CREATE TABLE odd_cells (id INTEGER PRIMARY KEY, what TEXT, cell)

| id  | what      | cell              |
| --- | --------- | ----------------- |
| 1   | null      | NULL              |
| 2   | blob      | <blob 2B>         |
| 3   | empty     |                   |
| 4   | bar       | a\\|b              |
| 5   | line ends | one\\ntwo\\r\\nthree |

[4 more rows; continue with museum.db:odd_cells?limit=20&offset=5]",
    );
    check(
        &daemon,
        "museum.db:adults",
        "CREATE VIEW adults AS SELECT id, name FROM users WHERE age >= 30

| id  | name               |
| --- | ------------------ |
| 11  | Alan Turing 11     |
| 12  | Grace Hopper 12    |
| 13  | Edsger Dijkstra 13 |
| 14  | Barbara Liskov 14  |
| 15  | Ada Lovelace 15    |

[15 more rows; continue with museum.db:adults?limit=20&offset=5]",
    );
    check(
        &daemon,
        "museum.db:empty_table",
        "CREATE TABLE empty_table (id INTEGER PRIMARY KEY, never TEXT)\n\n(no rows)",
    );
    check(
        &daemon,
        "museum.db:boxes",
        "CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, y0, y1)

| id  | x0  | x1  | y0  | y1  |
| --- | --- | --- | --- | --- |
| 1   | 0.0 | 1.0 | 0.0 | 1.0 |
| 2   | 5.0 | 9.0 | 5.0 | 9.0 |",
    );
    let notes = daemon.read_text("museum.db:notes");
    assert!(notes.contains("| tides  | high water at noon |"), "{notes}");
    check(
        &daemon,
        "views.db:loop_a",
        "CREATE VIEW loop_a AS SELECT * FROM loop_b\n\n(rows not readable: view loop_a is circularly defined)",
    );
    // A statement of 40 columns is whole, and so many columns stand one below the other.
    let wide = daemon.read_text("museum.db:wide");
    assert!(
        wide.contains("c38, c39)\n\n--- Row 1 ---\nc00: 0\n"),
        "{wide}"
    );
}

#[test]
fn a_row_by_its_key() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    check(
        &daemon,
        "museum.db:users:7",
        "id: 7\nname: Grace Hopper 7\nemail: user7@example.org\nage: 26\njoined: 2024-01-07",
    );
    check(
        &daemon,
        "museum.db:countries:NL",
        "code: NL\nname: Netherlands",
    );
    check(&daemon, "museum.db:config:a/b", "key: a/b\nvalue: slash");
    check(
        &daemon,
        "museum.db:odd_cells:2",
        "id: 2\nwhat: blob\ncell: <blob 2B> x'00ff'",
    );
    check(
        &daemon,
        "museum.db:odd_cells:5",
        "id: 5\nwhat: line ends\ncell: one\ntwo\nthree",
    );
    for form in [
        "words.sqlite3",
        "words.db3",
        "utf16le.db",
        "utf16be.db",
        "page512.db",
        "vacuum.db",
        "reserved.db",
        "geo.gpkg-like.sqlite",
    ] {
        check(&daemon, &format!("{form}:words:2"), "id: 2\nword: élève");
    }
    for (path, row) in [
        ("descending:30", "id: 30\nv: a"),
        ("int_key:6", "id: 6\nv: six"),
        ("real_key:1.5", "id: 1.5\nv: one and a half"),
        ("real_key:2", "id: 2.0\nv: two"),
        ("blob_key:x'0102'", "id: <blob 2B> x'0102'\nv: bytes"),
        ("blob_key:0102", "id: 0102\nv: text"),
        ("nocase_key:KEY", "id: Key\nv: mixed"),
        ("null_keys:NULL", "id: 'NULL'\nv: text"),
        ("text_number:007", "id: 007\nv: agent"),
        ("text_number:7", "id: 7\nv: seven"),
        ("negative:-5", "id: -5\nv: minus five"),
        ("shadowed:2", "rowid: 2\nv: b"),
    ] {
        check(&daemon, &format!("keys.db:{path}"), row);
    }
    let shadowed = refusal(&daemon, "keys.db:all_shadowed:1");
    assert_eq!(
        shadowed.message,
        "Table 'all_shadowed' has no key. Use keys.db:all_shadowed?where=rowid = …."
    );
    // Without a primary key, by the number that every row has.
    let tag = daemon.read_text("museum.db:tags:2");
    assert!(tag.starts_with("tag: green"), "{tag}");
    let key = daemon.read_text("museum.db:long_key:9007199254740993");
    assert_eq!(key, "id: 9007199254740993\nname: two to the 53rd and one");
    let missing = refusal(&daemon, "museum.db:users:999");
    assert_eq!(missing.kind(), "notFound");
    assert_eq!(
        missing.message,
        "No row of 'users' has the key id = 999. Use museum.db:users?where=… or museum.db:users?limit=20 to look for it."
    );
    let composite = refusal(&daemon, "museum.db:orders:1");
    assert_eq!(composite.kind(), "badParams");
    assert_eq!(
        composite.message,
        "Table 'orders' has a primary key of more than one column (user_id, number). Use museum.db:orders?where=user_id = … AND number = …."
    );
    let view = refusal(&daemon, "museum.db:adults:3");
    assert_eq!(
        view.message,
        "View 'adults' has no key. Use museum.db:adults?where=id = …."
    );
    let parameters = refusal(&daemon, "museum.db:users:3?limit=2");
    assert_eq!(
        (parameters.kind(), parameters.message.as_str()),
        (
            "badParams",
            "A row takes no parameters. Use museum.db:users:KEY, or museum.db:users?where=… for rows."
        )
    );
}

#[test]
fn keys_of_every_type() {
    let tree = Tree::new();
    python(
        &tree,
        "c = sqlite3.connect('k.db')
c.executescript('''
create table t (k text primary key, v); insert into t values ('7', 'text 7'), ('007', 'text 007'), ('5-9', 'a range'), ('raw', 'a word'), ('a:b', 'a colon'), ('', 'nothing'), ('x?limit=1', 'a query'), ('12-', 'an open range');
create table i (k integer primary key, v); insert into i values (-5, 'negative'), (12, 'twelve');
create table r (k real primary key, v); insert into r values (0.5, 'half');
create table b (k blob primary key, v); insert into b values (x'00ff', 'bytes'), ('00ff', 'letters'), (7, 'number');
create table n (k text primary key collate nocase, v) without rowid; insert into n values ('Ab', 'any case');
create table s (rowid text, v); insert into s values ('taken', 'first');
''')
c.commit()",
    );
    let daemon = Daemon::start(tree.path());
    for (path, value) in [
        ("k.db:t:7", "text 7"),
        ("k.db:t:007", "text 007"),
        ("k.db:t:5-9", "a range"),
        ("k.db:t:raw", "a word"),
        ("k.db:t:a:b", "a colon"),
        ("k.db:t:", "nothing"),
        ("k.db:t:x?limit=1", "a query"),
        ("k.db:t:12-", "an open range"),
        ("k.db:i:-5", "negative"),
        ("k.db:r:0.5", "half"),
        ("k.db:b:x'00ff'", "bytes"),
        ("k.db:b:00ff", "letters"),
        ("k.db:b:7", "number"),
        ("k.db:n:aB", "any case"),
        ("k.db:s:1", "first"),
    ] {
        let row = daemon.read_text(path);
        assert!(row.ends_with(&format!("\nv: {value}")), "{path}: {row}");
    }
    for path in ["k.db:i:5-9", "k.db:i:raw", "k.db:i:twelve", "k.db:t:8"] {
        assert_eq!(refusal(&daemon, path).kind(), "notFound", "{path}");
    }
}

#[test]
fn rows_of_a_table() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    check(
        &daemon,
        "museum.db:users?where=id>5&order=id:desc&limit=3",
        "| id  | name               | email              | age | joined     |
| --- | ------------------ | ------------------ | --- | ---------- |
| 30  | Ada Lovelace 30    | user30@example.org | 49  | 2024-01-30 |
| 29  | Barbara Liskov 29  | user29@example.org | 48  | 2024-01-29 |
| 28  | Edsger Dijkstra 28 | user28@example.org | 47  | 2024-01-28 |

[22 more rows; continue with museum.db:users?where=id>5&order=id:desc&limit=3&offset=3]",
    );
    let default = daemon.read("museum.db:users?").expect("rows");
    let text = default["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.ends_with("[10 more rows; continue with museum.db:users?limit=20&offset=20]"),
        "{text}"
    );
    assert_eq!(default["details"]["limits"]["resultLimit"], 20);
    let all = daemon.read_text("museum.db:users?limit=9999");
    assert_eq!(all.lines().count(), 32);
    check(&daemon, "museum.db:users?offset=30", "(no rows)");
    // Percent signs that are no escapes stand for themselves; a plus is a plus.
    for condition in [
        "name LIKE 'ada%'",
        "name%20LIKE%20'Ada%25'",
        "name LIKE '%ada%'",
        "id%5+1=1",
    ] {
        let text = daemon.read_text(format!("museum.db:users?where={condition}"));
        assert_eq!(text.lines().count(), 8, "{condition}: {text}");
    }
    let and = daemon.read_text("museum.db:users?where=(id%265)=5 AND id<7&limit=1");
    assert!(and.contains("| 5   |"), "{and}");
}

#[test]
fn following_the_footers_shows_every_row_once() {
    let tree = Tree::new();
    python(
        &tree,
        "c = sqlite3.connect('p.db')
c.execute('create table p (k integer primary key, same text, pad text, more text)')
c.executemany('insert into p values (?, ?, ?, ?)', [(n, 'x' if n % 2 else 'y', 'p' * 200, 'm' * 40) for n in range(2000)])
c.commit()",
    );
    let daemon = Daemon::start(tree.path());
    let mut next = Some("p.db:p?order=same&limit=500".to_owned());
    let mut seen = Vec::new();
    let mut pages = 0;
    while let Some(path) = next {
        let text = daemon.read_text(&path);
        assert!(text.len() < 52_000, "{} bytes", text.len());
        let rows = text
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with("| "));
        seen.extend(rows.map(|row| row[2..6].trim().parse::<usize>().expect("a key")));
        let footer = text
            .lines()
            .find_map(|line| line.split_once("continue with "));
        next = footer.map(|(_, path)| path.trim_end_matches(']').to_owned());
        pages += 1;
    }
    assert!(
        pages > 4,
        "{pages} pages: the limit of bytes cuts them shorter"
    );
    seen.sort_unstable();
    assert_eq!(seen, (0..2000).collect::<Vec<_>>());
}
