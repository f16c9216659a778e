//! The parameters of `agent/edit`; a patch is parsed here and never looked at again as text.

use serde_json::Value;

use crate::hashline::structured::parse_files;
use crate::hashline::{self, Faulty, Section};
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::read::{BudgetParams, session_name};

use super::Fault;

/// One call of `agent/edit`.
#[derive(Debug, Clone)]
pub struct EditRequest {
    pub session: String,
    pub patch: Patch,
    pub dry_run: bool,
    /// Characters of the answer.
    pub chars: usize,
}

/// What is to be changed, as it was sent.
#[derive(Debug, Clone)]
pub enum Patch {
    Text(String),
    Files(Vec<Value>),
}

impl EditRequest {
    /// Reads everything but the patch itself, which can be long.
    pub fn parse(params: &Value, session: &str) -> Result<EditRequest, Refusal> {
        let fields = Fields::of(params, "")?;
        let patch = match (fields.string("patch")?, fields.list("files")?) {
            (Some(text), None) => Patch::Text(text.to_owned()),
            (None, Some(files)) => Patch::Files(files.to_vec()),
            (Some(_), Some(_)) => {
                let message = "Give either 'patch' or 'files', not both.";
                return Err(Refusal::bad_params("patch", message));
            }
            (None, None) => {
                let message = "'patch' is missing; it must be hashline text: a header ¶PATH#TAG from a read, then ops such as 'replace 2..3:' with rows that start with +. Or give 'files', its structured form.";
                return Err(Refusal::bad_params("patch", message));
            }
        };
        Ok(EditRequest {
            session: session_name(fields, session)?,
            patch,
            dry_run: flag(fields, "dryRun")?,
            chars: answer_chars(fields)?,
        })
    }
}

/// `budget.chars`: no limit where it is absent.
pub(super) fn answer_chars(fields: Fields) -> Result<usize, Refusal> {
    let chars = BudgetParams::parse(fields)?.chars;
    Ok(chars.map_or(usize::MAX, |chars| {
        usize::try_from(chars).unwrap_or(usize::MAX)
    }))
}

/// A parameter that is true or false, and false where it is absent.
pub fn flag(fields: Fields, key: &str) -> Result<bool, Refusal> {
    match fields.get(key) {
        None | Some(Value::Bool(false)) => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(_) => {
            let message = format!("'{key}' must be true or false.");
            Err(Refusal::bad_params(key, message))
        }
    }
}

impl Patch {
    /// Whether a text stands anywhere in it, in whatever case.
    pub fn mentions(&self, text: &str) -> bool {
        let has = |within: &str| {
            let mut windows = within.as_bytes().windows(text.len());
            windows.any(|it| it.eq_ignore_ascii_case(text.as_bytes()))
        };
        match self {
            Patch::Text(patch) => has(patch),
            Patch::Files(files) => files.iter().any(|file| {
                let edits = file["edits"].as_array().into_iter().flatten();
                let paths = edits.map(|edit| &edit["to"]).chain([&file["path"]]);
                paths.filter_map(Value::as_str).any(has)
            }),
        }
    }

    /// Its sections, in the order written, as far as they can be meant, and what is wrong with
    /// the rest.
    pub fn sections(&self) -> (Vec<Section>, Vec<Fault>) {
        match self {
            Patch::Text(text) => {
                let (patch, faults) = Faulty::parts(hashline::Patch::parse(text));
                let faults = faults.into_iter().map(Fault::from);
                (patch.sections, faults.collect())
            }
            Patch::Files(files) => {
                let (sections, faults) = Faulty::parts(parse_files(files));
                (sections, faults.into_iter().map(Fault::from).collect())
            }
        }
    }
}
