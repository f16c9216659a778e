//! The frames between a parent and its worker: a head in JSON and a body of bytes, each with its length before it; a frame longer than agreed is never read.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a head.
const MAX_HEAD: u64 = 4 * 1024 * 1024;

/// The bytes before a body of `body` bytes.
pub fn head(head: &impl Serialize, body: u64) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(head)?;
    let mut frame = Vec::with_capacity(16 + json.len());
    frame.extend((json.len() as u64).to_le_bytes());
    frame.extend(body.to_le_bytes());
    frame.extend(json);
    Ok(frame)
}

/// Writes one frame.
pub fn write(out: &mut impl Write, message: &impl Serialize, body: &[u8]) -> io::Result<()> {
    out.write_all(&head(message, body.len() as u64)?)?;
    out.write_all(body)?;
    out.flush()
}

/// Reads one frame with at most `max_body` bytes in its body; `None` at the end of the input.
pub fn read<T: DeserializeOwned>(
    input: &mut impl Read,
    max_body: u64,
) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0; 16];
    match input.read(&mut lengths)? {
        0 => return Ok(None),
        count => input.read_exact(&mut lengths[count..])?,
    }
    let [head, body] = lengths_of(&lengths);
    if head > MAX_HEAD || body > max_body {
        return Err(io::Error::other("a frame is too long"));
    }
    let mut json = vec![0; head as usize];
    input.read_exact(&mut json)?;
    let mut bytes = vec![0; body as usize];
    input.read_exact(&mut bytes)?;
    Ok(Some((serde_json::from_slice(&json)?, bytes)))
}

/// The lengths of head and body.
fn lengths_of(lengths: &[u8; 16]) -> [u64; 2] {
    let number = |half: usize| {
        let bytes = lengths[half * 8..half * 8 + 8].iter();
        bytes
            .rev()
            .fold(0u64, |all, byte| all << 8 | u64::from(*byte))
    };
    [number(0), number(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_long_ones_do_not() {
        let mut out = Vec::new();
        write(&mut out, &7, b"abc").expect("written");
        let back = read::<u32>(&mut &out[..], 3).expect("read");
        assert_eq!(back, Some((7, b"abc".to_vec())));
        assert!(read::<u32>(&mut &out[..], 2).is_err());
        assert!(read::<u32>(&mut &out[..17], 3).is_err());
        assert_eq!(read::<u32>(&mut &out[..0], 3).expect("read"), None);
    }
}
