//! What came from the daemon and has not been taken; a wait is never without a limit.

use std::collections::{HashMap, VecDeque};
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{HANG, Id};

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub struct WireError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl WireError {
    /// `data.kind`, or nothing.
    pub fn kind(&self) -> &str {
        self.data["kind"].as_str().unwrap_or_default()
    }
}

/// What a test was waiting for, where it may be one of two.
#[derive(Debug)]
pub enum Next {
    Answer(Result<Value, WireError>),
    /// A request of the daemon: its id and parameters.
    Request(Id, Value),
}

/// Filled by the threads that listen, emptied by the test.
#[derive(Default)]
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    answers: HashMap<Id, VecDeque<Value>>,
    arrival_order: Vec<Id>,
    notifications: VecDeque<Value>,
    requests: VecDeque<Value>,
    /// Notifications that a test has no interest in.
    ignored: Vec<String>,
    faults: Vec<String>,
    stdout_closed: bool,
    stderr: Option<String>,
    exit: Option<ExitStatus>,
    paused: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes who waits for it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `look` finds something; `None` after `limit`.
    fn wait_for<T>(
        &self,
        limit: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a message; fails the test when it does not come or cannot come any more.
    fn expect<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let found = self.wait_for(HANG, |state| match look(state) {
            Some(found) => Some(Ok(found)),
            None if state.stdout_closed => Some(Err(())),
            None => None,
        });
        match found {
            Some(Ok(found)) => found,
            Some(Err(())) => {
                // What it said last is the likeliest explanation.
                self.wait_for(Duration::from_secs(1), |state| {
                    state.stderr.as_ref().map(drop)
                });
                let state = self.lock();
                let (faults, stderr) = (&state.faults, &state.stderr);
                panic!("the output ended without {what}; faults {faults:?}, stderr {stderr:?}")
            }
            None => panic!("no {what} within {HANG:?}"),
        }
    }

    /// Takes in a message.
    pub fn receive(&self, message: Value) {
        let id = serde_json::from_value::<Id>(message["id"].clone());
        self.change(
            |state| match (message.get("method").is_some(), message.get("id"), id) {
                (true, None, _) => {
                    if !state
                        .ignored
                        .iter()
                        .any(|method| message["method"] == **method)
                    {
                        state.notifications.push_back(message);
                    }
                }
                (true, Some(_), _) => state.requests.push_back(message),
                (false, Some(_), Ok(id))
                    if message.get("result").is_some() != message.get("error").is_some() =>
                {
                    state.arrival_order.push(id.clone());
                    state.answers.entry(id).or_default().push_back(message);
                }
                _ => state.faults.push(format!("not a message: {message}")),
            },
        );
    }

    pub fn close_stdout(&self, fault: Option<String>) {
        self.change(|state| {
            state.faults.extend(fault);
            state.stdout_closed = true;
        });
    }

    pub fn close_stderr(&self, text: String) {
        self.change(|state| state.stderr = Some(text));
    }

    pub fn set_exit(&self, status: Option<ExitStatus>) {
        self.change(|state| state.exit = status);
    }

    pub fn set_paused(&self, paused: bool) {
        self.change(|state| state.paused = paused);
    }

    /// Blocks the listening thread. It is the test that ends the pause, at the latest by its end.
    pub fn wait_while_paused(&self) {
        let state = self.changed.wait_while(self.lock(), |state| state.paused);
        drop(state);
    }

    pub fn answer(&self, id: &Id) -> Result<Value, WireError> {
        let answer = self.expect(&format!("answer to request {id}"), |state| {
            state.answers.get_mut(id)?.pop_front()
        });
        outcome(answer)
    }

    /// What comes first: the answer, or the end of the output.
    pub fn answer_or_end(&self, id: &Id) -> Option<Result<Value, WireError>> {
        let first = self.wait_for(HANG, |state| {
            let answer = state.answers.get_mut(id).and_then(VecDeque::pop_front);
            match answer {
                Some(answer) => Some(Some(outcome(answer))),
                None => state.stdout_closed.then_some(None),
            }
        });
        first.unwrap_or_else(|| panic!("no answer to request {id} and no end within {HANG:?}"))
    }

    /// What comes first: the answer, or a request of the daemon.
    pub fn answer_or_request(&self, id: &Id, method: &str) -> Next {
        let what = format!("answer to request {id} and no request {method}");
        self.expect(&what, |state| {
            if let Some(taken) = take_method(&mut state.requests, method) {
                let id = serde_json::from_value(taken["id"].clone());
                let id = id.expect("an id is a number or a string");
                return Some(Next::Request(id, taken["params"].clone()));
            }
            let answer = state.answers.get_mut(id)?.pop_front()?;
            Some(Next::Answer(outcome(answer)))
        })
    }

    pub fn notification(&self, method: &str) -> Value {
        let taken = self.expect(&format!("notification {method}"), |state| {
            take_method(&mut state.notifications, method)
        });
        taken["params"].clone()
    }

    pub fn ignore(&self, method: &str) {
        self.change(|state| state.ignored.push(method.to_owned()));
    }

    pub fn request(&self, method: &str) -> (Id, Value) {
        let taken = self.expect(&format!("request {method}"), |state| {
            take_method(&mut state.requests, method)
        });
        let id = serde_json::from_value(taken["id"].clone());
        (
            id.expect("an id is a number or a string"),
            taken["params"].clone(),
        )
    }

    /// Waits for the end of the output and drops the answers nobody waits for any more.
    pub fn drop_answers(&self) {
        let closed = self.wait_for(HANG, |state| {
            state.stdout_closed.then(|| state.answers.clear())
        });
        assert!(closed.is_some(), "the output is still open after {HANG:?}");
    }

    pub fn arrival_order(&self) -> Vec<Id> {
        self.lock().arrival_order.clone()
    }

    pub fn exit(&self, limit: Duration) -> Option<ExitStatus> {
        self.wait_for(limit, |state| state.exit)
    }

    /// What is wrong with the messages of a daemon that has ended. One that was `killed` may have
    /// been in the middle of a frame.
    pub fn left_over(&self, killed: bool) -> Vec<String> {
        let ended = self.wait_for(HANG, |state| {
            (state.stdout_closed && state.stderr.is_some()).then_some(())
        });
        let state = self.lock();
        let mut complaints = Vec::new();
        if ended.is_none() {
            complaints.push("its output is still open after its end".to_owned());
        }
        let cut_off = |fault: &&String| !(killed && fault.starts_with("it ends inside"));
        complaints.extend(state.faults.iter().filter(cut_off).cloned());
        let unread = state.answers.values().flatten();
        let unread = unread.chain(&state.notifications).chain(&state.requests);
        complaints.extend(unread.map(|message| format!("nobody took {message}")));
        if let Some(text) = state.stderr.as_ref().filter(|text| !text.is_empty()) {
            complaints.push(format!("on stderr: {text}"));
        }
        complaints
    }
}

fn outcome(mut answer: Value) -> Result<Value, WireError> {
    match answer.get_mut("error").map(Value::take) {
        None => Ok(answer["result"].take()),
        Some(mut error) => Err(WireError {
            code: error["code"].as_i64().expect("a code is a number"),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].take(),
        }),
    }
}

fn take_method(messages: &mut VecDeque<Value>, method: &str) -> Option<Value> {
    let at = messages
        .iter()
        .position(|message| message["method"] == method)?;
    messages.remove(at)
}
