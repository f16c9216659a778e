//! Access to the workspace folders and nothing else, for what nobody but the workspace asks to be read.

use std::sync::Arc;

use crate::protocol::settings::Outside;

use super::super::resolve::Scope;
use super::super::roots::Roots;

impl Scope {
    /// The same without what the settings allow besides the workspace folders: a link that leads out
    /// of them is refused.
    pub fn of_roots_alone(&self) -> Scope {
        let mut scope = self.clone();
        scope.access.additional = Arc::new(Roots::new(Vec::new()));
        scope.access.outside = Outside::Deny;
        scope.access.folders = Arc::default();
        scope
    }
}
