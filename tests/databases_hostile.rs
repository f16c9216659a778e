//! Databases and queries made to do harm: each is answered within the limits, and the daemon serves others meanwhile; what sound ones give is told elsewhere.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Daemon;
use crate::databases::{copy_all, databases, python, refusal};
use crate::tree::Tree;

const MIB: u64 = 1 << 20;

#[test]
fn statements_that_do_more_than_read() {
    let tree = databases();
    let before = fs::read(tree.join("museum.db")).expect("its bytes");
    let daemon = Daemon::start(tree.path());
    for (sql, what) in [
        ("INSERT INTO users(name) VALUES ('x')", "INSERT"),
        ("REPLACE INTO users(id) VALUES (1)", "REPLACE"),
        ("UPDATE users SET name = 'x'", "UPDATE"),
        ("DELETE FROM users", "DELETE"),
        ("WITH c AS (SELECT 1) DELETE FROM users", "DELETE"),
        (
            "INSERT INTO users(name) VALUES ('x') RETURNING id",
            "INSERT",
        ),
        ("CREATE TABLE x (a)", "CREATE"),
        ("CREATE TEMP TABLE x (a)", "CREATE"),
        ("DROP TABLE users", "DROP"),
        ("ALTER TABLE users RENAME TO x", "ALTER"),
        ("ATTACH 'other.db' AS other", "ATTACH"),
        ("DETACH main", "DETACH"),
        ("VACUUM", "VACUUM"),
        ("VACUUM INTO 'copy.db'", "VACUUM"),
        ("REINDEX", "REINDEX"),
        ("ANALYZE", "ANALYZE"),
        ("BEGIN", "BEGIN"),
        ("COMMIT", "COMMIT"),
        ("SAVEPOINT s", "SAVEPOINT"),
        ("PRAGMA journal_mode=WAL", "PRAGMA journal_mode"),
        ("PRAGMA writable_schema=ON", "PRAGMA writable_schema"),
        ("PRAGMA query_only=OFF", "PRAGMA query_only"),
        ("PRAGMA hard_heap_limit=0", "PRAGMA hard_heap_limit"),
        ("PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint"),
    ] {
        let refused = refusal(&daemon, &format!("museum.db?q={sql}"));
        assert_eq!(
            (refused.kind(), refused.message.clone()),
            (
                "badParams",
                format!("Only reading is possible here, and {what} is not. Use SELECT.")
            ),
            "{sql}"
        );
    }
    for sql in [
        "DELETE FROM notes_data RETURNING id",
        "SELECT load_extension('x.so')",
        "SELECT fts3_tokenizer('simple', x'0000000000000000')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('x', 'y')",
        "SELECT edit('x')",
        "SELECT * FROM fsdir('/')",
        "SELECT 1; DROP TABLE users",
        "SELECT :a, @b, $c, ?",
    ] {
        let refused = refusal(&daemon, &format!("museum.db?q={sql}"));
        assert_eq!(refused.kind(), "badParams", "{sql}: {}", refused.message);
    }
    // The same within a condition.
    for condition in [
        "load_extension('x')",
        "id IN (DELETE FROM users)",
        "1;DELETE FROM users",
    ] {
        let refused = refusal(&daemon, &format!("museum.db:users?where={condition}"));
        assert_eq!(
            refused.kind(),
            "badParams",
            "{condition}: {}",
            refused.message
        );
    }
    assert_eq!(fs::read(tree.join("museum.db")).expect("its bytes"), before);
    let left = [
        "copy.db",
        "other.db",
        "museum.db-wal",
        "museum.db-journal",
        "museum.db-shm",
    ];
    assert!(left.iter().all(|name| !tree.join(name).exists()));
    assert!(
        daemon
            .read_text("museum.db:users:7")
            .contains("Grace Hopper 7")
    );
}

#[test]
#[cfg(target_os = "linux")]
fn queries_that_want_everything() {
    let tree = databases();
    tree.write("other.txt", "served\n");
    let daemon = Daemon::start(tree.path());
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)";
    let deep = format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000));
    let long = format!("SELECT {}1", "1+".repeat(60_000));
    let many = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(5000));
    let nested =
        |open: &str, close: &str| format!("SELECT {}1{}", open.repeat(4000), close.repeat(4000));
    let doubled = (1..30).map(|n| format!(", c{n} AS (SELECT x.a FROM c{0} x, c{0} y)", n - 1));
    let doubled: String = doubled.collect();
    let queries = [
        "SELECT zeroblob(1000000000)".to_owned(),
        "SELECT randomblob(1000000000)".to_owned(),
        "SELECT length(hex(zeroblob(30000000)))".to_owned(),
        "SELECT printf('%1000000000d', 1)".to_owned(),
        "SELECT replace(hex(zeroblob(10000000)), '0', hex(zeroblob(1000)))".to_owned(),
        format!("{endless} SELECT group_concat(hex(randomblob(100000))) FROM c"),
        format!("{endless} SELECT length(group_concat(x, hex(zeroblob(100000)))) FROM c"),
        format!("{endless} SELECT json_group_array(hex(zeroblob(100000))) FROM c"),
        format!("{endless} SELECT randomblob(100000) AS r FROM c ORDER BY r"),
        format!("{endless} SELECT DISTINCT randomblob(100000) AS r FROM c"),
        format!("{endless} SELECT count(*) FROM c a, c b, c d"),
        deep,
        long,
        many,
        nested("abs(", ")"),
        nested("(SELECT ", ")"),
        nested("CASE WHEN 1 THEN ", " END"),
        nested("1 IN (", ")"),
        format!("WITH c0 AS (SELECT 1 a){doubled} SELECT * FROM c29"),
        format!("SELECT json('{}')", "[".repeat(90_000)),
        format!(
            "SELECT * FROM notes WHERE notes MATCH '{}'",
            "(".repeat(30_000)
        ),
    ];
    let ids: Vec<_> = queries
        .iter()
        .map(|sql| {
            daemon.request(
                "agent/read",
                json!({ "path": format!("museum.db?q={sql}") }),
            )
        })
        .collect();
    // Others are served while they run.
    for _ in 0..20 {
        assert!(daemon.read_text("other.txt").ends_with("1:served"));
    }
    for (id, sql) in ids.iter().zip(&queries) {
        let sql: String = sql.chars().take(120).collect();
        let refused = match daemon.wait(id) {
            Err(refused) => refused,
            // What fits is given.
            Ok(result) => {
                let bytes = result.to_string().len();
                assert!(bytes < 120_000, "{sql}: {bytes} bytes");
                continue;
            }
        };
        let known = ["tooLarge", "timeout", "badParams"].contains(&refused.kind());
        assert!(known, "{sql}: {refused:?}");
    }
    for tail in [
        ":users?where=name LIKE zeroblob(100000000)",
        "?q=SELECT * FROM users a, users b, users c, users d, users e ORDER BY a.name||b.name||c.name",
    ] {
        let _ = daemon.read(format!("museum.db{tail}"));
    }
    let peak = daemon.peak_bytes();
    assert!(peak < 300 * MIB, "{} MiB at its peak", peak / MIB);
    assert!(
        daemon
            .read_text("museum.db:users:7")
            .contains("Grace Hopper 7")
    );
}

/// Between the functions of one expression, and within one, SQLite never looks at the clock.
#[test]
fn statements_that_do_not_look_up() {
    let tree = databases();
    tree.write("other.txt", "served\n");
    let daemon = Daemon::start(tree.path());
    let long = "WITH v(a) AS MATERIALIZED (SELECT replace(hex(zeroblob(1500000)), '0', 'a'))";
    let alike = (0..60).map(|n| format!("a LIKE '%{}b{n}'", "a".repeat(240)));
    let alike: Vec<_> = alike.collect();
    let sum = vec!["length(hex(a))"; 400].join("+");
    let begun = Instant::now();
    let ids = [
        format!("{long} SELECT {} FROM v", alike.join(", ")),
        format!(
            "{long} SELECT {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0} FROM v",
            sum
        ),
    ]
    .map(|sql| {
        let path = format!("museum.db?q={sql}");
        daemon.request("agent/read", json!({ "path": path }))
    });
    // Others are served while they run, of the same database too.
    for _ in 0..20 {
        assert!(daemon.read_text("other.txt").ends_with("1:served"));
        let row = daemon.read_text("museum.db:users:7");
        assert!(row.contains("Grace Hopper 7"), "{row}");
    }
    for id in &ids {
        let refused = daemon.wait(id).expect_err("a timeout");
        assert_eq!(refused.kind(), "timeout", "{refused:?}");
        assert!(
            refused.message.contains("The query was stopped after 5 s."),
            "{}",
            refused.message
        );
    }
    // Far less than the 30 s after which any request is answered.
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(
        daemon
            .read_text("museum.db:users?limit=1&offset=6")
            .contains("Grace Hopper 7")
    );
}

/// What SQLite would be at for hours: each part of one value beside each part of another.
#[test]
fn functions_that_multiply() {
    let tree = databases();
    let daemon = Daemon::start(tree.path());
    let long = "WITH v(a, b) AS (SELECT replace(hex(zeroblob(2000000)), '0', 'a'), replace(hex(zeroblob(1000000)), '0', 'a'))";
    for (expression, given) in [
        ("instr(a, b || 'c')", "0"),
        ("length(replace(a, b || 'c', ''))", "4000000"),
        ("length(trim(a, b || 'c'))", "0"),
        ("length(rtrim(a || 'c', b))", "4000001"),
    ] {
        let text = daemon.read_text(format!(
            "museum.db?q={long} SELECT {expression} AS n FROM v"
        ));
        assert!(
            text.contains(&format!("| {given} ")),
            "{expression}: {text}"
        );
    }
    for sql in [
        "SELECT json_patch('{}', '{}')",
        "SELECT unhex('61 62', ' ')",
        "SELECT trim('a', CAST(x'c380808080' AS TEXT))",
    ] {
        let refused = refusal(&daemon, &format!("museum.db?q={sql}"));
        assert_eq!(refused.kind(), "badParams", "{sql}: {}", refused.message);
    }
}

#[test]
fn views_that_double() {
    let tree = Tree::new();
    python(
        &tree,
        "c = sqlite3.connect('double.db')
c.execute('create table t (a)')
c.execute('insert into t values (1)')
for kind, sql in (('u', 'select a from u%d union all select a from u%d'), ('v', 'select x.a from v%d x join v%d y')):
    c.execute('create view %s0 as select a from t' % kind)
    for n in range(1, 40): c.execute('create view %s%d as ' % (kind, n) + sql % (n - 1, n - 1))
c.commit()",
    );
    let daemon = Daemon::start(tree.path());
    let ids: Vec<_> = ["double.db:u39", "double.db:v39"]
        .iter()
        .map(|path| daemon.request("agent/read", json!({ "path": path })))
        .collect();
    assert_eq!(daemon.read_text("double.db:t:1"), "a: 1");
    let page = daemon.read_text("double.db:t?order=a");
    assert!(page.ends_with("| 1   |"), "{page}");
    for id in ids {
        if let Err(refused) = daemon.wait(&id) {
            let known = ["timeout", "tooLarge"].contains(&refused.kind());
            assert!(known, "{refused:?}");
        }
    }
}

#[test]
fn large_values_do_not_add_up() {
    let tree = Tree::new();
    python(
        &tree,
        "c = sqlite3.connect('large.db')
c.execute('create table t (k integer primary key, v text, b blob)')
for n in range(4): c.execute(\"insert into t values (?, hex(zeroblob(5000000)), zeroblob(10000000))\", (n,))
c.execute(\"insert into t values (9, '', zeroblob(40000000))\")
c.commit()",
    );
    let daemon = Daemon::start(tree.path());
    let table = daemon.read_text("large.db:t?limit=4");
    assert!(table.contains("| <blob 9.5MB> |"), "{table}");
    assert!(table.contains("[1 more row; continue with large.db:t?limit=4&offset=4]"));
    let row = daemon.read("large.db:t:1").expect("a row");
    assert_eq!(row["details"]["truncation"]["reason"], "bytes");
    let too_large = refusal(&daemon, "large.db:t:9");
    assert_eq!(too_large.kind(), "tooLarge");
    assert_eq!(
        too_large.message,
        "'large.db:t:9' is too large: a value or a row of more than 32 MiB. Ask for other columns with ?q=SELECT …."
    );
    #[cfg(target_os = "linux")]
    assert!(
        daemon.peak_bytes() < 300 * MIB,
        "{} MiB at its peak",
        daemon.peak_bytes() / MIB
    );
}

#[test]
fn damaged_databases_give_what_can_be_had() {
    let tree = Tree::new();
    copy_all("sqlite/hostile", &tree);
    let daemon = Daemon::start(tree.path());
    assert_eq!(
        daemon.read_text("good.sqlite"),
        "log (200 rows)\npaper (1 row)"
    );
    for (name, kind) in [
        ("header-only.sqlite", "damaged"),
        ("magic-only.sqlite", "damaged"),
        ("corrupt-schema.sqlite", "damaged"),
        ("future.sqlite", "damaged"),
        ("page-size-zero.sqlite", "damaged"),
        ("page-size-odd.sqlite", "damaged"),
        ("hot-journal.sqlite", "damaged"),
        ("random.sqlite", "binary"),
    ] {
        let refused = refusal(&daemon, name);
        assert_eq!(refused.kind(), kind, "{name}: {}", refused.message);
    }
    assert_eq!(
        refusal(&daemon, "corrupt-schema.sqlite").message,
        "'corrupt-schema.sqlite' is damaged: SQLite says \"database disk image is malformed\". Read another table of it, or ask the user for a sound copy."
    );
    let list = daemon.read("corrupt-page.sqlite").expect("a list");
    let text = list["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.contains("log (damaged: database disk image is malformed)\npaper (1 row)"),
        "{text}"
    );
    assert_eq!(
        list["details"]["notices"],
        json!(["The file is damaged: log cannot be read to the end"])
    );
    let paper = daemon.read_text("corrupt-page.sqlite:paper:1");
    assert!(paper.starts_with("id: 1\ntext: abab"), "{paper}");
    // The rows before the damage, and that there are more.
    let rows = daemon
        .read("corrupt-page.sqlite:log?limit=500")
        .expect("rows");
    let text = rows["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("entry 1 "), "{text}");
    assert!(
        text.ends_with("[Further rows cannot be read: database disk image is malformed]"),
        "{text}"
    );
    let salvaged = daemon.read("bad-sql.sqlite").expect("a list");
    let text = salvaged["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("log (200 rows)"), "{text}");
    let notices = salvaged["details"]["notices"].to_string();
    assert!(notices.contains("The database is damaged"), "{notices}");
    let texts = daemon.read_text("bad-utf8.sqlite:texts");
    assert!(
        texts.contains('\u{FFFD}') && texts.contains("\\u{0}"),
        "{texts}"
    );
    let injection = daemon.read_text("injection.sqlite:x\"; DROP TABLE log; --");
    assert!(injection.starts_with("CREATE TABLE"), "{injection}");
    // Everything else is answered too, whatever the answer is.
    for entry in fs::read_dir(tree.path()).expect("a folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned();
        for tail in [
            "",
            ":log",
            ":log:7",
            ":log?limit=500&order=text:desc",
            ":paper",
            "?q=SELECT count(*) FROM log",
        ] {
            let _ = daemon.read(format!("{name}{tail}"));
        }
    }
    assert_eq!(
        daemon.read_text("good.sqlite:log:7"),
        "id: 7\ntext: entry 7"
    );
}

/// A generator whose numbers are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit
    }
}

#[test]
#[cfg(target_os = "linux")]
fn cut_and_changed_bytes() {
    let tree = databases();
    tree.write("other.txt", "served\n");
    let sound = fs::read(tree.join("museum.db")).expect("its bytes");
    let log = fs::read(tree.join("wal-no-shm.sqlite")).expect("its bytes");
    let side = fs::read(tree.join("wal-no-shm.sqlite-wal")).expect("its bytes");
    let daemon = Daemon::start(tree.path());
    let mut dice = Dice(7);
    let tails = [
        "",
        ":users",
        ":users:7",
        ":users?limit=500&order=name:desc",
        ":notes",
        ":boxes",
        ":order_sums",
    ];
    let ask = |name: &str, tails: &[&str]| {
        for tail in tails {
            match daemon.read(format!("{name}{tail}")) {
                Ok(result) => assert!(result.to_string().len() < 200_000, "{name}{tail}"),
                Err(refused) => {
                    let kinds = [
                        "damaged",
                        "binary",
                        "notFound",
                        "badParams",
                        "badSelector",
                        "io",
                        "tooLarge",
                        "timeout",
                    ];
                    assert!(kinds.contains(&refused.kind()), "{name}{tail}: {refused:?}");
                }
            }
        }
    };
    for percent in [10, 50, 90] {
        tree.write("cut.db", &sound[..sound.len() * percent / 100]);
        ask("cut.db", &tails);
    }
    for round in 0..250 {
        let mut bytes = sound.clone();
        for _ in 0..1 + dice.below(20) {
            // The schema and the roots of the tables are hit as often as all the rest.
            let at = match dice.below(2) {
                0 => dice.below(bytes.len()),
                _ => 16 + dice.below(4096),
            };
            bytes[at] = dice.below(256) as u8;
        }
        if round % 3 == 0 {
            bytes.truncate(100 + dice.below(bytes.len() - 100));
        }
        tree.replace("flipped.db", &bytes);
        ask("flipped.db", &tails[..1 + dice.below(tails.len())]);
        if round % 25 == 0 {
            assert!(daemon.read_text("other.txt").ends_with("1:served"));
        }
    }
    for _ in 0..60 {
        let (mut database, mut beside) = (log.clone(), side.clone());
        for _ in 0..1 + dice.below(8) {
            let at = dice.below(beside.len());
            beside[at] = dice.below(256) as u8;
        }
        let at = dice.below(database.len() - 16) + 16;
        database[at] = dice.below(256) as u8;
        tree.replace("log.db", &database);
        tree.replace("log.db-wal", &beside);
        ask("log.db", &["", ":log", ":log:3"]);
    }
    assert!(
        daemon.peak_bytes() < 300 * MIB,
        "{} MiB at its peak",
        daemon.peak_bytes() / MIB
    );
    assert!(
        daemon
            .read_text("museum.db:users:7")
            .contains("Grace Hopper 7")
    );
}
