//! All that is wrong with one edit, gathered over its files and told in one refusal; the first fault never hides another.

use crate::hashline::structured::{Misread, StructuredError};
use crate::hashline::{Origin, PatchError};
use crate::protocol::edit_refusal::{self, LiveFile};
use crate::protocol::{EditRefusal, Refusal, RefusalKind, shortened};

use super::outdated::{RefusalRoom, with_lines};
use super::refuse;

/// Bytes of the faults' own words in one message.
const MAX_WORDS: usize = 16 * 1024;

/// One thing that is wrong, and where it was written.
#[derive(Debug, Clone)]
pub struct Fault {
    pub origin: Origin,
    /// As it was written, or as headers name it.
    pub path: Option<String>,
    /// Complete by itself but for the live lines.
    pub refusal: Refusal,
    /// The reason alone, where the refusal goes on to speak of lines that are given.
    pub reason: Option<String>,
}

impl Fault {
    pub fn new(origin: Origin, path: &str, refusal: Refusal) -> Fault {
        Fault {
            origin,
            path: refusal.path().or(Some(path)).map(str::to_owned),
            refusal,
            reason: None,
        }
    }

    /// A fault, unless the whole request cannot be carried out now: then that is its answer.
    pub fn of(refusal: Refusal, origin: Origin, path: &str) -> Result<Fault, Refusal> {
        match is_of_the_moment(&refusal) {
            true => Err(refusal),
            false => Ok(Fault::new(origin, path, refusal)),
        }
    }

    fn on_the_wire(&self) -> edit_refusal::FaultData {
        edit_refusal::FaultData {
            kind: self.refusal.kind(),
            path: self.path.clone(),
            patch_line: self.origin.patch_line(),
            message: self.refusal.to_string(),
        }
    }

    /// In the words of a refusal that has no other fault: whose file it is, is said by more than
    /// `data`.
    fn alone(&self) -> String {
        let message = self.refusal.to_string();
        let header = match &self.refusal {
            Refusal::Edit(edit) => match edit.as_ref() {
                EditRefusal::PatchSyntax { header, .. } => header.as_ref(),
                _ => None,
            },
            _ => None,
        };
        match (header, &self.path) {
            (Some(header), _) if !message.contains(header.as_str()) => {
                format!("{message} The header is {header}.")
            }
            (None, Some(path)) if !message.contains(path.as_str()) => {
                format!("{message} The file is '{path}'.")
            }
            _ => message,
        }
    }

    fn among_others(&self) -> String {
        let message = self.reason.clone();
        let message = message.unwrap_or_else(|| self.refusal.to_string());
        match &self.path {
            Some(path) => format!("{path}: {message}"),
            None => message,
        }
    }
}

impl From<PatchError> for Fault {
    fn from(error: PatchError) -> Fault {
        Fault {
            origin: error.origin,
            path: error
                .path
                .as_deref()
                .map(|path| shortened(path).into_owned()),
            refusal: refuse::syntax(&error),
            reason: None,
        }
    }
}

impl From<Misread> for Fault {
    fn from(misread: Misread) -> Fault {
        match misread.what {
            StructuredError::Patch(error) => error.into(),
            StructuredError::Params(refusal) => Fault {
                origin: misread.origin,
                path: misread
                    .path
                    .as_deref()
                    .map(|path| shortened(path).into_owned()),
                refusal,
                reason: None,
            },
        }
    }
}

/// Whether a refusal is of this moment or this daemon, and not of what the edit says.
fn is_of_the_moment(refusal: &Refusal) -> bool {
    matches!(
        refusal.kind(),
        RefusalKind::Busy | RefusalKind::Timeout | RefusalKind::Cancelled | RefusalKind::Internal
    )
}

/// The faults of one edit so far, and the live lines that belong to them.
#[derive(Debug)]
pub struct Faults {
    faults: Vec<Fault>,
    files: Vec<LiveFile>,
    pub room: RefusalRoom,
    /// Bytes of the faults' own words.
    words: usize,
}

impl Faults {
    /// For a refusal of at most so many characters.
    pub fn new(faults: Vec<Fault>, chars: usize) -> Faults {
        Faults {
            faults,
            files: Vec::new(),
            room: RefusalRoom::of(chars),
            words: MAX_WORDS.min(chars / 3),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    pub fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Lines of a file in which there are faults.
    pub fn add_lines(&mut self, file: LiveFile) {
        self.files.push(file);
    }

    /// One refusal of everything; `None` where nothing is wrong.
    pub fn refusal(mut self) -> Option<Refusal> {
        self.faults.sort_by_key(|fault| fault.origin.order());
        let first = self.faults.first()?;
        let message = match self.faults.as_slice() {
            [only] => only.alone(),
            several => list(several, self.words),
        };
        let refusal = EditRefusal::Faults {
            message: with_lines(&message, &self.files),
            first: Box::new(first.refusal.clone()),
            faults: self.faults.iter().map(Fault::on_the_wire).collect(),
            retryable: self.faults.iter().all(|fault| fault.refusal.retryable()),
            files: self.files,
        };
        Some(refusal.into())
    }
}

fn list(faults: &[Fault], most: usize) -> String {
    let mut out = format!("{} faults; nothing was written.", faults.len());
    for (at, fault) in faults.iter().enumerate() {
        let item = format!("\n{}. {}", at + 1, fault.among_others());
        if out.len() + item.len() > most {
            let left = faults.len() - at;
            out.push_str(&format!(
                "\n[There is no room here for {left} more; correct these first.]"
            ));
            break;
        }
        out.push_str(&item);
    }
    out
}
