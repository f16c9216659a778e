//! A server on 127.0.0.1 that answers each request on a connection of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::support::Answer;

/// Starts one, and gives its address. `answer` has the headers and the body for a path.
pub fn serve(answer: impl Fn(&str) -> (&'static str, String) + Send + 'static) -> Answer<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            let mut lines = BufReader::new(&stream).lines();
            let asked = lines.next().and_then(Result::ok).unwrap_or_default();
            // To the empty line.
            lines
                .by_ref()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .for_each(drop);
            let (headers, body) = answer(asked.split(' ').nth(1).unwrap_or_default());
            let head = format!(
                "HTTP/1.1 200 OK\r\n{headers}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = (&stream).write_all((head + &body).as_bytes());
        }
    });
    Ok(address)
}
