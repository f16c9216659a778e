//! Frames as the daemon must write them; nothing that is not exact is ever accepted.

use std::io::{BufRead, Read};

use serde_json::Value;

/// A body with its header.
pub fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

/// The next message, or `None` at the end. What is wrong with the frame is the error.
pub fn next_message(output: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut header = Vec::new();
    let limited = output.take(100).read_until(b'\n', &mut header);
    limited.map_err(|error| error.to_string())?;
    if header.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&header).into_owned();
    let length = text
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .and_then(|length| length.parse::<usize>().ok())
        .ok_or_else(|| format!("not a header: {text:?}"))?;
    let mut body = vec![0; length + 2];
    output
        .read_exact(&mut body)
        .map_err(|_| format!("it ends inside a frame of {length} bytes"))?;
    let Some(body) = body.strip_prefix(b"\r\n") else {
        return Err("more than one header".to_owned());
    };
    let message: Value =
        serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))?;
    if message["jsonrpc"] == "2.0" {
        Ok(Some(message))
    } else {
        Err(format!("not JSON-RPC: {message}"))
    }
}
