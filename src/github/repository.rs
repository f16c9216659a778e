//! Which repository is meant: its name, and the host that has it. Nothing here does I/O.

use std::fmt;

/// Of one part of a name; GitHub's own limit is lower.
const MAX_PART: usize = 100;

/// A repository of a GitHub host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Repository {
    /// In lower case.
    pub host: String,
    pub owner: String,
    pub name: String,
}

/// The host that is meant where none is named.
pub const GITHUB: &str = "github.com";

impl Repository {
    /// `[HOST/]OWNER/NAME`; `None` for what is no such thing.
    pub fn parse(written: &str) -> Option<Repository> {
        let parts: Vec<&str> = written.split('/').collect();
        let (host, owner, name) = match parts[..] {
            [owner, name] => (GITHUB, owner, name),
            [host, owner, name] if is_host(host) => (host, owner, name),
            _ => return None,
        };
        Repository::of(host, owner, name)
    }

    pub fn of(host: &str, owner: &str, name: &str) -> Option<Repository> {
        let is_it = is_host(host) && is_part(owner) && is_part(name);
        is_it.then(|| Repository {
            host: host.to_ascii_lowercase(),
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }

    /// As tables name it: names fold case.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.host, self.owner, self.name).to_ascii_lowercase()
    }
}

/// Without the host that is meant anyway.
impl fmt::Display for Repository {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if self.host != GITHUB {
            write!(out, "{}/", self.host)?;
        }
        write!(out, "{}/{}", self.owner, self.name)
    }
}

/// An owner or a name of a repository.
pub fn is_part(written: &str) -> bool {
    let is_of_it = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
    (1..=MAX_PART).contains(&written.len())
        && written.bytes().all(is_of_it)
        && !matches!(written, "." | "..")
}

/// A name of a host, without a port: one that has a dot, and nothing that a program could take for
/// an option.
pub fn is_host(written: &str) -> bool {
    let is_label = |label: &str| {
        let is_of_it = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
        !label.is_empty() && !label.starts_with('-') && label.bytes().all(is_of_it)
    };
    written.len() <= 253 && written.contains('.') && written.split('.').all(is_label)
}

/// Where a remote of git's leads: a host, and the path on it.
pub fn of_remote(url: &str) -> Option<(String, String)> {
    let (authority, path) = match url.split_once("://") {
        Some((scheme, rest)) => {
            let known = [
                "ssh",
                "git+ssh",
                "ssh+git",
                "https",
                "git+https",
                "http",
                "git",
            ];
            if !known.contains(&scheme.to_ascii_lowercase().as_str()) {
                return None;
            }
            rest.split_once('/')?
        }
        // As scp has it; what has a slash before its colon is a path.
        None => {
            let (authority, path) = url.split_once(':')?;
            if authority.contains('/') {
                return None;
            }
            (authority, path)
        }
    };
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let host = match host.split_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => host,
        Some(_) => return None,
        None => host,
    };
    let host = match host.to_ascii_lowercase().as_str() {
        "ssh.github.com" | "www.github.com" => GITHUB.to_owned(),
        host => host.to_owned(),
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    Some((host, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_digits_and_little_else() {
        let shown = |written| Repository::parse(written).map(|it| it.to_string());
        assert_eq!(shown("octo/demo").as_deref(), Some("octo/demo"));
        assert_eq!(shown("GitHub.com/octo/demo").as_deref(), Some("octo/demo"));
        assert_eq!(
            shown("GHE.example.com/o/d.x_y").as_deref(),
            Some("ghe.example.com/o/d.x_y")
        );
        for wrong in [
            "octo",
            "a/b/c",
            "octo/..",
            "octo/de mo",
            "-x.y/a/b",
            "a/b/c/d",
            "octo/d?x",
            "",
        ] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn remotes_are_understood_in_all_their_forms() {
        let cases = [
            ("git@github.com:octo/demo.git", "github.com octo/demo"),
            ("github.com:octo/demo", "github.com octo/demo"),
            (
                "ssh://git@ssh.github.com:443/octo/demo.git",
                "github.com octo/demo",
            ),
            (
                "https://user:secret@GitHub.com/octo/demo.git/",
                "github.com octo/demo",
            ),
            (
                "https://ghe.example.com:8443/octo/demo",
                "ghe.example.com octo/demo",
            ),
            ("git://github.com/octo/demo.git", "github.com octo/demo"),
            ("work:octo/demo.git", "work octo/demo"),
        ];
        for (url, expected) in cases {
            let (host, path) = of_remote(url).expect(url);
            assert_eq!(format!("{host} {path}"), expected, "{url}");
        }
        for none in [
            "/srv/git/demo.git",
            "../demo",
            "./a:b/c",
            "file:///srv/demo",
            "ext::sh -c x",
        ] {
            let found = of_remote(none)
                .and_then(|(host, path)| Repository::parse(&format!("{host}/{path}")));
            assert_eq!(found, None, "{none}");
        }
    }
}
