//! Ways into JSON: `/findings/0/path` and `.findings[0].path`; each level is parsed as it is come to, so that numbers, escapes and the order of keys stay as they were sent.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::protocol::Refusal;

/// Steps of one way, and elements that one way may lead to.
const MAX_STEPS: usize = 128;
const MAX_FOUND: usize = 100_000;

/// Keys that are named where one is missing.
const MAX_NAMED: usize = 20;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key; of a list an index, where it is a number.
    Name(String),
    Key(String),
    /// From the end where it is negative.
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    Each,
}

/// A way, and how it is written behind an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    steps: Vec<Step>,
    written: String,
}

impl Steps {
    /// Of what follows an id: names and indexes.
    pub fn of_path(path: &str) -> Steps {
        let names = path.split('/').take(MAX_STEPS);
        Steps {
            steps: names.map(|name| Step::Name(name.to_owned())).collect(),
            written: format!("/{path}"),
        }
    }

    /// Of `?q=`: `.findings[0].path`, `["a key"]`, `[2:5]`, `[]`.
    pub fn of_query(query: &str) -> Result<Steps, Refusal> {
        let mut steps = Vec::new();
        let mut rest = query.trim();
        if rest == "." {
            rest = "";
        }
        while !rest.is_empty() {
            if steps.len() == MAX_STEPS {
                return Err(bad(query));
            }
            let (step, behind) = next_step(rest).ok_or_else(|| bad(query))?;
            steps.push(step);
            rest = behind;
        }
        Ok(Steps {
            steps,
            written: format!("?q={query}"),
        })
    }

    pub fn written(&self) -> &str {
        &self.written
    }

    /// What they lead to, as JSON; else what is there instead, as the beginning of a sentence.
    pub fn follow(&self, json: &RawValue) -> Result<String, String> {
        let mut found = vec![json];
        let mut is_list = false;
        let mut come = String::new();
        let mut before: Option<&Step> = None;
        for step in &self.steps {
            // What a slice gave is a list of elements already.
            let is_of_slice = matches!((before, step), (Some(Step::Slice(..)), Step::Each));
            before = Some(step);
            if is_of_slice {
                continue;
            }
            let mut next = Vec::new();
            for json in found {
                step.take(json, &come, &mut next)?;
                if next.len() > MAX_FOUND {
                    return Err(format!("'{come}' leads to over {MAX_FOUND} elements"));
                }
            }
            is_list |= matches!(step, Step::Each | Step::Slice(..));
            found = next;
            come.push_str(&step.to_string());
        }
        match (is_list, found.first()) {
            (false, Some(only)) => Ok(only.get().to_owned()),
            _ => {
                let all: Vec<&str> = found.iter().map(|json| json.get()).collect();
                Ok(format!("[{}]", all.join(",")))
            }
        }
    }
}

fn bad(query: &str) -> Refusal {
    let message = format!(
        "'{query}' is no way into JSON. ?q= takes .key, [\"a key\"], [0], [-1], [2:5] and [], one after the other."
    );
    Refusal::bad_params("path", message)
}

/// The first step of a query, and what follows it.
fn next_step(query: &str) -> Option<(Step, &str)> {
    if let Some(rest) = query.strip_prefix('[') {
        if rest.starts_with(['"', '\'']) {
            let quote = &rest[..1];
            let end = quoted_end(rest)?;
            let key = match quote {
                "\"" => serde_json::from_str(&rest[..end]).ok()?,
                _ => rest[1..end - 1].to_owned(),
            };
            let behind = rest[end..].strip_prefix(']')?;
            return Some((Step::Key(key), behind));
        }
        let (inner, behind) = rest.split_once(']')?;
        let number = |text: &str| -> Option<Option<i64>> {
            let text = text.trim();
            match text.is_empty() {
                true => Some(None),
                false => text.parse().ok().map(Some),
            }
        };
        let step = match inner.split_once(':') {
            Some((from, to)) => Step::Slice(number(from)?, number(to)?),
            None => number(inner)?.map_or(Step::Each, Step::Index),
        };
        return Some((step, behind));
    }
    let rest = query.strip_prefix('.')?;
    if rest.starts_with('[') {
        return next_step(rest);
    }
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let name = &rest[..end];
    (!name.is_empty()).then(|| (Step::Key(name.to_owned()), &rest[end..]))
}

/// Where what begins with a quote ends.
fn quoted_end(text: &str) -> Option<usize> {
    let quote = text.as_bytes()[0];
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if quote == b'"' => is_escaped = true,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let end = |it: &Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
        match self {
            Step::Name(name) => write!(out, "/{name}"),
            Step::Key(key) => write!(out, ".{key}"),
            Step::Index(index) => write!(out, "[{index}]"),
            Step::Slice(from, to) => write!(out, "[{}:{}]", end(from), end(to)),
            Step::Each => out.write_str("[]"),
        }
    }
}

impl Step {
    /// What it leads to from here; `come` is the way so far.
    fn take<'a>(
        &self,
        json: &'a RawValue,
        come: &str,
        into: &mut Vec<&'a RawValue>,
    ) -> Result<(), String> {
        let place = || match come {
            "" => "the top".to_owned(),
            come => format!("'{come}'"),
        };
        match json.get().as_bytes().first() {
            Some(b'[') => {
                let list: Vec<&RawValue> = parsed(json)?;
                let length = list.len();
                let at = |index: i64| match index < 0 {
                    true => (length as i64 + index).max(-1),
                    false => index,
                };
                let index = match self {
                    Step::Each => {
                        into.extend(list);
                        return Ok(());
                    }
                    Step::Slice(from, to) => {
                        let clamp = |index: i64| at(index).clamp(0, length as i64) as usize;
                        let from = from.map_or(0, clamp);
                        let to = to.map_or(length, clamp).max(from);
                        into.extend(&list[from..to]);
                        return Ok(());
                    }
                    Step::Index(index) => Some(*index),
                    Step::Name(name) => name.parse().ok(),
                    Step::Key(_) => None,
                };
                let index = index.and_then(|index| usize::try_from(at(index)).ok());
                match index.and_then(|index| list.get(index)) {
                    Some(found) => into.push(found),
                    None => {
                        return Err(format!(
                            "No '{}': at {} there is a list of {length}",
                            self.bare(),
                            place()
                        ));
                    }
                }
            }
            Some(b'{') => {
                let Members(members) = parsed(json)?;
                if let Step::Each = self {
                    into.extend(members.into_iter().map(|(_, value)| value));
                    return Ok(());
                }
                let name = match self {
                    Step::Name(name) | Step::Key(name) => Some(name),
                    Step::Index(_) | Step::Slice(..) | Step::Each => None,
                };
                // Of a key that is there twice the last one counts, as everywhere.
                let found = members.iter().rev().find(|(key, _)| Some(key) == name);
                match found {
                    Some((_, value)) => into.push(value),
                    None => {
                        return Err(format!(
                            "No '{}': at {} there are the keys {}",
                            self.bare(),
                            place(),
                            named(&members)
                        ));
                    }
                }
            }
            _ => {
                return Err(format!(
                    "No '{}': at {} there is neither a list nor an object",
                    self.bare(),
                    place()
                ));
            }
        }
        Ok(())
    }

    fn bare(&self) -> String {
        let written = self.to_string();
        written.trim_start_matches(['/', '.']).to_owned()
    }
}

fn named(members: &[(String, &RawValue)]) -> String {
    let mut named: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
    let more = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    let list = super::super::one_line(&named.join(", "));
    match (named.is_empty(), more) {
        (true, _) => "(none)".to_owned(),
        (false, 0) => list,
        (false, more) => format!("{list} and {more} more"),
    }
}

fn parsed<'a, T: serde::Deserialize<'a>>(json: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(json.get()).map_err(|_| "No valid JSON".to_owned())
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> serde::Deserialize<'a> for Members<'a> {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Members<'a>, D::Error> {
        struct Each;
        impl<'a> Visitor<'a> for Each {
            type Value = Members<'a>;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Members<'a>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str =
        r#"{"b": 1.50, "a": [{"p": "x"}, {"p": "y"}, {"p": null}], "a key": {"]": "\u00e9"}}"#;

    fn by_path(path: &str) -> Result<String, String> {
        let json = serde_json::from_str(JSON).expect("JSON");
        Steps::of_path(path).follow(json)
    }

    fn by_query(query: &str) -> Result<String, String> {
        let json = serde_json::from_str(JSON).expect("JSON");
        Steps::of_query(query).expect(query).follow(json)
    }

    #[test]
    fn leads_to_parts_as_they_were_sent() {
        assert_eq!(by_path("b").as_deref(), Ok("1.50"));
        assert_eq!(by_path("a/-1").as_deref(), Ok(r#"{"p": null}"#));
        assert_eq!(by_path("a key/]").as_deref(), Ok(r#""\u00e9""#));
        assert_eq!(by_query(".a[0].p").as_deref(), Ok(r#""x""#));
        assert_eq!(by_query(r#"["a key"]["]"]"#).as_deref(), Ok(r#""\u00e9""#));
        assert_eq!(by_query(".a[1:].p").as_deref(), Ok(r#"["y",null]"#));
        assert_eq!(by_query(".a[].p").as_deref(), Ok(r#"["x","y",null]"#));
        assert_eq!(by_query(".a[-2:-1]").as_deref(), Ok(r#"[{"p": "y"}]"#));
        assert_eq!(by_query("."), Ok(JSON.to_owned()));
    }

    #[test]
    fn a_miss_says_what_is_there() {
        assert_eq!(
            by_path("c").expect_err("none"),
            "No 'c': at the top there are the keys b, a, a key"
        );
        assert_eq!(
            by_path("a/3").expect_err("none"),
            "No '3': at '/a' there is a list of 3"
        );
        assert_eq!(
            by_path("a/-4").expect_err("none"),
            "No '-4': at '/a' there is a list of 3"
        );
        assert_eq!(
            by_query(".b.c").expect_err("none"),
            "No 'c': at '.b' there is neither a list nor an object"
        );
        for bad in ["a", ".a[", ".a[x]", "..", ".a[1:2:3]", "[\"x]"] {
            assert!(Steps::of_query(bad).is_err(), "{bad}");
        }
    }
}
