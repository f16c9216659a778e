//! One search as it was asked for; nothing is looked for here.

use serde_json::Value;

use crate::hashline::Tag;
use crate::protocol::params::Fields;
use crate::protocol::search::SearchParameters;
use crate::protocol::tools::Edits;
use crate::protocol::typed;
use crate::protocol::{Refusal, Settings};
use crate::search::Matching;
use crate::view::dialect::{self, Dialect, Request};
use crate::view::window::Limits;
use crate::view::{Budget, Selector, Target};

use super::super::ask::{Ask, BudgetParams, is_resolving, session_name};
use super::super::scheme;

/// Rows of an answer for which no budget says how many.
const ROWS: u64 = 200;

/// Rows on each side of a match at most.
const MAX_CONTEXT: u64 = 100;

/// Globs of one search.
const MAX_GLOBS: usize = 64;

/// One search as it was asked for.
#[derive(Debug, Clone)]
pub struct SearchAsk {
    pub session: String,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) pattern: String,
    pub(super) matching: Matching,
    /// Where is searched; `None` for all workspace folders.
    pub(super) path: Option<String>,
    pub(super) globs: Vec<String>,
    pub(super) context: u64,
    /// Only how many matches there are in each file.
    pub(super) counts: bool,
    pub(super) after: Option<After>,
    pub(super) budget: Budget,
    /// Characters of the whole text of the answer.
    pub(super) chars: Option<u64>,
    /// After which a row is cut.
    pub(super) columns: usize,
    /// Whether snapshots are recorded and headers shown.
    editable: bool,
    is_resolving: bool,
}

/// Where an earlier answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    pub(super) path: String,
    /// The line, of a file that was not shown to its end, and the tag that its text had.
    pub(super) line: Option<(u64, Option<Tag>)>,
}

impl After {
    /// Reads `PATH#TAG:LINE`, `PATH:LINE`, and `PATH` for all of a file.
    fn parse(written: &str) -> Result<After, Refusal> {
        let text = written.trim();
        let text = text.strip_prefix('¶').unwrap_or(text);
        let (path, line) = match text.rsplit_once(':') {
            Some((path, line)) => match line.parse::<u64>() {
                Ok(line) => (path, Some(line)),
                Err(_) => (text, None),
            },
            None => (text, None),
        };
        let tagged = path.rsplit_once('#').and_then(|(path, tag)| {
            let tag: Tag = tag.parse().ok()?;
            line.map(|line| (path, line, tag))
        });
        let (path, line) = match tagged {
            Some((path, line, tag)) => (path, Some((line, Some(tag)))),
            None => (path, line.map(|line| (line, None))),
        };
        let path = serde_json::from_str(path).unwrap_or_else(|_| path.to_owned());
        match path.is_empty() {
            true => Err(Refusal::bad_params(
                "after",
                "'after' is copied from the last line of an answer: PATH#TAG:LINE.",
            )),
            false => Ok(After { path, line }),
        }
    }

    /// As an answer gives it.
    pub(super) fn written(path: &str, line: Option<(u64, Option<&str>)>) -> String {
        let quoted = match line {
            // What stands behind its colon would be taken for a line.
            None => path.contains(':'),
            Some(_) => false,
        };
        let path = match quoted {
            true => Value::from(path).to_string(),
            false => crate::view::in_header(path).into_owned(),
        };
        match line {
            None => path,
            Some((line, None)) => format!("{path}:{line}"),
            Some((line, Some(tag))) => format!("{path}#{tag}:{line}"),
        }
    }
}

impl SearchAsk {
    /// Parses the parameters of `agent/search`. Errors name the parameter at fault.
    pub fn parse(params: &Value, session: &str, settings: &Settings) -> Result<SearchAsk, Refusal> {
        let fields = Fields::of(params, "")?;
        let dialect = fields.string("dialect")?.unwrap_or(&settings.read.dialect);
        let parameters: SearchParameters = typed::parse(fields)?;
        let globs = parameters.glob.unwrap_or_default().0;
        if globs.len() > MAX_GLOBS {
            let message = format!("'glob' may hold {MAX_GLOBS} patterns at most.");
            return Err(Refusal::bad_params("glob", message));
        }
        let context = parameters.context.map_or(0, |context| context.count());
        let after = parameters.after.as_deref().map(After::parse).transpose()?;
        let budget = BudgetParams::parse(fields)?;
        let is = |flag: Option<bool>| flag.unwrap_or(false);
        Ok(SearchAsk {
            session: session_name(fields, session)?,
            dialect: dialect::by_name(dialect)?,
            pattern: parameters.pattern,
            matching: Matching {
                literal: is(parameters.literal),
                ignore_case: is(parameters.ignore_case),
                word: is(parameters.word),
                multiline: is(parameters.multiline),
            },
            path: parameters.path.map(|path| path.0),
            globs,
            context: context.min(MAX_CONTEXT),
            counts: is(parameters.count),
            after,
            budget: budget.over(Budget {
                lines: ROWS,
                ..Budget::DEFAULT
            }),
            chars: budget.chars,
            columns: settings.read.max_columns,
            editable: settings.edit.enabled,
            is_resolving: is_resolving(fields)?,
        })
    }

    /// Where is searched, as the log may have it.
    pub fn logged_path(&self) -> Option<String> {
        self.path.as_ref().map(|_| self.read().logged_path())
    }

    /// Whether it can be of nothing but what was put away for its session.
    pub fn is_of_store(&self) -> bool {
        self.path.as_deref().is_some_and(scheme::is_of_store)
    }

    /// Whether its rows stand under headers by which edits name them.
    pub(super) fn has_headers(&self) -> bool {
        self.editable && self.dialect.edits() == Edits::ByLine
    }

    /// Whether what is shown is recorded.
    pub(super) fn is_editable(&self) -> bool {
        self.editable
    }

    /// The read of where is searched.
    pub(super) fn read(&self) -> Ask {
        let path = self.path.clone().unwrap_or_else(|| ".".to_owned());
        let target = Target::Literal(path, Selector::default());
        Ask {
            session: self.session.clone(),
            dialect: self.dialect,
            request: Request::new(target, Limits::ONE_LINE),
            budget: BudgetParams::default(),
            shares_budget: false,
            encoding: None,
            display_content: false,
            documents_as_text: true,
            editable: self.editable,
            tells_title: false,
            progress: None,
            is_resolving: self.is_resolving,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_gives_leads_back() {
        let tag = Some(Tag(0x09C2));
        let places = [
            ("src/walk.rs", Some((88, tag))),
            ("src/walk.rs", Some((88, None))),
            ("src/walk.rs", None),
            ("odd:7", None),
            ("odd:7", Some((8, tag))),
            ("a#b#0A1B", Some((1, tag))),
            (" a\"\n", Some((1, tag))),
        ];
        for (path, line) in places {
            let text = tag.map(|tag| tag.to_string());
            let written = line.map(|(line, tag)| (line, tag.and(text.as_deref())));
            let written = After::written(path, written);
            let path = path.to_owned();
            assert_eq!(
                After::parse(&written),
                Ok(After { path, line }),
                "{written}"
            );
        }
        assert_eq!(
            After::written("src/walk.rs", Some((88, Some("09C2")))),
            "src/walk.rs#09C2:88"
        );
        assert!(After::parse("").is_err());
    }
}
