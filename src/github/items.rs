//! What makes an issue, a pull request or a diff: which requests, and the answers to all of them as they are kept.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::{Api, ApiReply, DIFF, JSON, NextPage, NoReply, RepoAccess};
use super::ask::{ItemAsk, ItemKind};
use super::error::GithubError;

/// Pages of 100 comments that are read.
const COMMENT_PAGES: usize = 10;
/// Of checks.
const CHECK_PAGES: usize = 10;
/// Of the files of a diff.
const FILE_PAGES: usize = 30;

/// The answers to the requests of one item, by request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    pub etags: BTreeMap<String, String>,
    pub bodies: BTreeMap<String, KeptBody>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptBody {
    pub body: Value,
    pub next: NextPage,
}

/// Where the parts of an item are in its answers; what is shown is made of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub main: Value,
    pub comments: Vec<Value>,
    pub reviews: Vec<Value>,
    pub review_comments: Vec<Value>,
    pub check_runs: Vec<Value>,
    pub statuses: Vec<Value>,
    /// The login may not see checks.
    pub checks_hidden: bool,
    /// There are more comments than are read.
    pub has_more: bool,
    /// Of a diff: its text, and the files that have no part in it.
    pub diff: String,
    pub without_patch: usize,
}

/// The requests of one item.
pub struct Requests<'a> {
    /// `None`: what was answered before is gone through again, and nobody is asked.
    pub api: Option<&'a Api>,
    pub access: &'a RepoAccess,
    /// What was answered before.
    pub prior: Option<&'a Answers>,
    gathered: Mutex<Answers>,
}

impl<'a> Requests<'a> {
    pub fn new(
        api: Option<&'a Api>,
        access: &'a RepoAccess,
        prior: Option<&'a Answers>,
    ) -> Requests<'a> {
        Requests {
            api,
            access,
            prior,
            gathered: Mutex::default(),
        }
    }

    /// All answers that were got.
    pub fn into_answers(self) -> Answers {
        self.gathered.into_inner()
    }

    /// Asks for everything of an item.
    pub async fn item(&self, ask: ItemAsk) -> Result<Item, GithubError> {
        match ask.kind {
            ItemKind::Issue => self.issue(ask).await,
            ItemKind::Pull => self.pull(ask).await,
            ItemKind::Diff => self.diff(ask).await,
        }
    }

    /// As an answer is kept: whatever case the repository is written in.
    fn name_of<'r>(&self, request: &'r str) -> &'r str {
        let prefix = self.access.of_repository("");
        match request.split_at_checked(prefix.len()) {
            Some((head, rest)) if head.eq_ignore_ascii_case(&prefix) => rest,
            _ => request,
        }
    }

    async fn one(&self, request: &str, accept: &'static str) -> Result<KeptBody, NoReply> {
        let name = self.name_of(request);
        let prior = self
            .prior
            .and_then(|it| Some((it.etags.get(name)?, it.bodies.get(name)?)));
        let Some(api) = self.api else {
            let kept = self.prior.and_then(|it| it.bodies.get(name));
            // What is not there was refused when it was asked for.
            return kept.cloned().ok_or(NoReply::Status(406, String::new()));
        };
        let etag = prior.map(|(etag, _)| etag.as_str());
        let (kept, etag) = match (api.get(self.access, request, accept, etag).await?, prior) {
            (ApiReply::NotModified, Some((etag, kept))) => (kept.clone(), Some(etag.clone())),
            (ApiReply::NotModified, None) => {
                return Err(NoReply::Error(GithubError::Odd {
                    host: self.access.repository.host.clone(),
                    message: "says that nothing changed since it was never asked".to_owned(),
                }));
            }
            (ApiReply::Whole { body, etag, next }, _) => (KeptBody { body, next }, etag),
        };
        let mut gathered = self.gathered.lock();
        if let Some(etag) = etag {
            gathered.etags.insert(name.to_owned(), etag);
        }
        gathered.bodies.insert(name.to_owned(), kept.clone());
        Ok(kept)
    }

    /// A list through its pages, and whether there are more than are read.
    async fn list(&self, request: String, pages: usize) -> Result<(Vec<Value>, bool), NoReply> {
        self.list_in(request, pages, None).await
    }

    /// The same where each page is an object that has the list under a name.
    async fn list_in(
        &self,
        request: String,
        pages: usize,
        name: Option<&str>,
    ) -> Result<(Vec<Value>, bool), NoReply> {
        let mut all = Vec::new();
        let mut next = NextPage::Request(request);
        for _ in 0..pages {
            let NextPage::Request(request) = &next else {
                break;
            };
            let mut kept = self.one(request, JSON).await?;
            let items = match name {
                Some(name) => kept.body[name].take(),
                None => kept.body,
            };
            if let Value::Array(items) = items {
                all.extend(items);
            }
            next = kept.next;
        }
        Ok((all, next != NextPage::End))
    }

    fn missing(
        &self,
        ask: ItemAsk,
        status: u16,
        said: String,
        instead: Option<String>,
    ) -> GithubError {
        let host = self.access.repository.host.clone();
        if matches!(status, 406 | 422) {
            return GithubError::Refused { host, said };
        }
        let what = match ask.kind {
            ItemKind::Issue => format!("issue {}", ask.number),
            ItemKind::Pull | ItemKind::Diff => format!("pull request {}", ask.number),
        };
        GithubError::NotFound {
            repository: self.access.repository.to_string(),
            what,
            host,
            has_login: self.access.login.token.is_some(),
            instead,
        }
    }

    fn failed(&self, ask: ItemAsk, error: NoReply) -> GithubError {
        match error {
            NoReply::Error(error) => error,
            NoReply::Status(status, said) => self.missing(ask, status, said, None),
        }
    }

    async fn issue(&self, ask: ItemAsk) -> Result<Item, GithubError> {
        let number = ask.number;
        let main = self.access.of_repository(&format!("issues/{number}"));
        let (main, comments) = futures::join!(self.one(&main, JSON), self.comments(ask));
        let main = main.map_err(|error| self.failed(ask, error))?;
        let (comments, has_more) = comments.map_err(|error| self.failed(ask, error))?;
        Ok(Item {
            main: main.body,
            comments,
            has_more,
            ..Item::default()
        })
    }

    async fn comments(&self, ask: ItemAsk) -> Result<(Vec<Value>, bool), NoReply> {
        if !ask.comments {
            return Ok((Vec::new(), false));
        }
        let request = format!("issues/{}/comments?per_page=100", ask.number);
        self.list(self.access.of_repository(&request), COMMENT_PAGES)
            .await
    }

    async fn pull(&self, ask: ItemAsk) -> Result<Item, GithubError> {
        let number = ask.number;
        let main = self.access.of_repository(&format!("pulls/{number}"));
        let main = match self.one(&main, JSON).await {
            Ok(main) => main.body,
            Err(error) => return Err(self.no_pull(ask, error).await),
        };
        let of_pull = |rest: &str| self.access.of_repository(&format!("pulls/{number}/{rest}"));
        let review_comments = async {
            match ask.comments {
                true => {
                    self.list(of_pull("comments?per_page=100"), COMMENT_PAGES)
                        .await
                }
                false => Ok((Vec::new(), false)),
            }
        };
        let (reviews, review_comments, comments, checks) = futures::join!(
            self.list(of_pull("reviews?per_page=100"), COMMENT_PAGES),
            review_comments,
            self.comments(ask),
            self.checks(main["head"]["sha"].as_str().unwrap_or_default()),
        );
        let failed = |error| self.failed(ask, error);
        let (reviews, more_reviews) = reviews.map_err(failed)?;
        let (review_comments, more_of_them) = review_comments.map_err(failed)?;
        let (comments, more_comments) = comments.map_err(failed)?;
        let (check_runs, statuses, checks_hidden) = checks?;
        Ok(Item {
            main,
            comments,
            reviews,
            review_comments,
            check_runs,
            statuses,
            checks_hidden,
            has_more: more_reviews || more_of_them || more_comments,
            ..Item::default()
        })
    }

    /// What has the number of a pull request may be an issue.
    async fn no_pull(&self, ask: ItemAsk, error: NoReply) -> GithubError {
        let (status, said) = match error {
            NoReply::Error(error) => return error,
            NoReply::Status(status, said) => (status, said),
        };
        let issue = self.access.of_repository(&format!("issues/{}", ask.number));
        let is_issue = match self.api {
            Some(api) if status == 404 => api.get(self.access, &issue, JSON, None).await.is_ok(),
            _ => false,
        };
        let instead =
            is_issue.then(|| format!("issue://{}/{}", self.access.repository, ask.number));
        self.missing(ask, status, said, instead)
    }

    /// Runs of checks and statuses of a commit, and whether they are hidden from this login.
    async fn checks(&self, sha: &str) -> Result<(Vec<Value>, Vec<Value>, bool), GithubError> {
        let is_sha = !sha.is_empty() && sha.bytes().all(|c| c.is_ascii_hexdigit());
        if !is_sha {
            return Ok((Vec::new(), Vec::new(), false));
        }
        let of_commit = |rest: &str| self.access.of_repository(&format!("commits/{sha}/{rest}"));
        let (runs, status) = (
            of_commit("check-runs?per_page=100"),
            of_commit("status?per_page=100"),
        );
        let (runs, statuses) = futures::join!(
            self.list_in(runs, CHECK_PAGES, Some("check_runs")),
            self.list_in(status, CHECK_PAGES, Some("statuses")),
        );
        let mut is_hidden = false;
        let mut listed = |answer: Result<(Vec<Value>, bool), NoReply>| match answer {
            Ok((items, _)) => Ok(items),
            Err(NoReply::Status(..) | NoReply::Error(GithubError::Forbidden { .. })) => {
                is_hidden = true;
                Ok(Vec::new())
            }
            Err(NoReply::Error(error)) => Err(error),
        };
        let runs = listed(runs)?;
        let statuses = listed(statuses)?;
        Ok((runs, statuses, is_hidden))
    }

    async fn diff(&self, ask: ItemAsk) -> Result<Item, GithubError> {
        let request = self.access.of_repository(&format!("pulls/{}", ask.number));
        match self.one(&request, DIFF).await {
            Ok(kept) => Ok(Item {
                diff: match kept.body {
                    Value::String(diff) => diff,
                    _ => String::new(),
                },
                ..Item::default()
            }),
            Err(NoReply::Status(406 | 422, _)) => self.diff_of_files(ask).await,
            Err(error) => Err(self.no_pull(ask, error).await),
        }
    }

    /// A diff that is too large for GitHub is put together from its files.
    async fn diff_of_files(&self, ask: ItemAsk) -> Result<Item, GithubError> {
        let request = format!("pulls/{}/files?per_page=100", ask.number);
        let request = self.access.of_repository(&request);
        let (files, has_more) = self
            .list(request, FILE_PAGES)
            .await
            .map_err(|error| self.failed(ask, error))?;
        let mut item = Item {
            has_more,
            ..Item::default()
        };
        for file in &files {
            let has_part = write_part(&mut item.diff, file);
            item.without_patch += usize::from(!has_part);
        }
        Ok(item)
    }
}

/// Writes the part of a diff that is about a file; whether it says all of it.
fn write_part(diff: &mut String, file: &Value) -> bool {
    let text = |name: &str| file[name].as_str().unwrap_or_default();
    let (new, status) = (text("filename"), text("status"));
    let old = match text("previous_filename") {
        "" => new,
        old => old,
    };
    let (before, after) = (quoted("a/", old), quoted("b/", new));
    diff.push_str(&format!("diff --git {before} {after}\n"));
    match status {
        "added" => diff.push_str("new file mode 100644\n"),
        "removed" => diff.push_str("deleted file mode 100644\n"),
        "renamed" | "copied" => {
            let verb = if status == "copied" { "copy" } else { "rename" };
            let (old, new) = (quoted("", old), quoted("", new));
            diff.push_str(&format!("{verb} from {old}\n{verb} to {new}\n"));
        }
        _ => {}
    }
    let Some(patch) = file["patch"].as_str() else {
        return file["changes"].as_u64() == Some(0) && matches!(status, "renamed" | "copied");
    };
    let (before, after) = match status {
        "added" => ("/dev/null".to_owned(), after),
        "removed" => (before, "/dev/null".to_owned()),
        _ => (before, after),
    };
    diff.push_str(&format!("--- {before}\n+++ {after}\n{patch}\n"));
    true
}

/// A name as git writes it in a header, where it would otherwise end its line or its quotes.
fn quoted(prefix: &str, name: &str) -> String {
    let is_plain = |c: char| !c.is_control() && !matches!(c, '"' | '\\');
    if name.chars().all(is_plain) {
        return format!("{prefix}{name}");
    }
    let mut out = format!("\"{prefix}");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
