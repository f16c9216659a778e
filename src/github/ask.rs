//! What can be asked of GitHub, as an address says it.

use super::repository::Repository;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GithubAsk {
    /// `None`: that of the workspace.
    pub repository: Option<Repository>,
    pub what: What,
    /// GitHub is asked now, whatever is kept.
    pub is_fresh: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum What {
    Item(ItemAsk),
    List(ListAsk),
}

/// An issue, a pull request, or the changes of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemAsk {
    pub kind: ItemKind,
    pub number: u64,
    /// Comments and reviews, too.
    pub comments: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Issue,
    Pull,
    Diff,
}

impl ItemKind {
    /// As the cache names it.
    pub fn name(self) -> &'static str {
        match self {
            ItemKind::Issue => "issue",
            ItemKind::Pull => "pr",
            ItemKind::Diff => "pr-diff",
        }
    }
}

/// Issues or pull requests, one page of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListAsk {
    pub pulls: bool,
    pub state: ListState,
    pub limit: u64,
    /// One of GitHub's pages of 100, from 1 on.
    pub page: u64,
    pub author: Option<String>,
    pub labels: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ListState {
    #[default]
    Open,
    Closed,
    All,
    Merged,
}

impl ListState {
    pub fn name(self) -> &'static str {
        match self {
            ListState::Open => "open",
            ListState::Closed => "closed",
            ListState::All => "all",
            ListState::Merged => "merged",
        }
    }
}
