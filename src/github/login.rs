//! Who we are to a host: the client's login, the environment's, that of `gh`, or none.
//!
//! Of `gh` only the login is used. It is asked without the variables that hold tokens, with which it answers for any host
//! at all: a remote of the workspace would choose where they go.

use std::collections::HashMap;
use std::fmt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::process::Command;
use tokio::time::timeout;

use crate::protocol::settings::Github;

use super::repository::GITHUB;

/// Variables that hold tokens.
pub const TOKEN_VARIABLES: &[&str] = &[
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
];

/// How long a program of the system's may take.
pub const PROGRAM_LIMIT: Duration = Duration::from_secs(5);
/// How long what `gh` said is kept.
const KEPT: Duration = Duration::from_secs(10 * 60);
const MAX_TOKEN: usize = 4096;
/// Hosts whose logins are remembered.
const MAX_HOSTS: usize = 64;

/// A secret. It is printed nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// `None` for what cannot be sent as one.
    pub fn new(written: &str) -> Option<Token> {
        let token = written.trim();
        let is_it = !token.is_empty()
            && token.len() <= MAX_TOKEN
            && token.bytes().all(|c| c.is_ascii_graphic());
        if !is_it {
            return None;
        }
        keep_out_of_cores();
        Some(Token(token.to_owned()))
    }

    pub(super) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("[token]")
    }
}

/// What this process holds is from now on in no core, and no other process of the user reads it.
fn keep_out_of_cores() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
                tracing::warn!(%error, "cores are not turned off");
            }
        });
    }
}

/// From where a login is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginSource {
    Client,
    Env,
    Gh,
    None,
}

impl LoginSource {
    pub fn name(self) -> &'static str {
        match self {
            LoginSource::Client => "client",
            LoginSource::Env => "env",
            LoginSource::Gh => "gh",
            LoginSource::None => "none",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub token: Option<Token>,
    pub source: LoginSource,
}

impl Login {
    /// As whom rows are kept: the host, and what tells its logins apart.
    pub fn account(&self, host: &str) -> String {
        let Some(token) = &self.token else {
            return format!("{host}:-");
        };
        let mut hash = Sha256::new();
        hash.update(host.as_bytes());
        hash.update([0]);
        hash.update(token.secret().as_bytes());
        let digits: String = hash
            .finalize()
            .iter()
            .take(8)
            .map(|it| format!("{it:02x}"))
            .collect();
        format!("{host}:{digits}")
    }
}

/// Why the client is asked for a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Missing,
    Refused,
}

/// Who may have logins of the user's: the client.
pub trait Credentials: Send + Sync {
    /// Whether it says that it has some.
    fn offers(&self) -> bool;

    fn ask(&self, host: String, reason: Reason) -> BoxFuture<'_, Option<Token>>;
}

/// The logins that are remembered.
#[derive(Debug, Default)]
pub struct Logins {
    of_client: Mutex<HashMap<String, Option<Token>>>,
    of_gh: Mutex<HashMap<String, (Instant, Option<Token>)>>,
}

impl Logins {
    /// The login for a host that is known.
    pub async fn login(
        &self,
        host: &str,
        settings: &Github,
        credentials: &dyn Credentials,
    ) -> Login {
        let found = |source| {
            move |token| Login {
                token: Some(token),
                source,
            }
        };
        if let Some(token) = self.of_client(host, credentials).await {
            return found(LoginSource::Client)(token);
        }
        if let Some(token) = of_environment(host, settings) {
            return found(LoginSource::Env)(token);
        }
        match self.of_gh(host).await {
            Some(token) => found(LoginSource::Gh)(token),
            None => Login {
                token: None,
                source: LoginSource::None,
            },
        }
    }

    async fn of_client(&self, host: &str, credentials: &dyn Credentials) -> Option<Token> {
        if !credentials.offers() {
            return None;
        }
        if let Some(known) = self.of_client.lock().get(host) {
            return known.clone();
        }
        let token = credentials.ask(host.to_owned(), Reason::Missing).await;
        self.remember(host, token.clone());
        token
    }

    /// The login was refused: the client is asked once more. `None` where it has no other.
    pub async fn after_refusal(
        &self,
        host: &str,
        refused: &Login,
        credentials: &dyn Credentials,
    ) -> Option<Login> {
        self.of_gh.lock().remove(host);
        if refused.source != LoginSource::Client {
            return None;
        }
        let token = credentials.ask(host.to_owned(), Reason::Refused).await;
        self.remember(host, token.clone());
        let is_other = token.is_some() && token != refused.token;
        is_other.then_some(Login {
            token,
            source: LoginSource::Client,
        })
    }

    fn remember(&self, host: &str, token: Option<Token>) {
        let mut known = self.of_client.lock();
        if known.len() >= MAX_HOSTS {
            known.clear();
        }
        known.insert(host.to_owned(), token);
    }

    /// What the client said is forgotten: it may say otherwise now.
    pub fn forget_client(&self) {
        self.of_client.lock().clear();
    }

    /// The login that `gh` has for a host.
    pub async fn of_gh(&self, host: &str) -> Option<Token> {
        if let Some((at, token)) = self.of_gh.lock().get(host)
            && at.elapsed() < KEPT
        {
            return token.clone();
        }
        let mut command = Command::new("gh");
        command.args(["auth", "token", "--hostname", host]);
        let output = run(command).await.ok();
        let token = output.and_then(|output| Token::new(&output));
        let mut known = self.of_gh.lock();
        if known.len() >= MAX_HOSTS {
            known.clear();
        }
        known.insert(host.to_owned(), (Instant::now(), token.clone()));
        token
    }
}

/// The token that the environment has for a host.
fn of_environment(host: &str, settings: &Github) -> Option<Token> {
    let variable = |name: &str| std::env::var(name).ok().and_then(|it| Token::new(&it));
    let mut hosts = settings.hosts.iter();
    let named = hosts.find(|(name, _)| name.eq_ignore_ascii_case(host));
    let named = named.and_then(|(_, it)| it.token_env.as_deref());
    if let Some(token) = named.and_then(variable) {
        return Some(token);
    }
    let of_host = named_host();
    let names: &[&str] = match of_host.as_deref() == Some(host) {
        _ if host == GITHUB => &["GH_TOKEN", "GITHUB_TOKEN"],
        true if host.ends_with(".ghe.com") => &["GH_TOKEN", "GITHUB_TOKEN"],
        true => &["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
        false => &[],
    };
    names.iter().find_map(|name| variable(name))
}

/// The host that `GH_HOST` names.
pub fn named_host() -> Option<String> {
    let host = std::env::var("GH_HOST").ok()?;
    super::repository::is_host(&host).then(|| host.to_ascii_lowercase())
}

/// Why a program gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoOutput {
    NotThere,
    Failed,
    Slow,
}

/// What a program of the system's prints, if it ends well and soon. It starts in no folder of the workspace, and sees no
/// token that this process has.
pub async fn run(mut command: Command) -> Result<String, NoOutput> {
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command.stderr(Stdio::null()).kill_on_drop(true);
    for name in TOKEN_VARIABLES {
        command.env_remove(name);
    }
    match timeout(PROGRAM_LIMIT, command.output()).await {
        Err(_) => Err(NoOutput::Slow),
        Ok(Err(_)) => Err(NoOutput::NotThere),
        Ok(Ok(output)) if !output.status.success() => Err(NoOutput::Failed),
        Ok(Ok(output)) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_printed_nowhere_and_tells_accounts_apart() {
        let login = |token: &str| Login {
            token: Token::new(token),
            source: LoginSource::Env,
        };
        let one = login("ghp_secret");
        assert!(!format!("{one:?}").contains("secret"));
        assert_eq!(one.account("github.com").len(), "github.com:".len() + 16);
        assert_ne!(
            one.account("github.com"),
            login("ghp_other").account("github.com")
        );
        assert_ne!(one.account("github.com"), one.account("ghe.example.com"));
        let nobody = Login {
            token: None,
            source: LoginSource::None,
        };
        assert_eq!(nobody.account("github.com"), "github.com:-");
        assert_eq!(Token::new("two\nlines"), None);
    }
}
