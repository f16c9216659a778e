//! What a read lacks that is not on this machine, and what was got of it: one case for each way to get something (`server::obtain`).

use std::sync::Arc;

use crate::github::{GithubAnswer, GithubAsk};
use crate::mcp_client::{Catalogues, McpError};
use crate::protocol::Refusal;

use super::source::internal::resource::Resource;
use super::source::web::{ObtainedPage, PageLacking};

/// How far a stage of a read came.
#[derive(Debug)]
pub enum StageResult<T> {
    Ready(T),
    /// This has to be obtained first; then the stage begins anew.
    Lacks(Lacking),
}

/// What a read lacks.
#[derive(Debug, Clone, PartialEq)]
pub enum Lacking {
    /// A web page, or something besides it.
    Page(PageLacking),
    /// What the client has of this address.
    Client(String),
    /// What MCP servers have: the one of that name, or all.
    Catalogues(Option<String>),
    /// A resource of an MCP server.
    McpResource { server: String, uri: String },
    /// What GitHub has.
    Github(GithubAsk),
}

/// What was got so far.
#[derive(Debug, Clone)]
pub enum Obtained {
    Page(Box<ObtainedPage>),
    Resources(Box<ObtainedResources>),
}

/// Answers of the client and of MCP servers. Each is asked for once.
#[derive(Debug, Clone, Default)]
pub struct ObtainedResources(Vec<Arc<Got>>);

/// One answer, with what was asked for.
#[derive(Debug)]
pub enum Got {
    OfClient(String, ClientAnswer),
    Catalogues(Option<String>, Catalogues),
    OfServer(String, String, Result<Arc<Resource>, McpError>),
    OfGithub(GithubAsk, Result<Box<GithubAnswer>, Refusal>),
}

/// What the client said to an address.
#[derive(Debug, Clone)]
pub enum ClientAnswer {
    Given(Arc<Resource>),
    /// It is not the client's.
    NotItsOwn,
    /// It is the client's, and there is none.
    Nothing,
    Refused(Refusal),
}

impl Obtained {
    /// The web page.
    pub fn page(&self) -> Option<&ObtainedPage> {
        match self {
            Obtained::Page(page) => Some(page),
            Obtained::Resources(_) => None,
        }
    }

    pub fn resources(&self) -> Option<&ObtainedResources> {
        match self {
            Obtained::Resources(resources) => Some(resources),
            Obtained::Page(_) => None,
        }
    }
}

impl ObtainedResources {
    pub fn add(&mut self, got: Got) {
        self.0.push(Arc::new(got));
    }

    pub fn of_client(&self, uri: &str) -> Option<&ClientAnswer> {
        self.0.iter().find_map(|got| match &**got {
            Got::OfClient(of, answer) if of == uri => Some(answer),
            _ => None,
        })
    }

    /// What was listed, by the server of that name or by all.
    pub fn catalogues(&self, of: Option<&str>) -> Option<&Catalogues> {
        self.0.iter().find_map(|got| match &**got {
            Got::Catalogues(it, catalogues) if it.as_deref() == of => Some(catalogues),
            _ => None,
        })
    }

    pub fn of_github(&self, ask: &GithubAsk) -> Option<&Result<Box<GithubAnswer>, Refusal>> {
        self.0.iter().find_map(|got| match &**got {
            Got::OfGithub(of, answer) if of == ask => Some(answer),
            _ => None,
        })
    }

    pub fn of_mcp(&self, server: &str, uri: &str) -> Option<&Result<Arc<Resource>, McpError>> {
        self.0.iter().find_map(|got| match &**got {
            Got::OfServer(of, it, answer) if of == server && it == uri => Some(answer),
            _ => None,
        })
    }
}
