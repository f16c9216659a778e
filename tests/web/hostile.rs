//! A server on a raw socket that does what no polite one does: what it sends is written out in bytes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// One connection; the request has been read, but for its last byte.
pub struct Connection {
    stream: TcpStream,
    /// Which connection it is, from 0.
    pub number: usize,
    /// The request's first line and fields.
    pub request: String,
    stopped: Arc<AtomicBool>,
}

impl Connection {
    /// Sends bytes; whether they went out.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream
            .write_all(bytes.as_ref())
            .and_then(|()| self.stream.flush())
            .is_ok()
    }

    /// Sends the same for as long as the other side takes it.
    pub fn send_for_ever(&mut self, bytes: &[u8]) {
        while !self.is_over() && self.send(bytes) {}
    }

    /// Sends one byte, again and again, with pauses.
    pub fn drip(&mut self, byte: u8, pause: Duration) {
        while !self.is_over() && self.send([byte]) {
            std::thread::sleep(pause);
        }
    }

    /// Keeps the connection and says nothing until the other side closes it.
    pub fn hang(&mut self) {
        let _ = self
            .stream
            .set_read_timeout(Some(Duration::from_millis(20)));
        let mut byte = [0];
        while !self.is_over() {
            match self.stream.read(&mut byte) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if is_timeout(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// The stream, once more.
    pub fn stream(&self) -> std::io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Ends it with a reset, which is what the system sends when something is left unread.
    pub fn reset(self) {}

    /// Reads the last byte of the request.
    pub fn read_last(&mut self) {
        let _ = self.stream.read(&mut [0]);
    }

    /// Ends it in order, its request read.
    pub fn close(mut self) {
        self.read_last();
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A server that runs until it is dropped; each connection has a thread.
#[derive(Debug)]
pub struct Hostile {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hostile {
    /// Does this to every connection, once its request is there.
    pub fn start(behave: impl Fn(Connection) + Send + Sync + 'static) -> Hostile {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (accepted, stopped) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let behave = Arc::new(behave);
        let (counted, over) = (accepted.clone(), stopped.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let (behave, over) = (behave.clone(), over.clone());
                std::thread::spawn(move || {
                    if let Some(connection) = Connection::accept(stream, number, over) {
                        behave(connection);
                    }
                });
            }
        });
        Hostile {
            address,
            accepted,
            stopped,
            thread: Some(thread),
        }
    }

    /// Sends these bytes and closes the connection.
    pub fn says(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Hostile {
        Hostile::start(move |mut connection| {
            connection.send(bytes.as_ref());
            connection.close();
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connections that were made so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Connection {
    /// Reads the request; `None` where it never comes.
    fn accept(
        mut stream: TcpStream,
        number: usize,
        stopped: Arc<AtomicBool>,
    ) -> Option<Connection> {
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
        let _ = stream.set_write_timeout(Some(Duration::from_secs(20)));
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r") {
            match stream.read(&mut byte) {
                Ok(1) => request.push(byte[0]),
                _ => return None,
            }
        }
        request.push(b'\n');
        Some(Connection {
            stream,
            number,
            request: String::from_utf8_lossy(&request).into_owned(),
            stopped,
        })
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A header of HTTP/1.1 with these fields, a line each.
pub fn header(status: &str, fields: &[&str]) -> String {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{fields}\r\n")
}
