//! The least a server can do: it gives back the parameters that it was sent.
//!
//! One thread, no runtime and nothing of the daemon's own code, so that a ratio to it sees all that
//! the daemon does, its transport included. Messages are told apart as any JSON-RPC server has to:
//! a header with the length, then a body whose id and parameters are found by parsing it.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The variable that makes a benchmark serve instead.
pub const ASKED: &str = "PILCROW_BENCH_ECHO";
/// The method that echoes.
pub const METHOD: &str = "echo";

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Serves an echo until its input ends, or as a worker, if this process was started for that. Whether it was.
pub fn serve_if_asked() -> io::Result<bool> {
    if std::env::args_os().nth(1).is_some_and(|it| it == "worker") {
        // Reads in this process start workers of "this very program".
        let program = env!("CARGO_BIN_EXE_pilcrow");
        let arguments = std::env::args_os().skip(1);
        return Err(Command::new(program).arg0("pilcrow").args(arguments).exec());
    }
    if std::env::var_os(ASKED).is_none() {
        return Ok(false);
    }
    let mut input = io::BufReader::with_capacity(256 << 10, io::stdin().lock());
    // Not `Stdout`, which would look for ends of lines in all that is written.
    let mut output =
        std::fs::File::from(std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?);
    let mut body = Vec::new();
    while read_body(&mut input, &mut body)? {
        let message: Message = serde_json::from_slice(&body)?;
        let Some(id) = message.id else { continue };
        let result = match message.method.as_str() {
            METHOD => message.params.map_or("null", RawValue::get),
            _ => r#"{"capabilities":{}}"#,
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let frame = format!("Content-Length: {}\r\n\r\n{answer}", answer.len());
        output.write_all(frame.as_bytes())?;
    }
    Ok(true)
}

/// Reads one frame's body; false at the end of the input.
fn read_body(input: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        match line.trim_end().strip_prefix("Content-Length: ") {
            Some(value) => length = value.parse().map_err(io::Error::other)?,
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    body.resize(length, 0);
    input.read_exact(body)?;
    Ok(true)
}
