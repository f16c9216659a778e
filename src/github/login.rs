//! Who we are to a host: the client's login, the environment's, that of `gh`, or none.
//!
//! Of `gh` only the login is used. It is asked without the variables that hold tokens, with which it answers for any host
//! at all: a remote of the workspace would choose where they go.

use std::collections::HashMap;
use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
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
/// How long it is not started again where it is missing or hangs.
const WITHOUT_GH: Duration = Duration::from_secs(60);
/// Bytes that a program may print.
const MAX_OUTPUT: u64 = 1024 * 1024;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// What was said when a login was asked for.
#[derive(Debug, Clone)]
struct LoginSaid {
    at: Instant,
    token: Option<Token>,
}

/// Whose turn it is to ask, by who is asked and for which host.
type Turns = HashMap<(LoginSource, String), Arc<tokio::sync::Mutex<()>>>;

/// The logins that are remembered.
#[derive(Debug, Default)]
pub struct Logins {
    of_client: Mutex<HashMap<String, LoginSaid>>,
    of_gh: Mutex<HashMap<String, LoginSaid>>,
    /// When `gh` was found to be missing, or to hang.
    without_gh: Mutex<Option<Instant>>,
    turns: Mutex<Turns>,
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
        match self.of_gh(host, settings).await {
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
        let known = || self.of_client.lock().get(host).cloned();
        if let Some(said) = known() {
            return said.token;
        }
        // Who comes while it is asked takes what it said.
        let turn = self.turn(LoginSource::Client, host);
        let _turn = turn.lock().await;
        if let Some(said) = known() {
            return said.token;
        }
        let token = credentials.ask(host.to_owned(), Reason::Missing).await;
        remember(&self.of_client, host, token.clone());
        token
    }

    /// The login, which was got at `since`, was refused: the client is asked once more, by one of
    /// those who were refused. `None` where it has no other.
    pub async fn after_refusal(
        &self,
        host: &str,
        (refused, since): (&Login, Instant),
        credentials: &dyn Credentials,
    ) -> Option<Login> {
        self.of_gh.lock().remove(host);
        if refused.source != LoginSource::Client {
            return None;
        }
        let turn = self.turn(LoginSource::Client, host);
        let _turn = turn.lock().await;
        let known = self.of_client.lock().get(host).cloned();
        let token = match known.filter(|said| said.at > since) {
            Some(said) => said.token,
            None => {
                let token = credentials.ask(host.to_owned(), Reason::Refused).await;
                remember(&self.of_client, host, token.clone());
                token
            }
        };
        let is_other = token.is_some() && token != refused.token;
        is_other.then_some(Login {
            token,
            source: LoginSource::Client,
        })
    }

    /// What the client said is forgotten: it may say otherwise now.
    pub fn forget_client(&self) {
        self.of_client.lock().clear();
    }

    /// The login that `gh` has for a host.
    pub async fn of_gh(&self, host: &str, settings: &Github) -> Option<Token> {
        let known = || {
            let known = self.of_gh.lock();
            let said = known.get(host).filter(|said| said.at.elapsed() < KEPT);
            said.cloned()
        };
        if let Some(said) = known() {
            return said.token;
        }
        // One process, however many wait for it.
        let turn = self.turn(LoginSource::Gh, host);
        let _turn = turn.lock().await;
        if let Some(said) = known() {
            return said.token;
        }
        let is_given_up = |at: &Instant| at.elapsed() < WITHOUT_GH;
        if self.without_gh.lock().as_ref().is_some_and(is_given_up) {
            return None;
        }
        let mut command = Command::new("gh");
        command.args(["auth", "token", "--hostname", host]);
        let output = run(command, settings).await;
        if let Err(NoOutput::NotThere | NoOutput::Slow) = output {
            *self.without_gh.lock() = Some(Instant::now());
            return None;
        }
        let token = output.ok().and_then(|output| Token::new(&output));
        remember(&self.of_gh, host, token.clone());
        token
    }

    fn turn(&self, of: LoginSource, host: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock();
        if turns.len() >= MAX_HOSTS {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns.entry((of, host.to_owned())).or_default().clone()
    }
}

fn remember(said: &Mutex<HashMap<String, LoginSaid>>, host: &str, token: Option<Token>) {
    let mut said = said.lock();
    if said.len() >= MAX_HOSTS {
        said.clear();
    }
    let at = Instant::now();
    said.insert(host.to_owned(), LoginSaid { at, token });
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
    Long,
}

/// What a program of the system's prints, if it ends well and soon. It starts in no folder of the workspace, and sees no
/// variable that holds a token.
pub async fn run(mut command: Command, settings: &Github) -> Result<String, NoOutput> {
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command.stderr(Stdio::null()).kill_on_drop(true);
    let named = settings.hosts.values();
    let named = named.filter_map(|it| it.token_env.as_deref());
    for name in TOKEN_VARIABLES.iter().copied().chain(named) {
        command.env_remove(name);
    }
    let printed = async {
        let mut child = command.spawn().map_err(|_| NoOutput::NotThere)?;
        let output = child.stdout.take().ok_or(NoOutput::Failed)?;
        let mut text = Vec::new();
        let read = output.take(MAX_OUTPUT).read_to_end(&mut text).await;
        read.map_err(|_| NoOutput::Failed)?;
        if text.len() as u64 == MAX_OUTPUT {
            return Err(NoOutput::Long);
        }
        match child.wait().await {
            Ok(status) if status.success() => Ok(String::from_utf8_lossy(&text).into_owned()),
            _ => Err(NoOutput::Failed),
        }
    };
    let printed = timeout(PROGRAM_LIMIT, printed).await;
    printed.unwrap_or(Err(NoOutput::Slow))
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
