//! The repository of the workspace: what its remotes say, chosen as `gh` chooses, among hosts that are known.
//!
//! Two commands of git's that read configuration and run nothing of what it names. Their answers are kept for a minute.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::process::Command;

use crate::protocol::settings::Github;

use super::error::GithubError;
use super::login::{Logins, NoOutput, named_host, run};
use super::repository::{GITHUB, Repository, is_host, of_remote};

const KEPT: Duration = Duration::from_secs(60);
const MAX_ROOTS: usize = 64;
/// Remotes of a root that are looked at.
const MAX_REMOTES: usize = 32;

/// A remote of git's, and what `gh` noted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Remote {
    name: String,
    url: String,
    /// `base`, or a repository's name.
    resolved: Option<String>,
}

/// What git said of the remotes of a root, and when.
type RemotesSaid = (Instant, Result<Vec<Remote>, NoOutput>);

/// What is known of the roots.
#[derive(Debug, Default)]
pub struct Remotes(Mutex<HashMap<PathBuf, RemotesSaid>>);

impl Remotes {
    /// The repository that a short form means. `example` is what to use where none is known.
    pub async fn repository(
        &self,
        roots: &[PathBuf],
        settings: &Github,
        logins: &Logins,
        example: &str,
    ) -> Result<Repository, GithubError> {
        if let Some(named) = &settings.repo {
            return Repository::parse(named).ok_or_else(|| GithubError::Setting {
                message: "The setting github.repo must be [HOST/]OWNER/NAME.".to_owned(),
            });
        }
        if let Ok(named) = std::env::var("GH_REPO")
            && let Some(repository) = Repository::parse(&named)
        {
            return Ok(repository);
        }
        let mut why = None;
        for root in roots {
            let remotes = self.of_root(root, settings).await;
            match choose(remotes, settings, logins).await {
                Ok(repository) => return Ok(repository),
                Err(said) => why = why.or(Some(said)),
            }
        }
        Err(GithubError::NoRepository {
            why: why.unwrap_or_else(|| "there is no folder of a workspace".to_owned()),
            example: example.to_owned(),
        })
    }

    async fn of_root(&self, root: &Path, settings: &Github) -> Result<Vec<Remote>, NoOutput> {
        if let Some((at, said)) = self.0.lock().get(root)
            && at.elapsed() < KEPT
        {
            return said.clone();
        }
        let said = ask_git(root, settings).await;
        let mut known = self.0.lock();
        if known.len() >= MAX_ROOTS {
            known.clear();
        }
        known.insert(root.to_owned(), (Instant::now(), said.clone()));
        said
    }
}

async fn ask_git(root: &Path, settings: &Github) -> Result<Vec<Remote>, NoOutput> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(root).args(args);
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0");
        for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_EXTERNAL_DIFF", "GIT_PAGER"] {
            command.env_remove(inherited);
        }
        run(command, settings)
    };
    let (listed, resolved) = futures::join!(
        git(&["remote", "-v"]),
        git(&["config", "--get-regexp", r"^remote\..*\.gh-resolved$"]),
    );
    // Git fails where nothing matches.
    Ok(parsed(&listed?, &resolved.unwrap_or_default()))
}

/// The remotes that are fetched from, in git's order.
fn parsed(listed: &str, resolved: &str) -> Vec<Remote> {
    let marks: HashMap<&str, &str> = resolved
        .lines()
        .filter_map(|line| {
            let (key, value) = line.split_once(' ')?;
            let name = key.strip_prefix("remote.")?.strip_suffix(".gh-resolved")?;
            Some((name, value))
        })
        .collect();
    let remotes = listed.lines().filter_map(|line| {
        let (name, rest) = line.split_once('\t')?;
        let (url, _) = rest.split_once(" (fetch)")?;
        Some(Remote {
            name: name.to_owned(),
            url: url.to_owned(),
            resolved: marks.get(name).map(|it| (*it).to_owned()),
        })
    });
    remotes.take(MAX_REMOTES).collect()
}

/// The repository of a root, or why there is none, as the end of a sentence.
async fn choose(
    remotes: Result<Vec<Remote>, NoOutput>,
    settings: &Github,
    logins: &Logins,
) -> Result<Repository, String> {
    let mut remotes = remotes.map_err(|why| match why {
        NoOutput::NotThere => "git is not installed".to_owned(),
        NoOutput::Failed => "the workspace is no repository of git's".to_owned(),
        NoOutput::Long => "git lists more than is looked through".to_owned(),
        NoOutput::Slow => "git did not answer within 5 s".to_owned(),
    })?;
    remotes.sort_by_key(rank);
    for remote in &remotes {
        let Some((host, path)) = of_remote(&remote.url) else {
            continue;
        };
        let path = match remote.resolved.as_deref() {
            None | Some("base") => path,
            Some(other) => other.to_owned(),
        };
        let repository = match path.split_once('/') {
            Some((owner, name)) => Repository::of(&host, owner, name),
            None => None,
        };
        if let Some(repository) = repository
            && is_known(&host, settings, logins).await
        {
            return Ok(repository);
        }
    }
    let first = remotes
        .first()
        .ok_or("the workspace's repository has no remote")?;
    let place = match of_remote(&first.url) {
        Some((host, _)) => crate::protocol::shortened(&host).into_owned(),
        None => "a place that is no host".to_owned(),
    };
    Err(format!("{} is at {place}", first.name))
}

fn rank(remote: &Remote) -> usize {
    const NAMES: &[&str] = &["upstream", "github", "origin"];
    match remote.resolved {
        Some(_) => 0,
        None => {
            let at = NAMES.iter().position(|name| *name == remote.name);
            at.map_or(NAMES.len() + 1, |at| at + 1)
        }
    }
}

/// Whether a host may be asked at all: one that the user named, never one that only the workspace does.
pub async fn is_known(host: &str, settings: &Github, logins: &Logins) -> bool {
    if !is_host(host) {
        return false;
    }
    host == GITHUB
        || settings
            .hosts
            .keys()
            .any(|name| name.eq_ignore_ascii_case(host))
        || named_host().as_deref() == Some(host)
        || logins.of_gh(host, settings).await.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_come_in_the_order_of_gh() {
        let listed = "fork\tgit@github.com:me/demo.git (fetch)\nfork\tgit@github.com:me/demo.git (push)\n\
            origin\thttps://github.com/o/demo (fetch) [blob:none]\nupstream\tgit://github.com/u/demo (fetch)\n";
        let order = |resolved: &str| {
            let mut remotes = parsed(listed, resolved);
            remotes.sort_by_key(rank);
            let names: Vec<String> = remotes.into_iter().map(|it| it.name).collect();
            names.join(" ")
        };
        assert_eq!(order(""), "upstream origin fork");
        assert_eq!(
            order("remote.fork.gh-resolved base\n"),
            "fork upstream origin"
        );
    }
}
