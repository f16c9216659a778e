//! An issue or a pull request as text: what it is, its body, and what was said to it, in the order of time.

use std::collections::HashMap;

use serde_json::Value;

use crate::github::{GithubAnswer, Item, ItemAsk, ItemKind};

use super::super::one_line;
use super::answers::{browser_url, day, labels, login, minute, text};
use super::checks;
use super::markdown::{OmittedParts, body, code};

/// Lines of a hunk above what is said to it.
const HUNK_LINES: usize = 4;

/// A text, its title and what is said below it.
#[derive(Debug, Default)]
pub struct Thread {
    pub text: String,
    pub title: String,
    pub url: String,
    pub notices: Vec<String>,
    pub footers: Vec<String>,
}

/// The text of an item; with `raw`, bodies are as they came.
pub fn thread(answer: &GithubAnswer, ask: &ItemAsk, item: &Item, raw: bool) -> Thread {
    let mut out = Writer {
        raw,
        left_out: OmittedParts::default(),
        text: String::new(),
    };
    let main = &item.main;
    let title = text(&main["title"]);
    let number = ask.number;
    let (what, scheme) = match ask.kind {
        ItemKind::Issue => ("Issue", "issue"),
        ItemKind::Pull | ItemKind::Diff => ("Pull request", "pr"),
    };
    let url = browser_url(main);
    let mut notices = Vec::new();
    if ask.kind == ItemKind::Issue && !main["pull_request"].is_null() {
        notices.push(format!(
            "{number} is a pull request: pr://{}/{number}",
            answer.repository
        ));
    }
    out.line(&format!("# {what} #{number}: {title}"));
    out.line(&state_line(main));
    if ask.kind == ItemKind::Pull {
        out.line(&branch_line(
            main,
            &format!("{scheme}://{}/{number}/diff", answer.repository),
        ));
        out.line(&format!(
            "review: {}; mergeable: {}",
            checks::reviews(item),
            checks::mergeable(main)
        ));
        checks::lines(item).iter().for_each(|line| out.line(line));
    }
    out.line(&url);
    out.body(&main["body"], true);
    if ask.comments {
        out.conversation(item);
    }
    let mut footers = Vec::new();
    footers.extend(out.left_out.footer());
    if item.has_more {
        let lists = [&item.comments, &item.reviews, &item.review_comments];
        let read = lists.map(Vec::len).into_iter().max().unwrap_or(0);
        footers.push(format!(
            "There are more comments than the first {read}: {url}"
        ));
    }
    if item.checks_hidden {
        footers.push("Checks are left out: this login may not see them".to_owned());
    }
    Thread {
        text: out.text,
        title,
        url,
        notices,
        footers,
    }
}

/// `closed (completed) by @bob; opened 2026-11-02 by @alice; …`
fn state_line(main: &Value) -> String {
    let mut state = text(&main["state"]);
    if main["merged"] == true || main["merged_at"].is_string() {
        state = "merged".to_owned();
        if main["merged_by"].is_object() {
            state.push_str(&format!(" by {}", login(&main["merged_by"])));
        }
    } else {
        if main["draft"] == true {
            state = format!("{state} (draft)");
        }
        if main["state_reason"].is_string() && main["state"] == "closed" {
            state.push_str(&format!(
                " ({})",
                text(&main["state_reason"]).replace('_', " ")
            ));
        }
        if main["closed_by"].is_object() && main["state"] == "closed" {
            state.push_str(&format!(" by {}", login(&main["closed_by"])));
        }
    }
    let mut parts = vec![
        state,
        format!(
            "opened {} by {}",
            day(&main["created_at"]),
            login(&main["user"])
        ),
        format!("updated {}", day(&main["updated_at"])),
    ];
    let labels = labels(main);
    if !labels.is_empty() {
        parts.push(format!("labels: {labels}"));
    }
    let assigned = main["assignees"]
        .as_array()
        .into_iter()
        .flatten()
        .map(login);
    let assigned: Vec<String> = assigned.collect();
    if !assigned.is_empty() {
        parts.push(format!("assigned: {}", assigned.join(", ")));
    }
    if main["milestone"].is_object() {
        parts.push(format!("milestone: {}", text(&main["milestone"]["title"])));
    }
    if main["locked"] == true {
        parts.push("locked".to_owned());
    }
    parts.join("; ")
}

/// `main ← alice:fix-empty, head 1a2b3c4; 3 files, +2 -1: pr://…/diff`
fn branch_line(main: &Value, diff: &str) -> String {
    let sha = text(&main["head"]["sha"]);
    let short = sha.get(..7).unwrap_or(&sha);
    let head = match text(&main["head"]["label"]) {
        label if label.is_empty() => text(&main["head"]["ref"]),
        label => label,
    };
    let count = |name: &str| main[name].as_u64().unwrap_or(0);
    let files = match count("changed_files") {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    format!(
        "{} ← {head}, head {short}; {files}, +{} -{}: {diff}",
        text(&main["base"]["ref"]),
        count("additions"),
        count("deletions"),
    )
}

/// ` (member)`; nothing for whom the repository does not know.
fn association(of: &Value) -> String {
    match of["author_association"].as_str() {
        None | Some("NONE" | "") => String::new(),
        Some(written) => format!(" ({})", one_line(written).to_lowercase().replace('_', "-")),
    }
}

fn edited(of: &Value) -> &'static str {
    let (created, updated) = (&of["created_at"], &of["updated_at"]);
    match updated.is_string() && updated != created {
        true => ", edited",
        false => "",
    }
}

/// All of it, in the order of time.
fn entries<'a>(item: &'a Item, threads: &Threads<'a>) -> Vec<ThreadEntry<'a>> {
    let mut entries: Vec<(&str, ThreadEntry)> = Vec::new();
    for (at, comment) in item.comments.iter().enumerate() {
        entries.push((
            time(&comment["created_at"]),
            ThreadEntry::Comment(at + 1, comment),
        ));
    }
    let mut shown: Vec<u64> = Vec::new();
    for review in &item.reviews {
        let id = review["id"].as_u64().unwrap_or(0);
        let body = review["body"].as_str().unwrap_or_default();
        let is_comment = review["state"] == "COMMENTED" || review["state"] == "PENDING";
        // It is there for what it says of lines alone, and answers something.
        if body.trim().is_empty() && is_comment && threads.of_review(id).is_empty() {
            continue;
        }
        shown.push(id);
        entries.push((time(&review["submitted_at"]), ThreadEntry::Review(review)));
    }
    for root in &threads.roots {
        if !shown.contains(&root["pull_request_review_id"].as_u64().unwrap_or(0)) {
            entries.push((time(&root["created_at"]), ThreadEntry::Loose(root)));
        }
    }
    entries.sort_by_key(|(time, _)| *time);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

struct Writer {
    raw: bool,
    left_out: OmittedParts,
    text: String,
}

/// What stands in the conversation, and when it was said.
enum ThreadEntry<'a> {
    Comment(usize, &'a Value),
    Review(&'a Value),
    /// A thread of a review that is not there.
    Loose(&'a Value),
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A body, after an empty line if `parted`. Nothing for an empty one.
    fn body(&mut self, written: &Value, parted: bool) {
        let body = body(
            written.as_str().unwrap_or_default(),
            self.raw,
            &mut self.left_out,
        );
        if body.trim().is_empty() {
            return;
        }
        if parted {
            self.text.push('\n');
        }
        self.text.push_str(body.trim_end_matches('\n'));
        self.text.push('\n');
    }

    fn heading(&mut self, words: &str) {
        self.line("");
        self.line(&format!("--- {words} ---"));
    }

    fn conversation(&mut self, item: &Item) {
        let threads = Threads::of(&item.review_comments);
        let total = item.comments.len();
        for entry in entries(item, &threads) {
            match entry {
                ThreadEntry::Comment(number, comment) => {
                    self.heading(&format!(
                        "comment {number} of {total}: {}{}, {}{}",
                        login(&comment["user"]),
                        association(comment),
                        minute(&comment["created_at"]),
                        edited(comment)
                    ));
                    self.body(&comment["body"], false);
                }
                ThreadEntry::Review(review) => self.review(review, &threads),
                ThreadEntry::Loose(root) => self.thread(root, &threads),
            }
        }
    }

    fn review(&mut self, review: &Value, threads: &Threads) {
        let said = match review["state"].as_str() {
            Some("APPROVED") => "approved",
            Some("CHANGES_REQUESTED") => "changes requested",
            Some("DISMISSED") => "dismissed",
            _ => "commented",
        };
        self.heading(&format!(
            "review: {}{}, {}, {said}",
            login(&review["user"]),
            association(review),
            minute(&review["submitted_at"])
        ));
        self.body(&review["body"], false);
        for root in threads.of_review(review["id"].as_u64().unwrap_or(0)) {
            self.thread(root, threads);
        }
    }

    /// What was said to a line, and what was answered.
    fn thread(&mut self, root: &Value, threads: &Threads) {
        self.remark(root);
        let hunk = root["diff_hunk"].as_str().unwrap_or_default();
        let lines: Vec<&str> = hunk.lines().collect();
        for line in &lines[lines.len().saturating_sub(HUNK_LINES)..] {
            let line = code(line, self.raw, &mut self.left_out);
            self.line(&format!("| {line}"));
        }
        self.body(&root["body"], false);
        for reply in threads.replies(root) {
            self.remark(reply);
            self.body(&reply["body"], false);
        }
    }

    fn remark(&mut self, comment: &Value) {
        self.heading(&format!(
            "{}, {}, {}{}",
            place(comment),
            login(&comment["user"]),
            minute(&comment["created_at"]),
            edited(comment)
        ));
    }
}

fn time(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `src/list.rs:12`, `src/list.rs, old line 9`, `src/list.rs, was line 12`.
fn place(comment: &Value) -> String {
    let path = text(&comment["path"]);
    let is_old = comment["side"] == "LEFT";
    match (comment["line"].as_u64(), comment["original_line"].as_u64()) {
        _ if comment["subject_type"] == "file" => path,
        (Some(line), _) if is_old => format!("{path}, old line {line}"),
        (Some(line), _) => format!("{path}:{line}"),
        (None, Some(line)) => format!("{path}, was line {line}"),
        (None, None) => path,
    }
}

/// Comments on lines, by what they answer.
struct Threads<'a> {
    roots: Vec<&'a Value>,
    replies: HashMap<u64, Vec<&'a Value>>,
}

impl<'a> Threads<'a> {
    fn of(comments: &'a [Value]) -> Threads<'a> {
        let ids: Vec<u64> = comments.iter().filter_map(|it| it["id"].as_u64()).collect();
        let mut threads = Threads {
            roots: Vec::new(),
            replies: HashMap::new(),
        };
        for comment in comments {
            // What answers something that is gone stands for itself.
            match comment["in_reply_to_id"]
                .as_u64()
                .filter(|id| ids.contains(id))
            {
                Some(id) => threads.replies.entry(id).or_default().push(comment),
                None => threads.roots.push(comment),
            }
        }
        threads
    }

    fn of_review(&self, id: u64) -> Vec<&'a Value> {
        let roots = self.roots.iter().copied();
        roots
            .filter(|it| it["pull_request_review_id"].as_u64() == Some(id))
            .collect()
    }

    fn replies(&self, root: &Value) -> &[&'a Value] {
        let id = root["id"].as_u64().unwrap_or(0);
        self.replies.get(&id).map_or(&[], Vec::as_slice)
    }
}
