//! `local://PATH`: the session's scratch files, which are files in every way but their place.
//!
//! Where they lie is known to the scope of whoever reads (`workspace::UrlFolder`), so that edits and
//! writes find them by the same addresses.

use crate::protocol::Refusal;
use crate::workspace::{FileType, InternalUrl, Look, Scope, decoded_file_part, encoded};

use super::artifact::refuse_without_sessions;
use super::{About, Given, GivenFile, InternalAsk, InternalContext, Provider, ProviderFacts};

/// The provider of the scheme.
pub static LOCAL: Local = Local;

/// See the module.
#[derive(Debug)]
pub struct Local;

impl Provider for Local {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "session",
            what: "a scratch file of a session",
            form: "PATH",
            ..ProviderFacts::DEFAULT
        }
    }

    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal> {
        refuse_without_sessions(ask, context)?;
        let path = decoded_file_part(ask.written)?;
        let url = InternalUrl::new("local", &encoded(&path));
        // Without such a folder it would be looked for in the workspace.
        let is_known = context.scope.is_in_url_folder(url.as_str());
        let looked = is_known.then(|| context.scope.look(url.as_str()));
        let found = match looked.transpose()? {
            Some(Look::Here(found)) if !path.ends_with('/') || is_folder(&found.handle) => found,
            _ if path.is_empty() => return Ok(Some(Given::text("No files in local://\n"))),
            _ => return Ok(None),
        };
        Ok(Some(Given::File(Box::new(GivenFile {
            about: About {
                url: Some(InternalUrl::of(&found.display)),
                ..About::default()
            },
            is_editable: context.scope.may_edit(found.handle.real()),
            handle: found.handle,
            scope: None,
            is_spooled: false,
            is_text: false,
            held_up_to: None,
            hold: None,
        }))))
    }

    fn names(&self, context: &InternalContext) -> Vec<String> {
        let scope = context.scope;
        let is_known = scope.is_in_url_folder("local://");
        let Some(Ok(Look::Here(found))) = is_known.then(|| scope.look("local://")) else {
            return Vec::new();
        };
        let behind = scope.directories_behind(&found.handle);
        let all = std::iter::once(&found.handle).chain(&behind);
        let mut names = Vec::new();
        for mut directory in all.filter_map(|handle| scope.list(handle).ok()) {
            let entries = directory.read(MAX_NEAR, context.work);
            let entries = entries.map(|it| it.entries).unwrap_or_default();
            let more = entries.into_iter().map(|entry| entry.name);
            names.extend(more.filter_map(|name| name.into_string().ok()));
        }
        names
    }

    fn instead_of_change(&self, _: &str, _: &Scope) -> String {
        "is a scratch file of a session, and there is none here".to_owned()
    }
}

/// Names that are looked at for near ones.
const MAX_NEAR: usize = 1000;

fn is_folder(handle: &crate::workspace::Handle) -> bool {
    handle.file_type() == FileType::Directory
}
