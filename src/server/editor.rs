//! The editor as a writer: it is asked by `workspace/applyEdit` and believed only when a `didChange` shows the text; nothing is undone behind the user's back.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tower_lsp::ls_types as lsp;
use tower_lsp::ls_types::request::ApplyWorkspaceEdit;

use crate::buffer::{DocumentId, Overlay};
use crate::edit::{Owner, Planned};
use crate::hashline::replace_text::TextPosition;
use crate::protocol::Refusal;
use crate::text::{Text, same_lines};

use super::client::{Client, Expectation};

/// How long the editor has to show what it was asked for.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

/// Why the editor did not do it.
#[derive(Debug)]
pub enum NotApplied {
    /// Its text is another than was planned on.
    MovedOn,
    /// It did not take the edit, though its text is what was planned on.
    Declined,
    /// Nobody knows whether it did.
    Unconfirmed,
    Refused(Refusal),
}

impl NotApplied {
    pub fn in_words(&self) -> String {
        match self {
            NotApplied::MovedOn => "the document is being typed in".to_owned(),
            NotApplied::Declined => "the editor did not take the edit".to_owned(),
            NotApplied::Unconfirmed => "the editor did not show the edit in time".to_owned(),
            NotApplied::Refused(refusal) => refusal.to_string(),
        }
    }
}

impl Client {
    /// Looks at a document that has just changed, at every version as it arrives.
    pub fn meet_expectations(&self, key: &DocumentId) {
        let mut expected = self.expected.lock();
        if expected.is_empty() {
            return;
        }
        let overlay = self.snapshot().overlays.unjudged(key).cloned();
        let waiting = std::mem::take(&mut *expected);
        for expectation in waiting {
            let concerns = expectation.key == *key;
            let met = match &overlay {
                Some(overlay) => same_lines(overlay.text(), &expectation.text),
                None => true,
            };
            match concerns && met {
                // Who no longer waits has dropped the other end.
                true => drop(expectation.found.send(overlay.clone())),
                false if expectation.found.is_closed() => {}
                false => expected.push(expectation),
            }
        }
    }

    fn expect(&self, key: &DocumentId, text: &Text) -> oneshot::Receiver<Option<Arc<Overlay>>> {
        let (found, shown) = oneshot::channel();
        self.expected.lock().push(Expectation {
            key: key.clone(),
            text: text.clone(),
            found,
        });
        shown
    }

    /// Asks the editor for the planned change of a document and waits until it shows; gives the
    /// document as it first did.
    pub async fn apply_in_editor(
        &self,
        overlay: &Arc<Overlay>,
        planned: &Planned,
    ) -> Result<Arc<Overlay>, NotApplied> {
        let key = &overlay.key;
        let shown = self.expect(key, planned.home_text());
        if !self.is_at(overlay) {
            return Err(NotApplied::MovedOn);
        }
        let Some(edit) = self.workspace_edit(overlay, planned) else {
            return Err(NotApplied::Refused(Refusal::Internal));
        };
        let was_clean = self.is_clean(overlay, planned);
        let seen = |overlay: Arc<Overlay>| {
            if was_clean {
                self.unsaved_by_us.lock().insert(key.clone());
            }
            Ok(overlay)
        };
        let limit = tokio::time::sleep(SHOWN_WITHIN);
        let params = lsp::ApplyWorkspaceEditParams { label: None, edit };
        let answer = self.ask::<ApplyWorkspaceEdit>(params);
        tokio::pin!(limit, answer, shown);
        let mut answered = false;
        loop {
            tokio::select! {
                biased;
                found = &mut shown => return match found {
                    Ok(Some(overlay)) => seen(overlay),
                    // It was closed: what is to be edited is the file's text now.
                    Ok(None) | Err(_) => Err(NotApplied::MovedOn),
                },
                response = &mut answer, if !answered => {
                    answered = true;
                    let applied = response.as_ref().is_ok_and(|response| response.applied);
                    if applied {
                        continue;
                    }
                    // It may have been done all the same, and the word of it be here already.
                    if let Ok(Some(overlay)) = shown.try_recv() {
                        return seen(overlay);
                    }
                    return Err(match self.is_at(overlay) {
                        false => NotApplied::MovedOn,
                        true => NotApplied::Declined,
                    });
                }
                () = &mut limit => return Err(NotApplied::Unconfirmed),
            }
        }
    }

    /// Whether the document is still at this version.
    fn is_at(&self, overlay: &Arc<Overlay>) -> bool {
        let now = self.snapshot().overlays;
        let now = now.unjudged(&overlay.key);
        now.is_some_and(|now| now.version == overlay.version && now.text() == overlay.text())
    }

    fn is_clean(&self, overlay: &Arc<Overlay>, planned: &Planned) -> bool {
        match (&planned.live.home, overlay.client_says_dirty()) {
            (_, Some(dirty)) => !dirty,
            (
                Owner::Editor {
                    disk: Some(disk), ..
                },
                None,
            ) => !overlay.is_dirty(disk),
            _ => false,
        }
    }

    fn workspace_edit(&self, overlay: &Overlay, planned: &Planned) -> Option<lsp::WorkspaceEdit> {
        let positions = self.facts().positions;
        let position = |spot: TextPosition| {
            let position = overlay.position(spot.line, spot.column, positions);
            Some(lsp::Position {
                line: u32::try_from(position.line).ok()?,
                character: u32::try_from(position.character).ok()?,
            })
        };
        let mut edits = Vec::new();
        for change in planned.home_changes() {
            edits.push(lsp::OneOf::Left(lsp::TextEdit {
                range: lsp::Range {
                    start: position(change.start)?,
                    end: position(change.end)?,
                },
                new_text: change.text.clone(),
            }));
        }
        let document = lsp::TextDocumentEdit {
            text_document: lsp::OptionalVersionedTextDocumentIdentifier {
                uri: lsp::Uri::from_str(&overlay.uri).ok()?,
                version: Some(overlay.version),
            },
            edits,
        };
        Some(lsp::WorkspaceEdit {
            document_changes: Some(lsp::DocumentChanges::Edits(vec![document])),
            ..lsp::WorkspaceEdit::default()
        })
    }
}
