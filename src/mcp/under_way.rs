//! A call of a tool from its arrival to its answer: one future, begun by the thread that reads, carried
//! out by the task threads, and answered by the one that has its outcome, as in `serve`.
//!
//! The protocol's library has no part in it: it starts each handler in a task of its own, in no
//! order, and by its way an answer woke two threads more. What it asks of every request is asked
//! here ([`ResultForm::of`]).

use std::convert::Infallible;
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::{ProgressToken, ProtocolVersion, RequestMetaObject, ResultType};
use serde_json::json;
use tokio::time::{interval_at, sleep_until};
use tower_lsp::jsonrpc::Error;

use crate::protocol::Refusal;
use crate::rpc::Reply;
use crate::task::CancelToken;

use super::ANSWERED_WITHIN;
use super::answer::ToolAnswer;
use super::calls::{CallOutcome, Calls, RestOfCall};
use super::list::ToolKind;

/// How often a call that takes long tells that it is still at work.
const PROGRESS: Duration = Duration::from_secs(1);

/// What a result looks like to the client that gets it.
#[derive(Debug, Clone, Copy)]
pub struct ResultForm {
    /// Since 2026-07-28 a result says of what type it is.
    has_type: bool,
}

impl ResultForm {
    /// Of the answer to a request with this `_meta`, of a client that has shaken hands or not.
    ///
    /// # Errors
    ///
    /// As the library's: for a version that it does not know, and where a client that has not shaken hands
    /// does not say with its request what it is.
    pub fn of(meta: &RequestMetaObject, has_shaken_hands: bool) -> Result<ResultForm, ErrorData> {
        let newest = ProtocolVersion::V_2026_07_28;
        let version = meta.protocol_version();
        if let Some(version) = &version
            && !ProtocolVersion::KNOWN_VERSIONS.contains(version)
        {
            let known = ProtocolVersion::KNOWN_VERSIONS;
            return Err(ErrorData::unsupported_protocol_version(
                version.clone(),
                known,
            ));
        }
        let has_type = version.is_some_and(|version| version >= newest);
        if has_type || !has_shaken_hands {
            let missing = meta.missing_required_keys(&newest);
            if !missing.is_empty() {
                let missing = missing.join(", ");
                let message =
                    format!("In _meta of the request these are missing or malformed: {missing}.");
                return Err(ErrorData::invalid_params(message, None));
            }
        }
        Ok(ResultForm { has_type })
    }
}

/// What is known of a call when it begins.
pub struct CallUnderWay {
    pub calls: Calls,
    pub kind: ToolKind,
    pub tool: &'static str,
    pub session: String,
    /// When it was read.
    pub since: Instant,
    pub form: ResultForm,
    pub wants_details: bool,
    /// By which its client wants to hear that it is still at work.
    pub progress: Option<ProgressToken>,
    /// By which an edit is called off, until its commit has begun.
    pub stop: CancelToken,
}

/// Why a call ends without its outcome.
enum Unfinished {
    CalledOff,
    TooLate,
}

impl CallUnderWay {
    /// Carries the call out: polls it once here and then in the task threads.
    pub fn go_on(self, reply: Reply, rest: RestOfCall) {
        let threads = self.calls.agent().threads().clone();
        threads.start_here(self.carry_out(reply, rest));
    }

    async fn carry_out(self, reply: Reply, mut rest: RestOfCall) {
        let until = self.since + ANSWERED_WITHIN;
        let called_off = reply.cancel_token();
        let outcome = tokio::select! {
            biased;
            outcome = &mut rest => Ok(outcome),
            () = called_off.cancelled() => Err(Unfinished::CalledOff),
            () = sleep_until(until.into()) => Err(Unfinished::TooLate),
            never = report(&reply, self.progress.as_ref()) => match never {},
        };
        let unheard = match outcome {
            // It may be called off in the moment in which it is done: nobody hears its answer then.
            Ok(outcome) if called_off.is_cancelled() => {
                reply.leave();
                Some(outcome)
            }
            Ok(outcome) => return self.answer(reply, outcome),
            Err(Unfinished::CalledOff) => {
                reply.leave();
                None
            }
            Err(Unfinished::TooLate) => {
                self.answer(reply, CallOutcome::Read(Err(too_long(self.kind))));
                None
            }
        };
        self.stop.cancel();
        let outcome = match unheard {
            Some(outcome) => outcome,
            None if self.kind.only_reads() => return,
            // A commit that has begun is finished.
            None => rest.await,
        };
        if let CallOutcome::Edit(Ok(result)) = outcome {
            // Its session is told of it with its next answer.
            self.calls.told().made(&self.session, &result);
        }
    }

    fn answer(&self, reply: Reply, outcome: CallOutcome) {
        let calls = &self.calls;
        let most = calls.most_chars();
        let answer = match ToolAnswer::of(outcome, most, self.wants_details) {
            Ok(answer) => answer,
            Err(error) => return reply.error(as_error(error)),
        };
        let tags = calls.agent().settings().read.dialect == "hashline";
        let told = calls.told().take(&self.session, &answer.shows, tags);
        let mut result = answer.result(&told, most);
        result.result_type = self.form.has_type.then_some(ResultType::COMPLETE);
        reply.result(&result);
        // Whoever waits for the answer does not wait for the line about it.
        let micros = self.since.elapsed().as_micros() as u64;
        tracing::info!(
            tool = self.tool,
            micros,
            error = result.is_error,
            "answered"
        );
    }
}

/// Tells every second that a call is still at work, where its client wants to hear that. Never ends.
async fn report(reply: &Reply, token: Option<&ProgressToken>) -> Infallible {
    let Some(token) = token else {
        return std::future::pending().await;
    };
    let begun = tokio::time::Instant::now();
    let mut ticks = interval_at(begun + PROGRESS, PROGRESS);
    loop {
        ticks.tick().await;
        let seconds = begun.elapsed().as_secs();
        reply.send_before(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {
                "progressToken": token,
                "progress": seconds as f64,
                "message": format!("still at work after {seconds} s"),
            },
        }));
    }
}

/// As the answer to a request has it.
pub fn as_error(error: ErrorData) -> Error {
    Error {
        code: i64::from(error.code.0).into(),
        message: error.message,
        data: error.data,
    }
}

fn too_long(kind: ToolKind) -> Refusal {
    let seconds = ANSWERED_WITHIN.as_secs();
    Refusal::Timeout {
        path: None,
        message: match kind {
            ToolKind::Read | ToolKind::ReadMany | ToolKind::Search => {
                format!(
                    "This took longer than {seconds} s and was stopped. Ask for less, or again later."
                )
            }
            ToolKind::Edit | ToolKind::Write => format!(
                "This took longer than {seconds} s, so it is not known whether it was made. Read the file before you go on; do not send the edit again unseen."
            ),
        },
    }
}
