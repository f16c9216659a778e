//! Pages of issues and pull requests on hosts that are known, as the addresses that they are read by.

use crate::github::{GITHUB, Repository, named_host};
use crate::protocol::settings;
use crate::view::{Selector, Target};

/// The address of the same thing, where `target` is a page that a caller named; never one that a redirect led to, since
/// here a login is used.
pub fn address_of_page(target: &Target, settings: &settings::Github) -> Option<Target> {
    if !settings.enabled {
        return None;
    }
    let written = target.as_written();
    let (address, tail) = address(written, settings)?;
    match (target, tail) {
        (Target::Literal(_, selector), "") => Some(Target::Literal(address, selector.clone())),
        (Target::Literal(..), _) => None,
        (Target::Spelled(_), "") => Some(Target::Spelled(address)),
        (Target::Spelled(_), tail) => {
            // Forms that only web pages have are of the page.
            let selector = Selector::parse(tail.strip_prefix(':')?).ok()?;
            (selector.own.is_none()).then(|| Target::Spelled(format!("{address}{tail}")))
        }
    }
}

/// The address, and what follows it in the path string.
fn address<'a>(written: &'a str, settings: &settings::Github) -> Option<(String, &'a str)> {
    const SCHEME: &str = "https://";
    let is_https = written.get(..SCHEME.len())?.eq_ignore_ascii_case(SCHEME);
    let rest = written.get(SCHEME.len()..).filter(|_| is_https)?;
    let mut parts = rest.splitn(4, '/');
    let (host, owner, name, rest) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let mut hosts = settings.hosts.keys();
    let is_named = host.eq_ignore_ascii_case(GITHUB)
        || hosts.any(|it| it.eq_ignore_ascii_case(host))
        || named_host().is_some_and(|it| it.eq_ignore_ascii_case(host));
    if !is_named {
        return None;
    }
    let repository = Repository::of(host, owner, name)?;
    let (scheme, rest) = match rest.strip_prefix("issues/") {
        Some(rest) => ("issue", rest),
        None => ("pr", rest.strip_prefix("pull/")?),
    };
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    if !(1..=12).contains(&number.len()) || number.starts_with('0') {
        return None;
    }
    let (diff, rest) = match rest.strip_prefix("/files") {
        Some(rest) if scheme == "pr" => ("/diff", rest),
        _ => ("", rest),
    };
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    // Which comment is meant is not told apart: it is shown with the others.
    let rest = match rest.strip_prefix('#') {
        Some(fragment) => &fragment[fragment.find(':').unwrap_or(fragment.len())..],
        None => rest,
    };
    let is_end = rest.is_empty() || rest.starts_with(':');
    is_end.then(|| (format!("{scheme}://{repository}/{number}{diff}"), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_known_hosts_are_handed_over() {
        let mut settings = settings::Github::default();
        settings.hosts.insert(
            "ghe.example.com".to_owned(),
            settings::GithubHost::default(),
        );
        let handed = |written: &str| {
            let target = address_of_page(&Target::Spelled(written.to_owned()), &settings);
            target.map(|it| it.as_written().to_owned())
        };
        let cases = [
            ("https://github.com/o/r/issues/7", Some("issue://o/r/7")),
            (
                "HTTPS://GitHub.com/o/r/issues/7#issuecomment-1",
                Some("issue://o/r/7"),
            ),
            ("https://github.com/o/r/pull/9:5-9", Some("pr://o/r/9:5-9")),
            (
                "https://github.com/o/r/pull/9/files",
                Some("pr://o/r/9/diff"),
            ),
            (
                "https://ghe.example.com/o/r/pull/9#x:raw",
                Some("pr://ghe.example.com/o/r/9:raw"),
            ),
            ("https://github.com/o/r/pull/9/commits", None),
            ("https://github.com/o/r/issues", None),
            ("https://github.com/o/r/issues/7?x=1", None),
            ("https://github.com/o/r/issues/7:links", None),
            ("http://github.com/o/r/issues/7", None),
            ("https://gitlab.example/o/r/issues/7", None),
            ("https://github.com.evil.example/o/r/issues/7", None),
            ("https://u:p@github.com/o/r/issues/7", None),
        ];
        for (written, expected) in cases {
            assert_eq!(handed(written).as_deref(), expected, "{written}");
        }
    }
}
