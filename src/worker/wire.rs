//! The frames between a parent and its worker: the number of the request, the lengths of head and body, a head in JSON, a body of bytes.
//!
//! An answer bears the number of its request, so that one that came too late or twice is never
//! taken for another's. A frame longer than agreed is never read.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a head.
const MAX_HEAD: u64 = 4 * 1024 * 1024;

/// The number of the frame that answers no request: what a worker says of itself first.
pub const GREETING: u64 = 0;

/// A frame as it came.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkerFrame<T> {
    pub number: u64,
    pub head: T,
    pub body: Vec<u8>,
}

/// The bytes before a body of `body` bytes.
pub fn head(number: u64, head: &impl Serialize, body: u64) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(head)?;
    let mut frame = Vec::with_capacity(24 + json.len());
    for field in [number, json.len() as u64, body] {
        frame.extend(field.to_le_bytes());
    }
    frame.extend(json);
    Ok(frame)
}

/// Writes one frame.
pub fn write(
    out: &mut impl Write,
    number: u64,
    message: &impl Serialize,
    body: &[u8],
) -> io::Result<()> {
    let mut frame = head(number, message, body.len() as u64)?;
    if body.len() <= JOINED {
        frame.extend(body);
        out.write_all(&frame)?;
    } else {
        out.write_all(&frame)?;
        out.write_all(body)?;
    }
    out.flush()
}

/// Bytes of a body that goes out in one write with its head.
const JOINED: usize = 64 * 1024;

/// Reads one frame with at most `max_body` bytes in its body; `None` at the end of the input.
pub fn read<T: DeserializeOwned>(
    input: &mut impl Read,
    max_body: u64,
) -> io::Result<Option<WorkerFrame<T>>> {
    let mut fields = [0; 24];
    match input.read(&mut fields)? {
        0 => return Ok(None),
        count => input.read_exact(&mut fields[count..])?,
    }
    let [number, head, body] = numbers(&fields);
    if head > MAX_HEAD || body > max_body {
        return Err(io::Error::other("a frame is too long"));
    }
    let mut json = vec![0; head as usize];
    input.read_exact(&mut json)?;
    let mut bytes = vec![0; body as usize];
    input.read_exact(&mut bytes)?;
    Ok(Some(WorkerFrame {
        number,
        head: serde_json::from_slice(&json)?,
        body: bytes,
    }))
}

/// The three numbers before a head.
fn numbers(fields: &[u8; 24]) -> [u64; 3] {
    let number = |at: usize| {
        let bytes = fields[at * 8..at * 8 + 8].iter();
        bytes
            .rev()
            .fold(0u64, |all, byte| all << 8 | u64::from(*byte))
    };
    [number(0), number(1), number(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_long_ones_do_not() {
        let mut out = Vec::new();
        write(&mut out, 5, &7, b"abc").expect("written");
        let back = read::<u32>(&mut &out[..], 3).expect("read");
        let frame = WorkerFrame {
            number: 5,
            head: 7,
            body: b"abc".to_vec(),
        };
        assert_eq!(back, Some(frame));
        assert!(read::<u32>(&mut &out[..], 2).is_err());
        assert!(read::<u32>(&mut &out[..25], 3).is_err());
        assert_eq!(read::<u32>(&mut &out[..0], 3).expect("read"), None);
    }
}
