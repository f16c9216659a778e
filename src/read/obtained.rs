//! What a read lacks that is not on this machine, and what was got of it: one case for each way to get something (`server::obtain`).

use super::source::web::{ObtainedPage, PageLacking};

/// What a read lacks.
#[derive(Debug, Clone, PartialEq)]
pub enum Lacking {
    /// A web page, or something besides it.
    Page(PageLacking),
}

/// What was got so far.
#[derive(Debug, Clone)]
pub enum Obtained {
    Page(Box<ObtainedPage>),
}

impl Obtained {
    /// The web page.
    pub fn page(&self) -> Option<&ObtainedPage> {
        match self {
            Obtained::Page(page) => Some(page),
        }
    }
}
