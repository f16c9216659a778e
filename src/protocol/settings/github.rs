//! The settings `github`: which repository and hosts are meant, and how long answers are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Github {
    /// `false`: nothing of GitHub is read.
    pub enabled: bool,
    /// `[HOST/]OWNER/NAME`: what the short forms mean.
    pub repo: Option<String>,
    /// Hosts that may be asked besides github.com, by their names.
    pub hosts: BTreeMap<String, GithubHost>,
    pub cache: GithubCache,
}

/// A host of GitHub's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GithubHost {
    /// Where its interface is.
    #[serde(default)]
    pub api: Option<String>,
    /// The variable of the environment that holds a token for it.
    #[serde(default)]
    pub token_env: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GithubCache {
    pub enabled: bool,
    /// Up to this age an answer is given as it is kept.
    pub soft_ttl_sec: u64,
    /// Over this age it is not given at all.
    pub hard_ttl_sec: u64,
    /// Between the two: how long a read waits for the new one.
    pub stale_wait_ms: u64,
}

impl GithubCache {
    /// No read waits longer for what it has anyway.
    pub const LONGEST_WAIT_MS: u64 = 20_000;
}

impl Default for Github {
    fn default() -> Self {
        Github {
            enabled: true,
            repo: None,
            hosts: BTreeMap::new(),
            cache: GithubCache::default(),
        }
    }
}

impl Default for GithubCache {
    fn default() -> Self {
        GithubCache {
            enabled: true,
            soft_ttl_sec: 300,
            hard_ttl_sec: 604_800,
            stale_wait_ms: 800,
        }
    }
}
