//! SiteRow rules: for a few sites, where the text behind a page is to be had from the site itself. Data in `sites.toml`.

use std::sync::LazyLock;

use serde::Deserialize;
use url::Url;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sites {
    site: Vec<SiteRow>,
}

/// One row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRow {
    host: String,
    path: String,
    /// What the first part of the path must not be.
    #[serde(default)]
    not: Vec<String>,
    to: Option<String>,
    note: Option<String>,
}

/// What a row says of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteRule {
    /// Its text is read from there.
    ReadFrom(Url),
    /// What is said with it.
    Note(String),
}

// The data is compiled in, and a unit test reads it.
static SITES: LazyLock<Vec<SiteRow>> = LazyLock::new(|| {
    let sites: Result<Sites, _> = toml::from_str(include_str!("sites.toml"));
    sites.map(|sites| sites.site).unwrap_or_default()
});

/// What the first row that knows the page says of it.
pub fn rule(url: &Url) -> Option<SiteRule> {
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    if url.port().is_some() {
        return None;
    }
    SITES.iter().find_map(|site| {
        if site.host != host {
            return None;
        }
        let names = matched(&site.path, url.path())?;
        if names
            .first()
            .is_some_and(|(_, part)| site.not.iter().any(|not| not == part))
        {
            return None;
        }
        match (&site.to, &site.note) {
            (Some(to), _) => Url::parse(&filled(to, &names)).ok().map(SiteRule::ReadFrom),
            (None, Some(note)) => Some(SiteRule::Note(filled(note, &names))),
            (None, None) => None,
        }
    })
}

type SiteNames<'a> = Vec<(&'a str, &'a str)>;

/// The parts of `path` by the names of the pattern; `None` where it is another path.
fn matched<'a>(pattern: &'a str, path: &'a str) -> Option<SiteNames<'a>> {
    let mut names = Vec::new();
    let pattern: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    let mut rest = path.trim_start_matches('/').trim_end_matches('/');
    for (index, part) in pattern.iter().enumerate() {
        let name = part
            .strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'));
        let Some(name) = name else {
            rest = next(rest, |found| found == *part)?.1;
            continue;
        };
        let (name, found) = match name.strip_suffix("...") {
            None => {
                let (found, behind) = next(rest, |found| !found.is_empty())?;
                rest = behind;
                (name, found)
            }
            Some(name) => {
                let end = match pattern.get(index + 1) {
                    None => rest.len(),
                    Some(literal) => rest.find(&format!("/{literal}/"))?,
                };
                let found = &rest[..end];
                rest = rest[end..].trim_start_matches('/');
                (name, found)
            }
        };
        if found.is_empty() {
            return None;
        }
        names.push((name, found));
    }
    rest.is_empty().then_some(names)
}

/// The first part of a path, if it is such a one, and what follows it.
fn next(path: &str, is_it: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let (part, behind) = path.split_once('/').unwrap_or((path, ""));
    is_it(part).then_some((part, behind))
}

fn filled(template: &str, names: &SiteNames) -> String {
    names
        .iter()
        .fold(template.to_owned(), |filled, (name, part)| {
            filled.replace(&format!("{{{name}}}"), part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(url: &str) -> Option<String> {
        match rule(&Url::parse(url).expect(url))? {
            SiteRule::ReadFrom(url) => Some(url.into()),
            SiteRule::Note(note) => Some(note),
        }
    }

    #[test]
    fn every_row_is_read_and_used() {
        let sites: Sites = toml::from_str(include_str!("sites.toml")).expect("valid rows");
        assert_eq!(sites.site.len(), SITES.len());
        let table = [
            (
                "https://github.com/o/r/blob/main/src/a%20b.rs",
                "https://raw.githubusercontent.com/o/r/main/src/a%20b.rs",
            ),
            (
                "https://www.github.com/o/r/raw/v1/x.md",
                "https://raw.githubusercontent.com/o/r/v1/x.md",
            ),
            (
                "https://github.com/o/r/",
                "https://raw.githubusercontent.com/o/r/HEAD/README.md",
            ),
            (
                "https://gist.github.com/u/0a1b",
                "https://gist.githubusercontent.com/u/0a1b/raw",
            ),
            (
                "https://gitlab.com/a/b/c/-/blob/main/d/e.py",
                "https://gitlab.com/a/b/c/-/raw/main/d/e.py",
            ),
            (
                "https://codeberg.org/o/r/src/branch/main/a.go",
                "https://codeberg.org/o/r/raw/branch/main/a.go",
            ),
            (
                "https://gitea.com/o/r/src/tag/v1/a.go",
                "https://gitea.com/o/r/raw/tag/v1/a.go",
            ),
            (
                "https://bitbucket.org/o/r/src/main/a.c",
                "https://bitbucket.org/o/r/raw/main/a.c",
            ),
            (
                "https://huggingface.co/datasets/o/r/blob/main/data.csv",
                "https://huggingface.co/datasets/o/r/resolve/main/data.csv",
            ),
            (
                "https://arxiv.org/abs/2401.00001v2",
                "the paper: https://arxiv.org/pdf/2401.00001v2",
            ),
        ];
        assert_eq!(table.len(), SITES.len());
        for (page, from) in table {
            assert_eq!(read_from(page).as_deref(), Some(from), "{page}");
        }
    }

    #[test]
    fn other_pages_are_left_alone() {
        for page in [
            "https://github.com/o",
            "https://github.com/topics/rust",
            "https://github.com/o/r/issues/1",
            "https://github.com:8443/o/r",
            "https://github.com.example.com/o/r",
            "https://gitlab.com/a/b",
            "https://example.com/o/r/blob/main/x",
        ] {
            assert_eq!(read_from(page), None, "{page}");
        }
    }
}
