//! The same edit sent again, by whomever and however it is written: it is made once, and never a second time on what it made.

use std::fs;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::{Daemon, Id, WireError, file_uri};
use crate::editor::{Editor, capabilities};
use crate::tree::Tree;

use super::{at_most, edit, edit_as, file_of, new_tag, patch, read, read_as, request_edit};

const TEXT: &str = "one\ntwo\nthree\n";

fn start(tree: &Tree) -> Daemon {
    let daemon = Daemon::start(tree.path());
    daemon.ignore_changes();
    daemon
}

fn on_disk(tree: &Tree, name: &str) -> String {
    fs::read_to_string(tree.join(name)).expect("the file")
}

fn shown(edited: &Value) -> &str {
    edited["content"][0]["text"].as_str().expect("a text block")
}

/// An answer that says that it was made before.
#[track_caller]
fn check_applied(answer: Result<Value, WireError>, expect: &str) {
    let answer = answer.expect("it was made before");
    assert_eq!(shown(&answer), expect);
    for file in answer["details"]["files"].as_array().expect("files") {
        assert_eq!(file["changed"], json!([]));
        assert_eq!(file["diff"], "");
        assert_eq!(file["warnings"][0]["code"], "alreadyApplied");
    }
}

#[track_caller]
fn check_stale(answer: Result<Value, WireError>, tag: &str) {
    let error = answer.expect_err("the file has changed");
    assert_eq!(error.kind(), "stale", "{error:?}");
    assert_eq!(error.data["files"][0]["tag"], tag, "{error:?}");
    assert!(error.message.contains("made before"), "{error:?}");
}

/// A form of an edit of `src/a.ts` that names a version.
type Form = fn(&str) -> (&'static str, Value);

const TAGGED: &[(Form, &str)] = &[
    (
        |tag| text_form(tag, "insert after 1:\n+new\n"),
        "one\nnew\ntwo\nthree\n",
    ),
    (
        |tag| text_form(tag, "insert head:\n+new\n"),
        "new\none\ntwo\nthree\n",
    ),
    (
        |tag| text_form(tag, "insert tail:\n+new\n"),
        "one\ntwo\nthree\nnew\n",
    ),
    (
        |tag| text_form(tag, "replace 2:\n+two\n+more\n"),
        "one\ntwo\nmore\nthree\n",
    ),
    (|tag| text_form(tag, "delete 2\n"), "one\nthree\n"),
    (
        |tag| {
            let edits = json!([{ "op": "replace_text", "old": "two", "new": "two two" }]);
            let file = json!({ "path": "src/a.ts", "tag": tag, "edits": edits });
            ("agent/edit", json!({ "files": [file] }))
        },
        "one\ntwo two\nthree\n",
    ),
    (
        |tag| {
            let text = "one\ntwo\nthree\nfour\n";
            let params = json!({ "path": "src/a.ts", "text": text, "expect": tag });
            ("agent/write", params)
        },
        "one\ntwo\nthree\nfour\n",
    ),
];

fn text_form(tag: &str, hunks: &str) -> (&'static str, Value) {
    (
        "agent/edit",
        json!({ "patch": patch("src/a.ts", tag, hunks) }),
    )
}

fn with(params: &Value, key: &str, value: impl Into<Value>) -> Value {
    let mut params = params.clone();
    params[key] = value.into();
    params
}

#[test]
fn an_edit_that_names_a_version_is_made_once_whoever_sends_it() {
    for (form, expect) in TAGGED {
        let tree = Tree::new().file("src/a.ts", TEXT);
        let daemon = start(&tree);
        let tag = read(&daemon, "src/a.ts");
        let (method, params) = form(&tag);
        let first = daemon.call(method, params.clone()).expect("an edit");
        let now = new_tag(&first);
        let applied = format!("[Already applied: src/a.ts is #{now}]");
        for session in ["default", "default", "other", "default"] {
            for dry_run in [true, false] {
                let again = with(&with(&params, "session", session), "dryRun", dry_run);
                check_applied(daemon.call(method, again), &applied);
            }
        }
        assert_eq!(on_disk(&tree, "src/a.ts"), *expect, "{params}");
        // Something else has changed, by us or by others.
        let next = edit(&daemon, &patch("src/a.ts", &now, "replace 1:\n+first\n"));
        let next = new_tag(&next.expect("an edit"));
        let text = on_disk(&tree, "src/a.ts");
        let again = daemon.call(method, params.clone());
        match method {
            "agent/edit" => check_stale(again, &next),
            _ => assert_eq!(again.expect_err("stale").kind(), "stale"),
        }
        assert_eq!(on_disk(&tree, "src/a.ts"), text, "{params}");
        // It came back to what it was: the version is the live one again.
        tree.replace("src/a.ts", TEXT);
        assert_eq!(read(&daemon, "src/a.ts"), tag);
        daemon.call(method, params.clone()).expect("an edit");
        assert_eq!(on_disk(&tree, "src/a.ts"), *expect, "{params}");
        check_applied(daemon.call(method, params), &applied);
    }
}

#[test]
fn who_means_it_again_sends_it_by_the_new_tag() {
    let tree = Tree::new().file("a.txt", TEXT);
    let daemon = start(&tree);
    let mut tag = read(&daemon, "a.txt");
    for _ in 0..5 {
        let edited = edit(&daemon, &patch("a.txt", &tag, "insert tail:\n+again\n"));
        tag = new_tag(&edited.expect("an edit"));
    }
    let expect = format!("{TEXT}{}", "again\n".repeat(5));
    assert_eq!(on_disk(&tree, "a.txt"), expect);
}

#[test]
fn how_an_edit_is_written_makes_no_other_one() {
    let tree = Tree::new().file("src/a.ts", TEXT);
    std::os::unix::fs::symlink("src", tree.join("link")).expect("a link");
    let daemon = start(&tree);
    let tag = read(&daemon, "src/a.ts");
    let hunks = "insert after 1:\n+new\ndelete 3\n";
    let first = edit(&daemon, &patch("src/a.ts", &tag, hunks)).expect("an edit");
    let applied = |name: &str| format!("[Already applied: {name} is #{}]", new_tag(&first));
    let forms = [
        patch("./src/a.ts", &tag, hunks),
        patch(&tree.spelled("src/a.ts"), &tag, hunks),
        patch("src/a.ts", &tag.to_lowercase(), hunks).replace('\n', "\r\n"),
        patch("src/a.ts", &tag, "Insert after 1:\n+new\n\nDELETE 3..3\n"),
        format!(
            "{}{}",
            patch("src/a.ts", &tag, "insert after 1:\n+new\n"),
            patch("src/a.ts", &tag, "delete 3\n")
        ),
    ];
    for form in forms {
        check_applied(edit(&daemon, &form), &applied("src/a.ts"));
    }
    let by_link = edit(&daemon, &patch("link/a.ts", &tag, hunks)).expect("the same file");
    assert!(
        shown(&by_link).starts_with("[Already applied: "),
        "{by_link}"
    );
    let edits = json!([
        { "op": "insert_after", "line": "1", "text": "new\n" },
        { "op": "delete", "start": 3 },
    ]);
    let file = json!({ "path": "src/a.ts", "tag": tag, "edits": edits });
    let structured = daemon.call("agent/edit", json!({ "files": [file] }));
    check_applied(structured, &applied("src/a.ts"));
    assert_eq!(on_disk(&tree, "src/a.ts"), "one\nnew\ntwo\n");
}

#[test]
fn without_a_tag_it_is_the_same_only_of_its_session() {
    let tree = Tree::new().file("a.txt", TEXT);
    let daemon = start(&tree);
    let append = |session: &str| {
        let edits = json!([{ "op": "replace_text", "old": "three\n", "new": "three\nline\n" }]);
        let files = json!([{ "path": "a.txt", "edits": edits }]);
        daemon.call("agent/edit", json!({ "session": session, "files": files }))
    };
    append("a").expect("an edit");
    let tag = read(&daemon, "a.txt");
    check_applied(append("a"), &format!("[Already applied: a.txt is #{tag}]"));
    append("b").expect("two may each append a line");
    assert_eq!(on_disk(&tree, "a.txt"), "one\ntwo\nthree\nline\nline\n");
    // By now it is another text than the first one made.
    check_stale(append("a"), &read(&daemon, "a.txt"));
    daemon
        .call("agent/closeSession", json!({ "session": "a" }))
        .expect("closed");
    append("a").expect("another session of that name");
    assert_eq!(
        on_disk(&tree, "a.txt"),
        "one\ntwo\nthree\nline\nline\nline\n"
    );
}

#[test]
fn a_file_is_made_once() {
    let tree = Tree::new();
    let daemon = start(&tree);
    let make = |session: &str, text: &str| {
        let params = json!({ "session": session, "path": "new.txt", "text": text });
        daemon.call("agent/write", params)
    };
    let tag = new_tag(&make("a", TEXT).expect("it is made"));
    check_applied(
        make("a", TEXT),
        &format!("[Already applied: new.txt is #{tag}]"),
    );
    let kind = |answer: Result<Value, WireError>| answer.expect_err("refused").kind().to_owned();
    assert_eq!(kind(make("b", TEXT)), "exists");
    assert_eq!(kind(make("a", "another\n")), "exists");
    tree.replace("new.txt", "one\n");
    assert_eq!(kind(make("a", TEXT)), "exists");
    fs::remove_file(tree.join("new.txt")).expect("removed");
    make("a", TEXT).expect("it is made again");
    assert_eq!(on_disk(&tree, "new.txt"), TEXT);
}

#[test]
fn of_several_files_all_must_be_what_it_made_of_them() {
    let tree = Tree::new().file("a.txt", TEXT).file("b.txt", TEXT);
    let daemon = start(&tree);
    let tags = ["a.txt", "b.txt"].map(|name| read(&daemon, name));
    let section = |at: usize| patch(["a.txt", "b.txt"][at], &tags[at], "insert after 1:\n+new\n");
    let first = edit(&daemon, &(section(0) + &section(1))).expect("an edit");
    let files = &first["details"]["files"];
    let line = |at: usize| {
        let (path, tag) = (&files[at]["path"], &files[at]["tag"]);
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        format!("[Already applied: {} is #{}]", text(path), text(tag))
    };
    check_applied(
        edit(&daemon, &(section(0) + &section(1))),
        &format!("{}\n{}", line(0), line(1)),
    );
    check_applied(
        edit(&daemon, &(section(1) + &section(0))),
        &format!("{}\n{}", line(1), line(0)),
    );
    tree.replace("b.txt", "one\nnew\ntwo\nthree\nfour\n");
    check_stale(
        edit(&daemon, &(section(0) + &section(1))),
        files[0]["tag"].as_str().expect("a tag"),
    );
    assert_eq!(on_disk(&tree, "a.txt"), "one\nnew\ntwo\nthree\n");
    assert_eq!(on_disk(&tree, "b.txt"), "one\nnew\ntwo\nthree\nfour\n");
}

#[test]
fn of_copies_that_are_sent_back_to_back_one_is_made() {
    let tree = Tree::new().file("a.txt", TEXT);
    let daemon = start(&tree);
    let tag = read(&daemon, "a.txt");
    read_as(&daemon, "other", "a.txt");
    let text = patch("a.txt", &tag, "insert tail:\n+new\n");
    let sent: Vec<Id> = (0..20)
        .map(|number| request_edit(&daemon, ["default", "other"][number % 2], &text))
        .collect();
    let answers: Vec<Value> = sent
        .iter()
        .map(|id| daemon.wait(id).expect("an answer"))
        .collect();
    let made = answers
        .iter()
        .filter(|answer| shown(answer).starts_with('¶'));
    assert_eq!(made.count(), 1);
    assert_eq!(on_disk(&tree, "a.txt"), format!("{TEXT}new\n"));
}

#[test]
fn an_edit_by_the_editor_is_known_again() {
    let tree = Tree::new().file("a.txt", TEXT);
    let daemon = Daemon::builder()
        .root(tree.path())
        .capabilities(capabilities())
        .start();
    daemon.ignore_changes();
    let editor = Editor::open(&daemon, &file_uri(&tree.join("a.txt")), TEXT);
    let tag = read(&daemon, "a.txt");
    let text = patch("a.txt", &tag, "insert after 1:\n+new\n");
    let id = request_edit(&daemon, "default", &text);
    editor.obeys();
    let now = new_tag(&daemon.wait(&id).expect("an edit"));
    let again = edit_as(&daemon, "other", &text);
    assert_eq!(file_of(again.as_ref().expect("known"))["persisted"], false);
    check_applied(again, &format!("[Already applied: a.txt is #{now}]"));
    editor.types("three", "3");
    check_stale(edit(&daemon, &text), &read(&daemon, "a.txt"));
    assert_eq!(editor.text(), "one\nnew\ntwo\n3\n");
    assert_eq!(on_disk(&tree, "a.txt"), TEXT);
}

#[test]
fn the_last_64_of_a_session_are_remembered() {
    let tree = Tree::new().file("a.txt", TEXT);
    let daemon = start(&tree);
    let first = patch("a.txt", &read(&daemon, "a.txt"), "insert head:\n+first\n");
    let mut tag = new_tag(&edit(&daemon, &first).expect("an edit"));
    for number in 1..64 {
        let text = patch("a.txt", &tag, &format!("replace 2:\n+row {number}\n"));
        tag = new_tag(&edit(&daemon, &text).expect("an edit"));
    }
    check_stale(edit(&daemon, &first), &tag);
    // Others change things too.
    read_as(&daemon, "other", "a.txt");
    let text = patch("a.txt", &tag, "replace 2:\n+of another\n");
    tag = new_tag(&edit_as(&daemon, "other", &text).expect("an edit"));
    check_stale(edit(&daemon, &first), &tag);
}

/// A request that was carried out, and what it made of all files it names.
struct Sent {
    session: usize,
    files: Vec<Ask>,
    made: Vec<String>,
}

/// What is asked of one file.
#[derive(Clone)]
struct Ask {
    file: usize,
    /// The tag and its text, where a version is named.
    version: Option<(String, String)>,
    what: What,
}

#[derive(Clone)]
enum What {
    Head(String),
    Tail(String),
    /// After the line of that number.
    After(usize, String),
    /// After the only line with that text.
    Text(String, String),
}

impl Ask {
    fn edit(&self) -> Value {
        let edit = match &self.what {
            What::Head(row) => json!({ "op": "insert_head", "text": row }),
            What::Tail(row) => json!({ "op": "insert_tail", "text": row }),
            What::After(line, row) => json!({ "op": "insert_after", "line": line, "text": row }),
            What::Text(old, row) => {
                let new = format!("{old}\n{row}");
                json!({ "op": "replace_text", "old": old, "new": new })
            }
        };
        let mut file = json!({ "path": NAMES[self.file], "edits": [edit] });
        if let Some((tag, _)) = &self.version {
            file["tag"] = json!(tag);
        }
        file
    }

    /// What it makes of a text by the numbers of that very text.
    fn on(&self, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        let (at, row) = match &self.what {
            What::Head(row) => (0, row),
            What::Tail(row) => (lines.len(), row),
            What::After(line, row) => (*line, row),
            What::Text(old, row) => {
                let at = lines.iter().position(|line| line == old);
                (at.expect("the line is there") + 1, row)
            }
        };
        lines.insert(at, row);
        lines.join("\n") + "\n"
    }
}

const NAMES: [&str; 2] = ["a.txt", "b.txt"];
const SESSIONS: [&str; 2] = ["s1", "s2"];
/// Lines that always are there, once.
const ANCHORS: [&str; 3] = ["<first>", "<second>", "<third>"];

/// A folder that edits are sent to, and what it must hold.
struct Model<'a> {
    daemon: &'a Daemon,
    tree: &'a Tree,
    chance: Chance,
    texts: [String; 2],
    /// Texts that a file had.
    past: Vec<(usize, String)>,
    sent: Vec<Sent>,
    rows: usize,
    /// Answers by their kind.
    counts: [usize; 3],
}

impl Model<'_> {
    fn call(&self, session: usize, files: &[Ask], dry_run: bool) -> Result<Value, WireError> {
        let files: Vec<Value> = files.iter().map(Ask::edit).collect();
        let params = json!({ "session": SESSIONS[session], "files": files, "dryRun": dry_run });
        self.daemon.call("agent/edit", params)
    }

    fn row(&mut self) -> String {
        self.rows += 1;
        format!("row {}", self.rows)
    }

    /// A new request by the live versions.
    fn new_request(&mut self) {
        let session = self.chance.below(2);
        let both = self.chance.below(4) == 0;
        let one = self.chance.below(2);
        let files = (0..2).filter(|file| both || *file == one);
        let mut asks = Vec::new();
        for file in files {
            let text = self.texts[file].clone();
            let row = self.row();
            let what = match self.chance.below(4) {
                0 => What::Head(row),
                1 => What::Tail(row),
                2 => What::After(1 + self.chance.below(text.lines().count()), row),
                _ => What::Text(ANCHORS[self.chance.below(3)].to_owned(), row),
            };
            let names_version = !matches!(what, What::Text(..)) || self.chance.below(2) == 0;
            let version = names_version.then(|| (read(self.daemon, NAMES[file]), text));
            asks.push(Ask {
                file,
                version,
                what,
            });
        }
        self.call(session, &asks, false).expect("a new edit");
        self.carried_out(session, asks);
    }

    fn carried_out(&mut self, session: usize, files: Vec<Ask>) {
        for ask in &files {
            let text = ask.on(&self.texts[ask.file]);
            let before = std::mem::replace(&mut self.texts[ask.file], text);
            self.past.push((ask.file, before));
        }
        let made = files.iter().map(|ask| self.texts[ask.file].clone());
        self.sent.push(Sent {
            session,
            made: made.collect(),
            files,
        });
    }

    /// Sends one again that was carried out.
    fn send_again(&mut self) {
        if self.sent.is_empty() {
            return;
        }
        let sent = &self.sent[self.chance.below(self.sent.len())];
        let files = sent.files.clone();
        let names_versions = files.iter().any(|ask| ask.version.is_some());
        let owner = sent.session;
        let session = self.chance.below(2);
        let dry_run = self.chance.below(4) == 0;
        let same = |other: &&Sent| {
            let edits = |files: &[Ask]| files.iter().map(Ask::edit).collect::<Vec<_>>();
            let is_same = edits(&other.files) == edits(&files);
            is_same && (names_versions || other.session == session)
        };
        // The last time that it was carried out.
        let last = self.sent.iter().rev().find(same);
        let is_still = last.is_some_and(|last| {
            let mut made = files.iter().zip(&last.made);
            made.all(|(ask, made)| self.texts[ask.file] == *made)
        });
        let mut named = files
            .iter()
            .filter_map(|ask| Some((ask.file, ask.version.as_ref()?)));
        let are_live = names_versions && named.all(|(file, (_, text))| self.texts[file] == *text);
        let answer = self.call(session, &files, dry_run);
        let what = format!("of {owner} by {session}, {:?}", answer);
        if is_still {
            let text = shown(answer.as_ref().expect(&what)).to_owned();
            assert!(text.starts_with("[Already applied: "), "{what}");
            self.counts[0] += 1;
        } else if last.is_some() && !are_live {
            assert_eq!(answer.expect_err(&what).kind(), "stale", "{what}");
            self.counts[1] += 1;
        } else {
            answer.expect(&what);
            self.counts[2] += 1;
            if !dry_run {
                self.carried_out(session, files);
            }
        }
    }

    /// Somebody else writes another text, or one that was there before.
    fn outside(&mut self) {
        let (file, text) = match self.past.is_empty() || self.chance.below(4) == 0 {
            true => {
                let file = self.chance.below(2);
                let row = self.row();
                (file, format!("{row}\n{}", self.texts[file]))
            }
            false => {
                self.past[self.past.len() - 1 - self.chance.below(self.past.len().min(3))].clone()
            }
        };
        self.tree.replace(NAMES[file], &text);
        let before = std::mem::replace(&mut self.texts[file], text);
        self.past.push((file, before));
    }
}

#[test]
fn no_edit_is_ever_made_twice() {
    let mut counts = [0; 3];
    for seed in 1..=at_most(6, 400) {
        let tree = Tree::new();
        let first = ANCHORS.join("\n") + "\n";
        NAMES.iter().for_each(|name| tree.write(name, &first));
        let settings = json!({ "edit": { "requireSeen": false } });
        let daemon = Daemon::builder()
            .root(tree.path())
            .settings(settings)
            .start();
        daemon.ignore_changes();
        let mut model = Model {
            daemon: &daemon,
            tree: &tree,
            chance: Chance(seed),
            texts: [first.clone(), first],
            past: Vec::new(),
            sent: Vec::new(),
            rows: 0,
            counts,
        };
        for _ in 0..50 {
            match model.chance.below(8) {
                0..2 => model.new_request(),
                2 => model.outside(),
                _ => model.send_again(),
            }
            for (name, text) in NAMES.iter().zip(&model.texts) {
                assert_eq!(on_disk(&tree, name), *text, "seed {seed}");
            }
        }
        counts = model.counts;
    }
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
}
