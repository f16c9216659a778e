//! Whatever is put, added to, closed and dropped: no session sees another's byte, and no number is given twice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{put, read_as, text};
use crate::chance::Chance;
use crate::client::Daemon;
use crate::tree::Tree;

const SESSIONS: [&str; 6] = ["A", "A/b", "A/b/c", "A/d", "AB", "default"];
const MAX: usize = 2_000;
const SESSION: usize = 6_000;
const TOTAL: usize = 16_000;

/// What a session should have, as far as the test knows.
#[derive(Default)]
struct Known {
    /// How often it was closed: what was put before says so in every line.
    life: usize,
    numbers: BTreeMap<u64, String>,
    given: BTreeSet<u64>,
    /// Those of which a put said that they went for it.
    dropped: BTreeSet<u64>,
    agent: Option<String>,
    /// Its scratch file.
    scratch: Option<String>,
}

fn rounds() -> usize {
    match std::env::var_os("PILCROW_LONG") {
        Some(_) => 6_000,
        None => 500,
    }
}

/// What stands in each of a session's lines.
fn mark(session: &str, life: usize) -> String {
    format!("<{session}#{life}>")
}

/// Those whose texts a session may see.
fn is_above(owner: &str, session: &str) -> bool {
    session == owner
        || session
            .strip_prefix(owner)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn lines(chance: &mut Chance, mark: &str) -> String {
    let count = 1 + chance.below(12);
    (0..count)
        .map(|_| format!("{mark} {}\n", "x".repeat(chance.below(80))))
        .collect()
}

fn url_number(uri: &Value) -> u64 {
    let uri = uri.as_str().expect("a URI");
    uri.trim_start_matches("artifact://")
        .parse()
        .expect("a number")
}

/// Every line of what was read is one of somebody who may be seen, in this life of his.
fn assert_own(known: &BTreeMap<&str, Known>, session: &str, shown: &str) {
    for line in shown.lines().filter(|line| line.contains('<')) {
        let seen = SESSIONS.iter().any(|owner| {
            is_above(owner, session) && line.contains(&mark(owner, known[owner].life))
        });
        assert!(seen, "{session} sees {line}");
    }
}

#[test]
fn no_session_sees_anothers_byte() {
    let tree = Tree::new();
    let settings =
        json!({ "artifacts": { "maxBytes": MAX, "sessionBytes": SESSION, "totalBytes": TOTAL } });
    let daemon = Daemon::builder()
        .root(tree.path())
        .settings(settings)
        .start();
    let mut chance = Chance(0x5EED);
    let mut known: BTreeMap<&str, Known> =
        SESSIONS.iter().map(|it| (*it, Known::default())).collect();
    let mut drops = 0;
    for _ in 0..rounds() {
        let session = SESSIONS[chance.below(SESSIONS.len())];
        let own = mark(session, known[session].life);
        match chance.below(11) {
            0..=3 => {
                let text = lines(&mut chance, &own);
                let result = put(
                    &daemon,
                    json!({ "session": session, "text": text, "terminal": chance.below(5) == 0 }),
                );
                let number = url_number(&result["uri"]);
                note_dropped(&mut known, session, &result);
                let of = known.get_mut(session).expect("known");
                assert!(of.given.insert(number), "{session} got {number} twice");
                assert!(of.given.iter().max() == Some(&number), "numbers only grow");
                of.numbers.insert(number, text);
            }
            4..=5 => append(&daemon, &mut chance, &mut known, session),
            6 => {
                let text = lines(&mut chance, &own);
                let uri = json!({ "session": session, "uri": "agent://r", "text": text });
                let result = put(&daemon, uri);
                note_dropped(&mut known, session, &result);
                known.get_mut(session).expect("known").agent = Some(text);
            }
            7..=8 => read_all(&daemon, &mut chance, &known, session),
            9 => scratch(&daemon, &mut chance, &mut known, session),
            _ if chance.below(4) == 0 => {
                daemon
                    .call("agent/closeSession", json!({ "session": session }))
                    .expect("closed");
                for (_, of) in known.iter_mut().filter(|(name, _)| is_above(session, name)) {
                    *of = Known {
                        life: of.life + 1,
                        ..Known::default()
                    };
                }
            }
            _ => {
                let list = read_as(&daemon, session, "artifact://").expect("a list");
                let resources = list["details"]["resources"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                for resource in &resources {
                    assert!(
                        read_as(&daemon, session, resource["uri"].as_str().expect("a URI")).is_ok()
                    );
                }
                // A session without any above it lists its own alone.
                let bytes = resources.iter().filter_map(|it| it["size"].as_u64());
                let bytes: u64 = bytes.sum();
                assert!(session.contains('/') || bytes <= SESSION as u64, "{bytes}");
            }
        }
        drops = drops.max(known.values().map(|it| it.dropped.len()).sum());
        let status = daemon.call("agent/status", json!({})).expect("status");
        let bytes = status["artifacts"]["bytes"].as_u64().expect("bytes");
        assert!(bytes <= TOTAL as u64, "{bytes}");
    }
    for session in SESSIONS {
        read_all(&daemon, &mut chance, &known, session);
    }
    // Such a run without a drop would show nothing of drops.
    assert!(drops > 0);
    for session in SESSIONS {
        daemon
            .call("agent/closeSession", json!({ "session": session }))
            .expect("closed");
    }
    let status = daemon.call("agent/status", json!({})).expect("status");
    assert_eq!(
        (&status["artifacts"]["count"], &status["artifacts"]["bytes"]),
        (&json!(0), &json!(0))
    );
}

fn append(daemon: &Daemon, chance: &mut Chance, known: &mut BTreeMap<&str, Known>, session: &str) {
    let own = mark(session, known[session].life);
    let of = known.get_mut(session).expect("known");
    let all: Vec<u64> = of.numbers.keys().copied().collect();
    let Some(number) = all.get(chance.below(all.len())).copied() else {
        return;
    };
    let text = lines(chance, &own);
    let uri = format!("artifact://{number}");
    let params = json!({ "session": session, "uri": uri, "append": true, "text": text });
    match daemon.call("agent/putArtifact", params) {
        Ok(result) => {
            note_dropped(known, session, &result);
            let of = known.get_mut(session).expect("known");
            let whole = of.numbers.get_mut(&number).expect("known");
            whole.push_str(&text);
            let end = whole.len().min(MAX);
            whole.truncate(end);
        }
        Err(error) => assert!(
            error.message.contains("dropped to make room"),
            "{}",
            error.message
        ),
    }
}

/// Takes note of what an answer says that went.
fn note_dropped(known: &mut BTreeMap<&str, Known>, session: &str, result: &Value) {
    let of = known.get_mut(session).expect("known");
    for dropped in result["dropped"].as_array().expect("a list") {
        match dropped.as_str().expect("words") {
            "agent://r" => of.agent = None,
            number if number.starts_with("artifact://") => {
                of.dropped.insert(url_number(dropped));
            }
            lost => assert!(lost.contains("bytes for an artifact"), "{lost}"),
        }
    }
}

/// A scratch file is written once in a session's life, where there is room for it.
fn scratch(daemon: &Daemon, chance: &mut Chance, known: &mut BTreeMap<&str, Known>, session: &str) {
    let of = known.get_mut(session).expect("known");
    let text = lines(chance, &mark(session, of.life));
    let write = json!({ "session": session, "path": "local://x.txt", "text": text });
    match daemon.call("agent/write", write) {
        Ok(_) => {
            assert!(of.scratch.is_none(), "{session} has one");
            of.scratch = Some(text);
        }
        Err(error) if error.kind() == "exists" => assert!(of.scratch.is_some()),
        Err(error) => assert_eq!(error.kind(), "tooLarge", "{}", error.message),
    }
}

/// Each number is what was put there, or was dropped; what was never given is not there.
fn read_all(daemon: &Daemon, chance: &mut Chance, known: &BTreeMap<&str, Known>, session: &str) {
    let of = &known[session];
    let numbers: Vec<u64> = of.numbers.keys().copied().collect();
    for number in numbers.iter().rev().take(8) {
        match read_as(daemon, session, &format!("artifact://{number}:raw")) {
            Ok(result) => {
                assert_eq!(text(&result), of.numbers[number], "{session} {number}");
                assert!(
                    !of.dropped.contains(number),
                    "{session} {number} was dropped"
                );
            }
            Err(error) => assert!(
                error.message.contains("dropped to make room"),
                "{session} {number} of {numbers:?}: {error:?}; {:?}",
                read_as(daemon, session, "artifact://").map(|it| text(&it).to_owned())
            ),
        }
    }
    let any = 1 + chance.below(40) as u64;
    if let Ok(result) = read_as(daemon, session, &format!("artifact://{any}")) {
        assert_own(known, session, text(&result));
    }
    if let Ok(result) = read_as(daemon, session, "agent://r") {
        assert_own(known, session, text(&result));
    }
    let scratch = read_as(daemon, session, "local://x.txt:raw");
    match &of.scratch {
        Some(own) => assert_eq!(text(&scratch.expect("its own")), own),
        None => {
            if let Ok(result) = scratch {
                assert_own(known, session, text(&result));
            }
        }
    }
    let next = of.given.iter().max().map_or(1, |it| it + 1);
    let above = SESSIONS
        .iter()
        .any(|owner| is_above(owner, session) && known[owner].given.contains(&next));
    if !above {
        let miss =
            read_as(daemon, session, &format!("artifact://{next}")).expect_err("never given");
        // Whether another session has such a number changes no word.
        assert_eq!(miss.kind(), "notFound");
        assert!(
            miss.message
                .starts_with(&format!("File not found: artifact://{next}.")),
            "{}",
            miss.message
        );
    }
}

#[test]
fn closing_a_session_closes_its_children() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    for session in ["A", "A/b", "AB", "B"] {
        put(&daemon, json!({ "session": session, "text": session }));
    }
    assert_eq!(
        text(&read_as(&daemon, "A/c", "artifact://1").expect("its parent's")),
        "1:A"
    );
    assert_eq!(
        text(&read_as(&daemon, "A/b", "artifact://1").expect("its own")),
        "1:A/b"
    );
    assert!(read_as(&daemon, "A", "artifact://2").is_err());
    // What was sent before it is closed, and what was sent after it is not.
    let before = daemon.request(
        "agent/putArtifact",
        json!({ "session": "A/b", "text": "more" }),
    );
    let close = daemon.request("agent/closeSession", json!({ "session": "A" }));
    let after = daemon.request(
        "agent/putArtifact",
        json!({ "session": "A/b", "text": "new" }),
    );
    let read = daemon.request(
        "agent/read",
        json!({ "session": "A/b", "path": "artifact://1" }),
    );
    for id in [before, close] {
        daemon.wait(&id).expect("done");
    }
    assert_eq!(daemon.wait(&after).expect("put")["uri"], "artifact://1");
    assert_eq!(text(&daemon.wait(&read).expect("read")), "1:new");
    assert!(read_as(&daemon, "A", "artifact://1").is_err());
    for session in ["AB", "B"] {
        assert_eq!(
            text(&read_as(&daemon, session, "artifact://1").expect("its own")),
            format!("1:{session}")
        );
    }
}

#[test]
fn a_session_whose_lines_were_forgotten_keeps_its_store() {
    let tree = Tree::new().file("a.txt", "one\n");
    let daemon = Daemon::start(tree.path());
    put(&daemon, json!({ "session": "first", "text": "kept" }));
    read_as(&daemon, "first", "a.txt").expect("shown");
    for n in 0..300 {
        read_as(&daemon, &format!("s{n}"), "a.txt").expect("shown");
    }
    assert_eq!(
        text(&read_as(&daemon, "first", "artifact://1").expect("kept")),
        "1:kept"
    );
}

#[test]
fn closing_takes_all_that_a_child_has() {
    let tree = Tree::new();
    let daemon = Daemon::start(tree.path());
    let has = |session: &str| {
        let paths = ["artifact://1", "agent://r", "local://x.txt"];
        paths.map(|path| read_as(&daemon, session, path).is_ok())
    };
    for session in ["A/b", "B"] {
        put(&daemon, json!({ "session": session, "text": "x" }));
        let answer = json!({ "session": session, "uri": "agent://r", "text": "x" });
        put(&daemon, answer);
        let write = json!({ "session": session, "path": "local://x.txt", "text": "x\n" });
        daemon.call("agent/write", write).expect("made");
        assert_eq!(has(session), [true; 3]);
    }
    let close = json!({ "session": "A" });
    daemon.call("agent/closeSession", close).expect("closed");
    assert_eq!((has("A/b"), has("B")), ([false; 3], [true; 3]));
}
