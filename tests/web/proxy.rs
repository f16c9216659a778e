//! A proxy that does as it is asked and records it: requests in full and tunnels, all of them to one server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use super::hostile::{Connection, Hostile};

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    server: Hostile,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Whatever it is asked for, it asks this server.
    pub fn to(address: SocketAddr) -> Proxy {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let recorded = asked.clone();
        let server = Hostile::start(move |connection| {
            recorded
                .lock()
                .expect("a lock")
                .push(connection.request.clone());
            let _ = pass_on(connection, address);
        });
        Proxy { server, asked }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The requests that were made of it, header and all.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("a lock").clone()
    }
}

fn pass_on(mut client: Connection, address: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(address)?;
    client.read_last();
    if client.request.starts_with("CONNECT ") {
        client.send("HTTP/1.1 200 OK\r\n\r\n");
    } else {
        server.write_all(client.request.as_bytes())?;
    }
    let mut from_client = client.stream()?;
    let mut to_server = server.try_clone()?;
    let upwards = std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    let mut buffer = [0; 4096];
    loop {
        let read = server.read(&mut buffer)?;
        if read == 0 || !client.send(&buffer[..read]) {
            break;
        }
    }
    let _ = client.stream()?.shutdown(std::net::Shutdown::Both);
    let _ = upwards.join();
    Ok(())
}
