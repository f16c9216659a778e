//! Tests of the transport over a mock language server and pipes; nothing here knows the real one.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::{ErrorCode, Result};
use tower_lsp::ls_types::notification::ShowMessage;
use tower_lsp::ls_types::request::WorkspaceFoldersRequest;
use tower_lsp::ls_types::{InitializeParams, InitializeResult, MessageType, ShowMessageParams};
use tower_lsp::{LanguageServer, LspService};

use super::*;

/// What the mock's handlers share with the test.
#[derive(Debug, Default)]
struct MockState {
    log: Mutex<Vec<i64>>,
    release: Notify,
    stuck: AtomicUsize,
}

#[derive(Debug)]
struct Mock {
    client: Client,
    shared: Arc<MockState>,
}

impl LanguageServer for Mock {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

/// The handlers' first argument is `&self` by the service's rules.
impl Mock {
    async fn echo(&self, params: Value) -> Result<Value> {
        Ok(params)
    }

    /// Answers after a trip through the scheduler.
    async fn later(&self, params: Value) -> Result<Value> {
        tokio::time::sleep(Duration::from_micros(params.as_u64().unwrap_or(0))).await;
        Ok(params)
    }

    /// Logs its number before the first await.
    async fn note(&self, number: Value) {
        self.shared.log.lock().push(number.as_i64().unwrap_or(-1));
        tokio::task::yield_now().await;
    }

    /// Answers how much had been noted when it arrived.
    async fn noted(&self, _: Value) -> Result<usize> {
        let noted = self.shared.log.lock().len();
        tokio::task::yield_now().await;
        Ok(noted)
    }

    /// Waits for `MockState::release`.
    async fn stuck(&self, _: Value) -> Result<&'static str> {
        self.shared.stuck.fetch_add(1, Ordering::Relaxed);
        self.shared.release.notified().await;
        Ok("released")
    }

    async fn panic(&self, late: Value) -> Result<Value> {
        if late == json!(true) {
            tokio::task::yield_now().await;
        }
        std::panic::resume_unwind(Box::new("on purpose, without the hook's output"))
    }

    async fn large(&self, bytes: Value) -> Result<String> {
        let bytes = usize::try_from(bytes.as_u64().unwrap_or(0)).unwrap_or(0);
        Ok("x".repeat(bytes))
    }

    /// Asks the client something and answers with what it said.
    async fn ask(&self, _: Value) -> Result<Value> {
        let folders = self.client.ask::<WorkspaceFoldersRequest>(()).await?;
        Ok(json!(folders.map(|folders| folders.len())))
    }

    async fn chatter(&self, count: Value) -> Result<Value> {
        for number in 0..count.as_u64().unwrap_or(0) {
            let said = ShowMessageParams {
                typ: MessageType::INFO,
                message: number.to_string(),
            };
            self.client.notify::<ShowMessage>(said).await;
        }
        Ok(count)
    }
}

/// One served mock, and the client's ends of its pipes.
struct Served {
    shared: Arc<MockState>,
    shutdown: Shutdown,
    input: PipeWriter,
    output: BufReader<PipeReader>,
    serving: std::thread::JoinHandle<Ending>,
}

fn busy() -> Error {
    Error {
        code: ErrorCode::ServerError(-32803),
        message: "busy".into(),
        data: None,
    }
}

const LIMITS: TransportLimits = TransportLimits {
    frame_bytes: 1 << 20,
    in_flight: 16,
    unsent_bytes: 1 << 20,
    busy,
};

fn service(shared: &Arc<MockState>, client: Client) -> LspService<Mock> {
    let shared = shared.clone();
    let (service, _) = LspService::build(|_| Mock { client, shared })
        .custom_method("echo", Mock::echo)
        .custom_method("later", Mock::later)
        .custom_method("note", Mock::note)
        .custom_method("noted", Mock::noted)
        .custom_method("stuck", Mock::stuck)
        .custom_method("panic", Mock::panic)
        .custom_method("large", Mock::large)
        .custom_method("ask", Mock::ask)
        .custom_method("chatter", Mock::chatter)
        .finish();
    service
}

impl Served {
    /// Serves an uninitialized mock.
    fn bare(limits: TransportLimits) -> io::Result<Served> {
        let shared = Arc::new(MockState::default());
        let shutdown = Shutdown::new();
        let (theirs, input) = io::pipe()?;
        let (output, ours) = io::pipe()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let connection = Connection::new(Output::new(ours), limits);
        let service = service(&shared, connection.client());
        let threads = Threads::new(runtime.handle().clone());
        let serve = connection.serve(service, theirs, threads, shutdown.clone());
        Ok(Served {
            shared,
            shutdown,
            input,
            output: BufReader::new(output),
            serving: std::thread::spawn(move || runtime.block_on(serve)),
        })
    }

    fn start(limits: TransportLimits) -> io::Result<Served> {
        Served::bare(limits)?.initialized()
    }

    fn initialized(mut self) -> io::Result<Served> {
        self.request(0, "initialize", &json!({ "capabilities": {} }))?;
        assert_eq!(self.answer()?["id"], 0);
        Ok(self)
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        self.input.write_all(&framed(message))
    }

    fn request(&mut self, id: i64, method: &str, params: &Value) -> io::Result<()> {
        self.send(&request(id, method, params))
    }

    fn notify(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn cancel(&mut self, id: i64) -> io::Result<()> {
        self.notify("$/cancelRequest", &json!({ "id": id }))
    }

    /// The next message from the server, whose framing must be exact.
    fn answer(&mut self) -> io::Result<Value> {
        next_message(&mut self.output)
    }

    /// The next answer's error code and id.
    fn refusal(&mut self) -> io::Result<(i64, Value)> {
        let answer = self.answer()?;
        let code = answer["error"]["code"].as_i64();
        Ok((code.unwrap_or_default(), answer["id"].clone()))
    }

    /// The server still serves.
    fn is_alive(&mut self) -> io::Result<()> {
        self.request(999, "echo", &json!("alive"))?;
        let answer = self.answer()?;
        assert_eq!(
            (&answer["id"], &answer["result"]),
            (&json!(999), &json!("alive"))
        );
        Ok(())
    }

    /// Ends the input; the server must end with nothing left to say.
    fn finish(self) -> io::Result<()> {
        drop(self.input);
        let mut rest = String::new();
        let mut output = self.output;
        output.read_to_string(&mut rest)?;
        assert_eq!(rest, "");
        assert_eq!(self.serving.join().ok(), Some(Ending::EndOfInput));
        Ok(())
    }
}

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn next_message(output: &mut impl BufRead) -> io::Result<Value> {
    let mut header = String::new();
    output.read_line(&mut header)?;
    let length = header
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .and_then(|length| length.parse().ok());
    let length: usize = length.ok_or_else(|| io::Error::other(format!("header {header:?}")))?;
    let mut body = vec![0; length + 2];
    output.read_exact(&mut body)?;
    assert!(body.starts_with(b"\r\n"));
    Ok(serde_json::from_slice(&body[2..])?)
}

#[test]
fn bad_messages_are_answered_and_the_next_one_served() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    for (message, code, id) in [
        ("Content-Length: 3\r\n\r\n{x}", -32700, Value::Null),
        ("Content-Length: 2\r\n\r\n[]", -32600, Value::Null),
        ("Content-Length: x\r\n\r\n{}", -32700, Value::Null),
        ("Content-Type: x\r\n\r\n{}", -32700, Value::Null),
        ("Content-Length: 8\r\n\r\n{\"id\":4}", -32600, json!(4)),
        ("Content-Length: 100000000000\r\n\r\n{", -32600, Value::Null),
    ] {
        served.input.write_all(message.as_bytes())?;
        assert_eq!(served.refusal()?, (code, id), "{message}");
        served.is_alive()?;
    }
    served.input.write_all("some noise\n$ ".as_bytes())?;
    served.is_alive()?;
    served.finish()
}

#[test]
fn a_frame_over_the_cap_is_answered_before_it_has_come() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    let size = 3 << 20;
    write!(served.input, "Content-Length: {size}\r\n\r\n")?;
    assert_eq!(served.refusal()?, (-32600, Value::Null));
    served.input.write_all(&vec![b'c'; size])?;
    served.is_alive()?;
    served.finish()
}

#[test]
fn what_comes_before_the_first_await_happens_in_arrival_order() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    let mut input = served.input.try_clone()?;
    let writing = std::thread::spawn(move || -> io::Result<()> {
        for number in 0..1000 {
            let params = json!(number);
            let note = json!({ "jsonrpc": "2.0", "method": "note", "params": params });
            input.write_all(&framed(&note))?;
            input.write_all(&framed(&request(number, "noted", &params)))?;
        }
        Ok(())
    });
    for _ in 0..1000 {
        let answer = served.answer()?;
        let id = answer["id"].as_i64().unwrap_or(-1);
        assert_eq!(answer["result"], id + 1, "{answer}");
    }
    assert!(matches!(writing.join(), Ok(Ok(()))));
    assert!(served.shared.log.lock().iter().copied().eq(0..1000));
    served.finish()
}

#[test]
fn a_panic_is_the_error_of_its_own_request() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    for (id, late) in [(1, false), (2, true)] {
        served.request(id, "panic", &json!(late))?;
        assert_eq!(served.refusal()?, (-32603, json!(id)));
        served.is_alive()?;
    }
    served.finish()
}

#[test]
fn one_more_than_may_be_in_flight_is_busy_and_cancels_overtake() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    for id in 0..16 {
        served.request(id, "stuck", &json!(null))?;
    }
    let begun = Instant::now();
    for id in 100..400 {
        served.request(id, "stuck", &json!(null))?;
        assert_eq!(served.refusal()?, (-32803, json!(id)));
    }
    // Half of what 300 waits for a place would take: only the first of them waited.
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(served.shared.stuck.load(Ordering::Relaxed), 16);
    served.notify("note", &json!(5))?;
    served.cancel(7)?;
    assert_eq!(served.refusal()?, (-32800, json!(7)));
    assert_eq!(*served.shared.log.lock(), [5]);
    served.is_alive()?;
    for id in (0..16).filter(|id| *id != 7) {
        served.cancel(id)?;
        assert_eq!(served.refusal()?, (-32800, json!(id)));
    }
    served.finish()
}

#[test]
fn thousands_of_quick_requests_are_paced_and_not_refused() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    let mut input = served.input.try_clone()?;
    let writing = std::thread::spawn(move || -> io::Result<()> {
        for id in 0..5000 {
            input.write_all(&framed(&request(id, "later", &json!(100))))?;
        }
        Ok(())
    });
    let mut ids = HashSet::new();
    for _ in 0..5000 {
        let answer = served.answer()?;
        assert_eq!(answer["result"], 100, "{answer}");
        ids.insert(answer["id"].as_i64());
    }
    assert_eq!(ids.len(), 5000);
    assert!(matches!(writing.join(), Ok(Ok(()))));
    served.finish()
}

#[test]
fn every_request_has_one_answer_under_cancels_and_reused_ids() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    let mut input = served.input.try_clone()?;
    let writing = std::thread::spawn(move || -> io::Result<()> {
        let mut random = 12345_u64;
        for round in 0..3000_i64 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            let wait = json!((random >> 33) % 300);
            // Every id is used three times over, often while it is in flight.
            input.write_all(&framed(&request(round / 3, "later", &wait)))?;
            let cancelled = round / 3 - i64::from((random >> 40) as u8 % 8);
            let params = json!({ "id": cancelled });
            let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": params });
            input.write_all(&framed(&cancel))?;
        }
        Ok(())
    });
    let mut answers: HashMap<i64, usize> = HashMap::new();
    for _ in 0..3000 {
        let answer = served.answer()?;
        let code = answer["error"]["code"].as_i64();
        assert!(matches!(code, None | Some(-32800 | -32600)), "{answer}");
        *answers
            .entry(answer["id"].as_i64().unwrap_or(-1))
            .or_default() += 1;
    }
    assert_eq!(answers.len(), 1000);
    assert!(answers.values().all(|count| *count == 3));
    assert!(matches!(writing.join(), Ok(Ok(()))));
    served.finish()
}

#[test]
fn unknown_methods_have_answers_too() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    served.request(1, "$/unknown", &json!({}))?;
    assert_eq!(served.refusal()?, (-32601, json!(1)));
    served.request(2, "unknown", &json!({}))?;
    assert_eq!(served.refusal()?, (-32601, json!(2)));
    served.notify("$/unknown", &json!({}))?;
    served.notify("unknown", &json!({}))?;
    served.is_alive()?;
    served.finish()
}

#[test]
fn the_server_can_ask_while_all_places_are_taken() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    for id in 0..16 {
        served.request(id, "ask", &json!(null))?;
    }
    let mut answered = 0;
    while answered < 16 {
        let message = served.answer()?;
        if message["method"] == "workspace/workspaceFolders" {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": null });
            served.send(&answer)?;
        } else {
            assert_eq!(message["result"], Value::Null, "{message}");
            answered += 1;
        }
    }
    // An answer that nobody waits for is of no consequence.
    served.send(&json!({ "jsonrpc": "2.0", "id": 77, "result": 1 }))?;
    served.is_alive()?;
    served.finish()
}

#[test]
fn what_a_handler_says_comes_before_its_answer() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    for id in 0..200 {
        served.request(id, "chatter", &json!(3))?;
        for number in 0..3 {
            assert_eq!(served.answer()?["params"]["message"], number.to_string());
        }
        assert_eq!(served.answer()?["id"], id);
    }
    served.finish()
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    let written = Arc::new(AtomicUsize::new(0));
    let mut input = served.input.try_clone()?;
    let count = written.clone();
    let writing = std::thread::spawn(move || -> io::Result<()> {
        for id in 0..2000 {
            let mut ask = request(id, "large", &json!(100_000));
            ask["padding"] = "x".repeat(4000).into();
            input.write_all(&framed(&ask))?;
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    // Some dozens are in the pipes, in flight, or answered, until the limit holds the client up.
    let mut before = usize::MAX;
    while before != written.load(Ordering::Relaxed) {
        before = written.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(before < 200, "{before} requests were taken");
    for _ in 0..2000 {
        assert!(served.answer()?["result"].is_string());
    }
    assert!(matches!(writing.join(), Ok(Ok(()))));
    served.finish()
}

#[test]
fn answers_in_the_making_are_written_after_the_input_ended() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    served.request(1, "later", &json!(200_000))?;
    drop(served.input);
    assert_eq!(next_message(&mut served.output)?["id"], 1);
    assert_eq!(served.serving.join().ok(), Some(Ending::EndOfInput));
    Ok(())
}

#[test]
fn a_stuck_request_does_not_keep_an_ending_server() -> io::Result<()> {
    for (ending, limit) in [
        (Ending::EndOfInput, Duration::from_millis(1000)),
        (Ending::Signal, Duration::from_millis(500)),
        (Ending::ParentDied, Duration::from_millis(500)),
    ] {
        let mut served = Served::start(LIMITS)?;
        served.request(1, "stuck", &json!(null))?;
        served.is_alive()?;
        let begun = Instant::now();
        let held = (ending != Ending::EndOfInput).then_some(served.input);
        if held.is_some() {
            served.shutdown.end(ending);
        }
        assert_eq!(served.serving.join().ok(), Some(ending));
        let took = begun.elapsed();
        // Twice the limit: the machine may be busy.
        assert!(took >= limit / 2 && took < 2 * limit, "{ending:?} {took:?}");
    }
    Ok(())
}

#[test]
fn exit_ends_it_while_the_input_stays_open() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    served.request(1, "stuck", &json!(null))?;
    served.request(2, "shutdown", &json!(null))?;
    assert_eq!(served.answer()?["id"], 2);
    served.request(3, "echo", &json!(null))?;
    assert_eq!(served.refusal()?, (-32600, json!(3)));
    served.send(&json!({ "jsonrpc": "2.0", "method": "exit" }))?;
    // Even now the one in flight has its answer.
    assert_eq!(served.refusal()?, (-32800, json!(1)));
    assert_eq!(served.serving.join().ok(), Some(Ending::Exit));
    Ok(())
}

#[test]
fn requests_before_initialize_are_refused() -> io::Result<()> {
    let mut served = Served::bare(LIMITS)?;
    served.request(1, "echo", &json!(1))?;
    assert_eq!(served.refusal()?, (-32002, json!(1)));
    served.finish()
}

#[test]
fn an_output_that_is_gone_ends_it() -> io::Result<()> {
    let mut served = Served::start(LIMITS)?;
    drop(served.output);
    served
        .input
        .write_all(&framed(&request(1, "echo", &json!(1))))?;
    assert_eq!(served.serving.join().ok(), Some(Ending::BrokenOutput));
    Ok(())
}
