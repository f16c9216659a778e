//! What stands behind `issue://` and `pr://`: which repository, which number or list, which form.

use crate::github::{GithubAsk, ItemAsk, ItemKind, ListAsk, ListState, Repository, What};
use crate::protocol::Refusal;
use crate::workspace::percent_decoded;

const DEFAULT_LIMIT: u64 = 30;
const MAX_LIMIT: u64 = 100;
const MAX_LABELS: usize = 10;
const MAX_LABEL: usize = 100;

/// What is asked for, and which form of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    pub ask: GithubAsk,
    pub part: ItemPart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemPart {
    /// The issue, the pull request, or the list.
    Whole,
    /// Of a diff: which files there are.
    Files,
    /// One of them, counted from 1.
    File(usize),
    WholeDiff,
}

impl ItemPart {
    /// What of it stands behind a number.
    fn tail(self) -> String {
        match self {
            ItemPart::Whole => String::new(),
            ItemPart::Files => "/diff".to_owned(),
            ItemPart::File(number) => format!("/diff/{number}"),
            ItemPart::WholeDiff => "/diff/all".to_owned(),
        }
    }
}

impl Address {
    /// The canonical address, once the repository is known; without what asks for a fresh answer.
    pub fn canonical(&self, repository: &Repository) -> String {
        match &self.ask.what {
            What::Item(item) => {
                let scheme = match item.kind {
                    ItemKind::Issue => "issue",
                    ItemKind::Pull | ItemKind::Diff => "pr",
                };
                let comments = match item.comments {
                    true => "",
                    false => "?comments=0",
                };
                let tail = self.part.tail();
                format!("{scheme}://{repository}/{}{tail}{comments}", item.number)
            }
            What::List(list) => list_address(list, repository),
        }
    }
}

/// The address of a list, with what differs from the default.
pub fn list_address(list: &ListAsk, repository: &Repository) -> String {
    let scheme = match list.pulls {
        true => "pr",
        false => "issue",
    };
    let mut parameters = Vec::new();
    if list.state != ListState::Open {
        parameters.push(format!("state={}", list.state.name()));
    }
    parameters.extend(list.author.iter().map(|it| format!("author={it}")));
    let encoded = |label: &str| {
        let bytes = url::form_urlencoded::byte_serialize(label.as_bytes());
        bytes.collect::<String>().replace('+', "%20")
    };
    parameters.extend(
        list.labels
            .iter()
            .map(|it| format!("label={}", encoded(it))),
    );
    if list.limit != DEFAULT_LIMIT {
        parameters.push(format!("limit={}", list.limit));
    }
    if list.page != 1 {
        parameters.push(format!("page={}", list.page));
    }
    match parameters.is_empty() {
        true => format!("{scheme}://{repository}"),
        false => format!("{scheme}://{repository}?{}", parameters.join("&")),
    }
}

/// Takes apart what stands behind `issue://`, or `pr://` if `pulls`.
///
/// # Errors
///
/// `badParams` with the forms that there are.
pub fn parse(written: &str, pulls: bool) -> Result<Address, Refusal> {
    let (path, query) = match written.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (written, None),
    };
    let wrong = || wrong(written, pulls);
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    let parts: Vec<&str> = match trimmed {
        "" => Vec::new(),
        path => path.split('/').collect(),
    };
    let (parts, part) = without_diff(&parts).ok_or_else(wrong)?;
    if part != ItemPart::Whole && !pulls {
        return Err(bad(format!(
            "An issue has no diff. Of a pull request it is pr://{}.",
            crate::protocol::shortened(path)
        )));
    }
    let number = parts.last().and_then(|last| number(last));
    let is_item = number.is_some() && matches!(parts.len(), 1 | 3 | 4) || part != ItemPart::Whole;
    let of_repository = match is_item {
        true => &parts[..parts.len().saturating_sub(1)],
        false => parts,
    };
    let repository = match of_repository {
        [] => None,
        parts => Some(Repository::parse(&parts.join("/")).ok_or_else(wrong)?),
    };
    let parameters = Parameters::parse(query)?;
    let what = match (is_item, number) {
        (true, Some(number)) => What::Item(parameters.item(number, part, pulls)?),
        (true, None) => return Err(wrong()),
        (false, _) => What::List(parameters.list(pulls)?),
    };
    Ok(Address {
        ask: GithubAsk {
            repository,
            what,
            is_fresh: parameters.flag("fresh")?.unwrap_or(false),
        },
        part,
    })
}

fn scheme(pulls: bool) -> &'static str {
    match pulls {
        true => "pr",
        false => "issue",
    }
}

/// What has no form of these.
fn wrong(written: &str, pulls: bool) -> Refusal {
    let scheme = scheme(pulls);
    let diff = match pulls {
        true => format!(", {scheme}://7/diff"),
        false => String::new(),
    };
    bad(format!(
        "'{scheme}://{}' is none: use {scheme}://7, {scheme}://OWNER/NAME/7, {scheme}://OWNER/NAME{diff}, or {scheme}://HOST/OWNER/NAME/7.",
        crate::protocol::shortened(written)
    ))
}

/// What stands before `/diff`, and which part of the diff is meant.
fn without_diff<'a>(parts: &'a [&'a str]) -> Option<(&'a [&'a str], ItemPart)> {
    let follows_number = |before: &[&str]| before.last().is_some_and(|it| number(it).is_some());
    match parts {
        [before @ .., "diff"] if follows_number(before) => Some((before, ItemPart::Files)),
        [before @ .., "diff", "all"] if follows_number(before) => {
            Some((before, ItemPart::WholeDiff))
        }
        [before @ .., "diff", which] if follows_number(before) => {
            let which = number(which)?;
            Some((before, ItemPart::File(usize::try_from(which).ok()?)))
        }
        parts => Some((parts, ItemPart::Whole)),
    }
}

fn number(written: &str) -> Option<u64> {
    let is_it = (1..=12).contains(&written.len())
        && written.bytes().all(|c| c.is_ascii_digit())
        && !written.starts_with('0');
    is_it.then(|| written.parse().ok()).flatten()
}

fn bad(message: String) -> Refusal {
    Refusal::bad_params("path", message)
}

/// What follows the `?`, decoded.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(query: Option<&str>) -> Result<Parameters, Refusal> {
        let decoded = |text: &str| {
            let bytes = percent_decoded(text.as_bytes());
            String::from_utf8(bytes).map_err(|_| bad(format!("'{text}' is not UTF-8.")))
        };
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|it| !it.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        Ok(Parameters(pairs.collect::<Result<_, Refusal>>()?))
    }

    fn refuse_others(&self, scheme: &str, known: &[&str]) -> Result<(), Refusal> {
        let other = self
            .0
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()));
        let Some((name, _)) = other else {
            let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
            names.retain(|name| *name != "label");
            names.sort_unstable();
            return match names.windows(2).find(|two| two[0] == two[1]) {
                Some(two) => Err(bad(format!("'{}' is there twice.", two[0]))),
                None => Ok(()),
            };
        };
        let list: Vec<String> = known.iter().map(|it| format!("?{it}=")).collect();
        Err(bad(format!(
            "'{}' is no parameter here; {scheme}:// takes {}.",
            crate::protocol::shortened(name),
            list.join(", ")
        )))
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.value(name) {
            None => Ok(None),
            Some("0") => Ok(Some(false)),
            Some("1") => Ok(Some(true)),
            Some(_) => Err(bad(format!("{name} must be 0 or 1."))),
        }
    }

    fn count(&self, name: &str, most: u64, otherwise: u64) -> Result<u64, Refusal> {
        match self.value(name).map(number) {
            None => Ok(otherwise),
            Some(Some(count)) if count <= most => Ok(count),
            Some(_) => Err(bad(format!("{name} must be a number from 1 to {most}."))),
        }
    }

    fn item(&self, number: u64, part: ItemPart, pulls: bool) -> Result<ItemAsk, Refusal> {
        let kind = match (pulls, part) {
            (false, _) => ItemKind::Issue,
            (true, ItemPart::Whole) => ItemKind::Pull,
            (true, _) => ItemKind::Diff,
        };
        let known: &[&str] = match kind {
            ItemKind::Diff => &["fresh"],
            _ => &["comments", "fresh"],
        };
        self.refuse_others(scheme(pulls), known)?;
        Ok(ItemAsk {
            kind,
            number,
            comments: self.flag("comments")?.unwrap_or(true),
        })
    }

    fn list(&self, pulls: bool) -> Result<ListAsk, Refusal> {
        let known = ["state", "limit", "author", "label", "page", "fresh"];
        self.refuse_others(scheme(pulls), &known)?;
        let state = match self.value("state") {
            None | Some("open") => ListState::Open,
            Some("closed") => ListState::Closed,
            Some("all") => ListState::All,
            Some("merged") if pulls => ListState::Merged,
            Some(_) => {
                let merged = match pulls {
                    true => " or merged",
                    false => "",
                };
                return Err(bad(format!("state must be open, closed, all{merged}.")));
            }
        };
        let author = self.value("author").map(str::to_owned);
        if author.as_deref().is_some_and(|author| !is_author(author)) {
            return Err(bad(
                "author must be a name on GitHub: letters, digits and '-'.".to_owned(),
            ));
        }
        let labels = self.0.iter().filter(|(name, _)| name == "label");
        let labels: Vec<String> = labels.map(|(_, value)| value.clone()).collect();
        let is_label = |label: &String| {
            !label.is_empty()
                && label.len() <= MAX_LABEL
                && !label.contains(|c: char| c == '"' || c == '\\' || c.is_control())
        };
        if labels.len() > MAX_LABELS || !labels.iter().all(is_label) {
            return Err(bad(format!(
                "label must be the name of a label, without quotes; there may be {MAX_LABELS}."
            )));
        }
        Ok(ListAsk {
            pulls,
            state,
            limit: self.count("limit", MAX_LIMIT, DEFAULT_LIMIT)?,
            page: self.count("page", 10_000, 1)?,
            author,
            labels,
        })
    }
}

fn is_author(written: &str) -> bool {
    let name = written.strip_suffix("[bot]").unwrap_or(written);
    (1..=39).contains(&name.len()) && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(written: &str, pulls: bool) -> Result<String, String> {
        let address = parse(written, pulls).map_err(|refusal| refusal.to_string())?;
        let here = Repository::parse("octo/demo").expect("a repository");
        let repository = address.ask.repository.clone().unwrap_or(here);
        Ok(address.canonical(&repository))
    }

    #[test]
    fn every_form_has_one_canonical_address() {
        let cases = [
            ("7", false, "issue://octo/demo/7"),
            ("o/d/7", false, "issue://o/d/7"),
            (
                "GHE.example.com/o/d/7?fresh=1",
                false,
                "issue://ghe.example.com/o/d/7",
            ),
            ("github.com/o/d/7?comments=0", true, "pr://o/d/7?comments=0"),
            ("", false, "issue://octo/demo"),
            ("o/d/", true, "pr://o/d"),
            ("ghe.example.com/o/d", true, "pr://ghe.example.com/o/d"),
            ("7/diff", true, "pr://octo/demo/7/diff"),
            ("7/diff/all", true, "pr://octo/demo/7/diff/all"),
            ("o/d/7/diff/2", true, "pr://o/d/7/diff/2"),
            (
                "?state=all&label=good%20first&label=a%26b&author=al-ice&limit=5&page=2",
                false,
                "issue://octo/demo?state=all&author=al-ice&label=good%20first&label=a%26b&limit=5&page=2",
            ),
            ("?state=merged", true, "pr://octo/demo?state=merged"),
        ];
        for (written, pulls, expected) in cases {
            assert_eq!(
                canonical(written, pulls).as_deref(),
                Ok(expected),
                "{written}"
            );
        }
    }

    #[test]
    fn no_value_adds_a_search_term() {
        for wrong in [
            "?author=a%20repo:x/y",
            "?author=",
            "?label=a%22%20is:pr",
            "?label=%0a",
            "?state=merged",
            "?limit=101",
            "?limit=0",
            "?page=x",
            "7?comments=2",
            "7?limit=3",
            "?foo=1",
            "o",
            "o/d/x",
            "o/../7",
            "7/diff",
            "07",
            "a/b/c/d/7",
            "?state=open&state=all",
        ] {
            assert!(canonical(wrong, false).is_err(), "{wrong}");
        }
    }
}
