//! What may be asked of a database, and how much of it is answered: parameters, queries, odd names, long values; the plain forms are told elsewhere.

use std::fs;

use serde_json::{Value, json};

use crate::client::Daemon;
use crate::databases::{check, databases, python, refusal};
use crate::tree::Tree;

#[test]
fn what_parameters_cannot_be() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    for (tail, message) in [
        (
            ":users?foo=1",
            "Unknown parameter 'foo'. A table takes limit, offset, order and where.",
        ),
        (
            ":users?limit=0",
            "'limit' must be a whole number of at least 1, not '0'. At most 500 rows are given at a time.",
        ),
        (
            ":users?limit=x",
            "'limit' must be a whole number of at least 1, not 'x'. At most 500 rows are given at a time.",
        ),
        (
            ":users?offset=-1",
            "'offset' must be a whole number of at least 0, not '-1'.",
        ),
        (
            ":users?order=zzz",
            "'order' must be COLUMN, COLUMN:asc or COLUMN:desc with a column of 'users', not 'zzz'.",
        ),
        (
            ":users?order=nam:desc",
            "'order' must be COLUMN, COLUMN:asc or COLUMN:desc with a column of 'users', not 'nam:desc'. Did you mean name?",
        ),
        (
            ":users?where=1 LIMIT 5",
            "'where' must not hold LIMIT: it is one condition, and limit and offset are parameters of their own. A query of your own is ?q=SELECT ….",
        ),
        (
            ":users?where=1;DROP TABLE users",
            "'where' must not hold comments or ';'. A query of your own is ?q=SELECT ….",
        ),
        (
            ":users?where=1 --",
            "'where' must not hold comments or ';'. A query of your own is ?q=SELECT ….",
        ),
        (
            ":users?where=1) OR (1",
            "'where' has a quote or a bracket that is not closed.",
        ),
        (
            ":users?where=",
            "'where' is empty. Leave it out to get all rows.",
        ),
        (
            ":users?where=zname=1",
            "SQLite says \"no such column: zname\". Did you mean name?",
        ),
        (
            ":users?where=id=?",
            "Parameters (?, :name, @name, $name) have no values here. Write the values into the SQL; a text is in single quotes.",
        ),
        (":users?limit=1&limit=2", "'limit' is given twice."),
        (
            ":users?q=SELECT 1",
            "'q' stands alone, right after the database's path: ?q=SELECT …. It is not combined with a table or another parameter.",
        ),
        (
            "?limit=3&q=SELECT 1",
            "'q' stands alone, right after the database's path: ?q=SELECT …. It is not combined with a table or another parameter.",
        ),
        (
            "?limit=3",
            "'limit' needs a table: DATABASE:TABLE?limit=…. A query of your own is DATABASE?q=SELECT ….",
        ),
        ("?q=", "'q' is empty. Use ?q=SELECT …."),
        (
            "?q=-- nothing",
            "'q' holds no statement that gives rows. Use ?q=SELECT ….",
        ),
        (
            "?q=SELECT * FROM userz",
            "SQLite says \"no such table: userz\". Did you mean users?",
        ),
        (
            "?q=SELECT nmae FROM users",
            "SQLite says \"no such column: nmae\". Did you mean name or note?",
        ),
        (
            "?q=SELEC 1",
            "SQLite says \"near \"SELEC\": syntax error\".",
        ),
        (
            "?q=SELECT ?1",
            "Parameters (?, :name, @name, $name) have no values here. Write the values into the SQL; a text is in single quotes.",
        ),
        (
            "?q=SELECT 1; SELECT 2",
            "There is more than one statement. Ask them one by one.",
        ),
    ] {
        let refused = refusal(&daemon, &format!("museum.db{tail}"));
        assert_eq!(refused.message, message, "{tail}");
        assert_eq!(
            (refused.kind(), refused.code),
            ("badParams", -32602),
            "{tail}"
        );
    }
    let unknown = refusal(&daemon, "museum.db:user");
    assert_eq!(unknown.kind(), "notFound");
    assert_eq!(
        unknown.message,
        "No table or view 'user' in museum.db. museum.db alone lists them. Did you mean museum.db:users?"
    );
    assert_eq!(unknown.data["suggestions"], json!(["museum.db:users"]));
    for selector in [":conflicts", ":crop=1,1,1,1", ":p3"] {
        let refused = refusal(&daemon, &format!("museum.db{selector}"));
        assert_eq!(refused.kind(), "badSelector", "{selector}");
    }
}

#[test]
fn queries_of_ones_own() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    check(
        &daemon,
        "museum.db?q=SELECT count(*), '100%25' AS p, 1+1 FROM users WHERE 1 & 1",
        "| count(*) | p      | 1+1 |\n| -------- | ------ | --- |\n| 30       | 100%25 | 2   |",
    );
    check(&daemon, "museum.db?q=SELECT 1 WHERE 0", "(no rows)");
    let count = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c";
    let result = daemon.read(format!("museum.db?q={count}")).expect("rows");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("\n| 1000 |\n"));
    assert!(
        text.ends_with(
            "[Output capped at 1000 rows; add LIMIT and OFFSET 1000 to the query for more]"
        ),
        "{text}"
    );
    assert_eq!(result["details"]["limits"]["resultLimit"], 1000);
    let wide = format!("museum.db?q={count}")
        .replace("SELECT x FROM", "SELECT x, hex(zeroblob(99)), 'y' FROM");
    let text = daemon.read_text(wide);
    assert!(text.len() < 52_000, "{} bytes", text.len());
    assert!(
        text.contains("[Output cut at ") && text.contains(" rows, as many as fit in one answer;")
    );
    // A text that reads like ours is quoted; the other is not.
    check(
        &daemon,
        "museum.db?q=SELECT NULL AS a, 'NULL' AS b, x'' AS c, '<blob 0B>' AS d",
        "| a    | b      | c         | d           |
| ---- | ------ | --------- | ----------- |
| NULL | 'NULL' | <blob 0B> | '<blob 0B>' |",
    );
}

#[test]
fn odd_names_of_tables() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    for name in [
        "select",
        "with space",
        "quo\"te",
        "apo's",
        "semi;colon",
        "col:on",
        "que?stion",
        "per%cent",
        "a&b",
        "a=b",
        "a#b",
        "täble",
        "日本",
        "sla/sh",
        "dot.ted",
        "[brackets]",
        "-- comment",
        "50",
        "new\nline",
        "USERS",
        "users",
    ] {
        let schema = daemon.read_text(format!("names.db:{name}"));
        assert!(schema.starts_with("CREATE TABLE"), "{name}: {schema}");
        let sample = schema.lines().last().and_then(|row| row.split('|').nth(1));
        let id = sample.expect("a row").trim();
        let row = daemon.read_text(format!("names.db:{name}:{id}"));
        assert!(row.starts_with(&format!("id: {id}\n")), "{name}: {row}");
        let page = daemon.read_text(format!(
            "names.db:{name}?order=order by:desc&where=\"a\"\"b\" IS NOT NULL OR 1"
        ));
        assert!(page.contains("order by"), "{name}: {page}");
    }
}

#[test]
fn every_value_can_be_had_whole() {
    let tree = Tree::new();
    python(
        &tree,
        "c = sqlite3.connect('long.db')
c.execute('create table t (k integer primary key, lines text, line text)')
c.execute('insert into t values (1, ?, ?)', ('\\n'.join('line %d' % n for n in range(900000)), 'é' * 50000))
c.execute('create table pair (a, b, body text, primary key (a, b))')
c.execute('insert into pair values (1, 2, ?)', ('whole ' * 50,))
c.execute('insert into pair values (1, 3, ?)', ('other ' * 50,))
c.commit()",
    );
    let daemon = Daemon::start(tree.path());
    let mut selector = String::new();
    let mut whole = Vec::new();
    loop {
        let result = daemon
            .read(format!("long.db:t:1{selector}"))
            .expect("a row");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.len() < 52_000);
        let rows = result["details"]["shown"][0].clone();
        let count =
            rows["end"].as_u64().expect("a line") - rows["start"].as_u64().expect("a line") + 1;
        whole.extend(text.lines().take(count as usize).map(str::to_owned));
        match result["details"]["truncation"]["nextSelector"].as_str() {
            Some(next) => {
                assert!(
                    text.contains(&format!("Use long.db:t:1:{next} to continue]")),
                    "{text}"
                );
                selector = format!(":{next}");
            }
            None => {
                assert!(text.contains("[Lines of line over 16 KiB are broken there]"));
                break;
            }
        }
        // Its 900,000 lines would be 300 pages; the last ones are what matters.
        if whole.len() == 3000 {
            selector = ":899000-".to_owned();
            whole.clear();
        }
    }
    let at = whole
        .iter()
        .position(|line| line.starts_with("line: "))
        .expect("the other column");
    assert_eq!(whole[at - 1], "line 899999");
    assert_eq!(
        whole[at..].concat(),
        format!("line: {}", "é".repeat(50_000))
    );
    // No key: a query that gives one row shows it whole.
    let one = daemon.read_text("long.db:pair?where=a=1 AND b=2");
    assert_eq!(one, format!("a: 1\nb: 2\nbody: {}", "whole ".repeat(50)));
    let two = daemon.read_text("long.db:pair?limit=2");
    assert!(
        two.ends_with(
            "[Cells that end in … are cut; long.db:pair?where=… that gives one row shows it whole]"
        ),
        "{two}"
    );
    let table = daemon.read_text("long.db:t");
    assert!(
        table.ends_with("[Cells that end in … are cut; long.db:t:KEY shows a row whole, by its k]"),
        "{table}"
    );
}

#[test]
fn small_budgets_page_through_everything() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    for path in [
        "museum.db:users",
        "museum.db:users?limit=2",
        "museum.db?q=SELECT 1 AS a",
        "museum.db",
    ] {
        let whole = daemon.read_text(path);
        let mut selector = String::new();
        let mut lines: Vec<String> = Vec::new();
        loop {
            let params = json!({ "path": format!("{path}{selector}"), "budget": { "lines": 1 } });
            let result = daemon.read_with(params).expect(path);
            let text = result["content"][0]["text"].as_str().expect("a text");
            lines.push(text.lines().next().unwrap_or_default().to_owned());
            match result["details"]["truncation"]["nextSelector"].as_str() {
                Some(next) => selector = format!(":{next}"),
                None => break,
            }
        }
        let expected: Vec<&str> = whole.lines().take(lines.len()).collect();
        // Rows beyond the budget are left to the offset: at least one is there.
        let (shown, expected) = match path.contains("limit=") {
            true => (&lines[2..3], &expected[2..3]),
            false => (&lines[..], &expected[..]),
        };
        assert_eq!(shown, expected, "{path}");
    }
}

#[test]
fn what_is_no_database_is_text() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    assert!(daemon.read_text("text.db").contains("1:name=harbour"));
    assert!(daemon.read_text("key.db3").contains("1:SQLite format 2"));
    assert!(daemon.read_text("zero.db").ends_with("(empty file)"));
    assert_eq!(refusal(&daemon, "database.dat").kind(), "binary");
    assert_eq!(refusal(&daemon, "text.db:users").kind(), "badSelector");
    // In any case, deep in the tree, and as one of many.
    tree.write(
        "deep/in/Unique.DB",
        fs::read(tree.join("words.db3")).expect("a copy"),
    );
    let text = daemon.read_text("in/Unique.DB:words:2");
    assert!(
        text.ends_with("id: 2\nword: élève") && text.starts_with("[Path 'in/Unique.DB' not found"),
        "{text}"
    );
    let targets = json!({ "targets": [{ "path": "words.db3" }, { "path": "words.db3:nope" }, { "path": "text.db" }] });
    let many = daemon.call("agent/readMany", targets).expect("answers");
    assert_eq!(
        many["results"][0]["ok"]["content"][0]["text"],
        "words (3 rows)"
    );
    assert_eq!(many["results"][1]["error"]["data"]["kind"], "notFound");
    assert!(many["results"][2]["ok"].is_object());
    let kinds: &Value =
        &daemon.initialize_result()["capabilities"]["experimental"]["pilcrow"]["kinds"];
    assert!(
        kinds
            .as_array()
            .is_some_and(|kinds| kinds.contains(&json!("sqlite")))
    );
}
