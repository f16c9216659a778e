//! What a worker of the kind `syntax` is asked for, as the daemon asks it, and whether its answer can be one.

use std::io::Read;
use std::sync::Arc;

use quick_cache::sync::Cache as Bounded;

use crate::hashline::{BlockAt, NoBlock, SyntaxErrors};
use crate::outline::{Definition, Outline, Rules};
use crate::protocol::read::LineSpan;
use crate::protocol::status::WorkersOfKind;
use crate::syntax::Language;
use crate::task::{Stopped, Work};
use crate::text::Text;
use crate::worker::{Choice, Death, Input, Stop, WorkerCall, WorkerLimits, Workers};

use super::answers;
use super::messages::{Ask, StructureRequest, StructureResponse};

/// Larger texts are not parsed (seed 000, guards).
const MAX_BYTES: usize = 2 * 1024 * 1024;
const MAX_LINES: usize = 20_000;

/// Workers at a time, where there are as many cores.
const MAX_WORKERS: usize = 4;

/// Texts that are remembered because no parser comes to an end with them.
const HOPELESS: usize = 1024;

/// A text in some language.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// Tells one document from another: the worker that had it last has its tree.
    pub document: u64,
    pub text: &'a Text,
    /// 128-bit hash of the normalised text.
    pub content: u128,
    pub language: &'static Language,
}

impl Code<'_> {
    /// Whether it is small enough to be parsed at all.
    pub fn may_be_parsed(&self) -> bool {
        self.text.len_bytes() <= MAX_BYTES && self.text.len_lines() <= MAX_LINES
    }
}

/// Why there is no structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoStructure {
    /// Nobody waits for it any more.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// It took more than its processor time, or ended its worker.
    #[error("the {0} parser did not finish on this text")]
    NotFinished(&'static str),
    #[error("every parser is at work; ask again in a moment")]
    Busy,
    #[error("no parser can be started")]
    NoParser,
    /// Nobody tries.
    #[error("the file has more than {MAX_LINES} lines or 2 MiB")]
    TooLarge,
    #[error("nothing in this {0} file folds")]
    Nothing(&'static str),
}

/// A look for errors that is under way.
#[derive(Debug)]
pub struct PendingErrors(WorkerCall);

/// The parsers of one engine.
#[derive(Debug)]
pub struct Parsers {
    workers: Arc<Workers>,
    /// Texts by their hash and language whose parse ended a worker or took too long. It would
    /// again, so they are not tried again in this process.
    hopeless: Bounded<(u128, &'static str), ()>,
}

impl Parsers {
    pub fn new(limits: WorkerLimits) -> Parsers {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Parsers {
            workers: Arc::new(Workers::new("syntax", cores.min(MAX_WORKERS), limits)),
            hopeless: Bounded::new(HOPELESS),
        }
    }

    pub fn status(&self) -> WorkersOfKind {
        self.workers.status()
    }

    /// The text with its long parts folded; `None` where nothing is worth folding. Blocking, as all
    /// of these are: for the limits of a job of the kind `syntax` at most.
    ///
    /// # Errors
    ///
    /// `NoStructure` where there is none to be had.
    pub fn outline(
        &self,
        code: &Code,
        rules: Rules,
        work: &Work,
    ) -> Result<Option<Outline>, NoStructure> {
        if !rules.are_for(code.language) {
            return Ok(None);
        }
        let ask = Ask::Outline {
            min_body_lines: rules.min_body_lines,
            prose: rules.prose,
        };
        self.ask(code, ask, work, |response, body| {
            let folding = answers::folding(response, body)?;
            if !folding.has_structure() {
                return Some(None);
            }
            let outline = Outline::new(code.language.name(), folding, code.text);
            outline.ok().map(Some)
        })
    }

    /// What the text defines.
    ///
    /// # Errors
    ///
    /// `NoStructure` where nobody can tell.
    pub fn definitions(&self, code: &Code, work: &Work) -> Result<Vec<Definition>, NoStructure> {
        self.ask(code, Ask::Definitions, work, |response, body| {
            answers::definitions(response, body, code.text)
        })
    }

    /// Where the text does not parse.
    ///
    /// # Errors
    ///
    /// `NoStructure` where nobody can tell.
    pub fn errors(&self, code: &Code, work: &Work) -> Result<SyntaxErrors, NoStructure> {
        self.ask(code, Ask::Errors, work, |response, _| {
            answers::errors(response, code.text)
        })
    }

    /// Has a worker look for errors; `None` where none is free, or there is no hope.
    pub fn begin_errors(&self, code: &Code, work: &Work) -> Option<PendingErrors> {
        if self.is_hopeless(code) || !self.workers.has_place() {
            return None;
        }
        let open = || Ok(Box::new(code.text.reader()) as Box<dyn Read + '_>);
        let input = Input {
            bytes: code.text.len_bytes() as u64,
            open: &open,
        };
        let choice = Choice::Last(code.document);
        let request = request(code, Ask::Errors);
        let call = self.workers.begin(&request, &input, choice, work);
        call.ok().map(PendingErrors)
    }

    /// The errors that were asked for; as [`Parsers::errors`].
    ///
    /// # Errors
    ///
    /// `NoStructure` where nobody can tell.
    pub fn finish_errors(
        &self,
        pending: PendingErrors,
        code: &Code,
        work: &Work,
    ) -> Result<SyntaxErrors, NoStructure> {
        let PendingErrors(mut call) = pending;
        call.set_work(work);
        match call.answer::<StructureResponse>() {
            Ok(answer) => self.checked(code, call, answer, |response, _| {
                answers::errors(response, code.text)
            }),
            Err(Stop::Died(Death::Retired)) => {
                drop(call);
                self.errors(code, work)
            }
            Err(stop) => Err(self.failed(code, stop)),
        }
    }

    /// The blocks at some lines of the text, as many as are asked for.
    ///
    /// # Errors
    ///
    /// `NoStructure` where nobody can tell.
    pub fn blocks(
        &self,
        code: &Code,
        asked: &[BlockAt],
        work: &Work,
    ) -> Result<Vec<Result<LineSpan, NoBlock>>, NoStructure> {
        self.ask(code, Ask::Blocks(asked.to_vec()), work, |response, _| {
            answers::blocks(response, asked.len(), code.text)
        })
    }

    fn ask<T>(
        &self,
        code: &Code,
        ask: Ask,
        work: &Work,
        read: impl FnOnce(StructureResponse, &str) -> Option<T>,
    ) -> Result<T, NoStructure> {
        if self.is_hopeless(code) {
            return Err(NoStructure::NotFinished(code.language.title()));
        }
        let open = || Ok(Box::new(code.text.reader()) as Box<dyn Read + '_>);
        let input = Input {
            bytes: code.text.len_bytes() as u64,
            open: &open,
        };
        let choice = Choice::Last(code.document);
        let called = self.workers.call(&request(code, ask), &input, choice, work);
        let (call, response, body) = called.map_err(|stop| self.failed(code, stop))?;
        self.checked(code, call, (response, body), read)
    }

    /// The answer, if it makes sense; if not, its worker is done with.
    fn checked<T>(
        &self,
        code: &Code,
        mut call: WorkerCall,
        (response, body): (StructureResponse, Vec<u8>),
        read: impl FnOnce(StructureResponse, &str) -> Option<T>,
    ) -> Result<T, NoStructure> {
        if response == StructureResponse::NotFinished {
            return Err(self.no_hope(code));
        }
        let body = std::str::from_utf8(&body).ok();
        match body.and_then(|body| read(response, body)) {
            Some(answer) => Ok(answer),
            None => Err(self.failed(code, call.nonsense())),
        }
    }

    fn failed(&self, code: &Code, stop: Stop) -> NoStructure {
        tracing::debug!(language = code.language.name(), "no structure: {stop}");
        match stop {
            Stop::Stopped(stopped) => NoStructure::Stopped(stopped),
            Stop::Busy => NoStructure::Busy,
            Stop::Start(_) => NoStructure::NoParser,
            // It crashed or spun, which the same text would have it do again. What somebody else
            // killed or stopped would not.
            Stop::Died(Death::Signal(signal)) if signal != libc::SIGKILL => self.no_hope(code),
            Stop::Died(_) | Stop::Cpu(_) | Stop::Wall(_) | Stop::Input(_) => {
                NoStructure::NotFinished(code.language.title())
            }
        }
    }

    /// Remembers that this text is not to be parsed.
    fn no_hope(&self, code: &Code) -> NoStructure {
        self.hopeless.insert(key(code), ());
        NoStructure::NotFinished(code.language.title())
    }

    fn is_hopeless(&self, code: &Code) -> bool {
        self.hopeless.get(&key(code)).is_some()
    }
}

fn key(code: &Code) -> (u128, &'static str) {
    (code.content, code.language.name())
}

fn request(code: &Code, ask: Ask) -> StructureRequest {
    StructureRequest {
        language: code.language.name().to_owned(),
        document: code.document,
        content: [(code.content >> 64) as u64, code.content as u64],
        ask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::named;

    #[test]
    fn long_texts_are_not_parsed() {
        let may_be_parsed = |text: &str| {
            let code = Code {
                document: 1,
                text: &Text::new(text),
                content: 1,
                language: named("javascript").expect("a language"),
            };
            code.may_be_parsed()
        };
        assert!(may_be_parsed(&"f();\n".repeat(20_000)));
        assert!(!may_be_parsed(&"f();\n".repeat(20_001)));
        assert!(!may_be_parsed(&format!("f({});\n", " ".repeat(2 << 20))));
    }
}
