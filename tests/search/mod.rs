//! `agent/search` over a real process: equal to ripgrep, over the text that a read shows, each shown row ready to be edited.

mod fronts;
mod further;
mod like_ripgrep;
mod order;
mod shown;
mod texts;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::client::Daemon;

/// The lines of matches, by file.
pub type Lines = BTreeMap<String, Vec<(u64, u64)>>;

pub fn search(daemon: &Daemon, params: Value) -> Value {
    let answer = daemon.call("agent/search", params.clone());
    answer.unwrap_or_else(|error| panic!("{params}: {error:?}"))
}

/// What a model sees of a search for that pattern alone.
pub fn found(daemon: &Daemon, pattern: &str) -> String {
    text(&search(daemon, json!({ "pattern": pattern }))).to_owned()
}

pub fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().expect("a text")
}

/// The same with each tag as `#TAG_`.
pub fn untagged(text: &str) -> String {
    let line = |line: &str| match (line.starts_with('¶'), line.rsplit_once('#')) {
        (true, Some((path, _))) => format!("{path}#TAG_"),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

pub fn span(span: &Value) -> (u64, u64) {
    let number = |key: &str| span[key].as_u64().expect("a line");
    (number("start"), number("end"))
}

fn spans(list: &Value) -> Vec<(u64, u64)> {
    list.as_array().into_iter().flatten().map(span).collect()
}

/// The lines of an answer's matches.
pub fn lines(answer: &Value) -> Lines {
    let files = answer["details"]["files"].as_array().expect("files");
    let file = |file: &Value| {
        let path = file["path"].as_str().expect("a path").to_owned();
        (path, spans(&file["lines"]))
    };
    files.iter().map(file).collect()
}

/// All answers to one search, each going on where the one before ended.
pub fn all_answers(daemon: &Daemon, params: &Value) -> Vec<Value> {
    let mut params = params.clone();
    let mut answers = Vec::new();
    loop {
        let answer = search(daemon, params.clone());
        let after = answer["details"]["after"].clone();
        assert_eq!(
            answer["details"]["complete"],
            json!(after.is_null()),
            "{params}"
        );
        answers.push(answer);
        if after.is_null() {
            return answers;
        }
        assert!(params["after"] != after, "it goes on: {params}");
        params["after"] = after;
    }
}

/// The lines of all of them; each match is in one of them alone.
pub fn all_lines(daemon: &Daemon, params: &Value) -> Lines {
    let mut all = Lines::new();
    for answer in all_answers(daemon, params) {
        for (path, spans) in lines(&answer) {
            let known = all.entry(path).or_default();
            for (start, end) in spans {
                match known.last_mut() {
                    // The rest of a match that did not fit.
                    Some(last) if last.1 + 1 == start && params["multiline"] == true => {
                        last.1 = end
                    }
                    Some(last) => {
                        assert!(last.1 < start, "{params}: {last:?} and {start}");
                        known.push((start, end));
                    }
                    None => known.push((start, end)),
                }
            }
        }
    }
    all
}
