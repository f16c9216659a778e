//! Web pages: a page that is kept beside a file of the same text, and one that is fetched beside a plain GET on a new connection.

use std::net::TcpListener;

use serde_json::json;

use crate::server;
use crate::support::table::{self, Times, timed};
use crate::support::{self, Answer, Peer, Workspace};

/// Reads of each.
const ROUNDS: usize = 1000;

/// About 10 KB of Markdown.
fn text() -> String {
    let paragraph = "A harbour has berths, and each ship one of them until the tide is out.\n\n";
    format!("# Harbour\n\n{}", paragraph.repeat(140))
}

/// The same as a page of HTML.
fn html() -> String {
    let paragraph =
        "<p>A harbour has berths, and each <b>ship</b> one of them until the tide is out.</p>\n";
    format!(
        "<!doctype html><html><head><title>Harbour</title></head><body><nav><a href=\"/\">Home</a></nav><main><h1>Harbour</h1>{}</main></body></html>",
        paragraph.repeat(140)
    )
}

/// Serves both; gives the address. `/fresh` may be kept.
fn serve() -> Answer<String> {
    server::serve(|path| {
        let is_page = path.contains(".html");
        let head = match (is_page, path.contains("/fresh")) {
            (true, _) => "Content-Type: text/html\r\nCache-Control: no-cache",
            (false, true) => "Content-Type: text/markdown\r\nCache-Control: max-age=300",
            (false, false) => "Content-Type: text/markdown\r\nCache-Control: no-cache",
        };
        (head, if is_page { html() } else { text() })
    })
}

/// Prints a row for each comparison, over pipes.
pub fn print() -> Answer<()> {
    let workspace = Workspace::new()?;
    std::fs::write(workspace.path().join("page.md"), text())?;
    let address = serve()?;
    let mut daemon = Peer::daemon(workspace.path())?;
    let frame = |path: &str| support::request("agent/read", json!({ "path": path }));
    let fresh = frame(&format!("{address}/fresh.md:full"));
    let file = frame("page.md:full");
    let mut times = Times::default();
    for round in 0..ROUNDS + 20 {
        let (page, _) = timed(|| daemon.exchange(&fresh).map(<[u8]>::len))?;
        let (text, _) = timed(|| daemon.exchange(&file).map(<[u8]>::len))?;
        if round >= 20 {
            times.0.push(page);
            times.1.push(text);
        }
    }
    table::row("a page that is kept", "a file of the same text", times);
    for (what, path) in [
        ("a fetched text", "/cold.md"),
        ("a fetched page of HTML", "/cold.html"),
    ] {
        let url = format!("{address}{path}");
        let times = beside_a_plain_get(&mut daemon, &url)?;
        table::row(what, "a plain GET", times);
    }
    beside_hung_fetches(&workspace, &file)
}

/// Fetches that hang, all at once.
const HUNG: usize = 64;

/// Warm reads of a daemon that waits for servers which say nothing, beside those of one that does not.
fn beside_hung_fetches(workspace: &Workspace, file: &[u8]) -> Answer<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // Accepted, and never answered.
    std::thread::spawn(move || listener.incoming().flatten().collect::<Vec<_>>());
    let mut waiting = Peer::daemon(workspace.path())?;
    let mut idle = Peer::daemon(workspace.path())?;
    for number in 0..HUNG {
        let path = format!("http://{address}/{number}");
        let frame = support::numbered_request(1000 + number, "agent/read", json!({ "path": path }));
        waiting.send(&frame)?;
    }
    let mut times = Times::default();
    for round in 0..ROUNDS + 20 {
        let (beside, _) = timed(|| waiting.exchange(file).map(<[u8]>::len))?;
        let (alone, _) = timed(|| idle.exchange(file).map(<[u8]>::len))?;
        if round >= 20 {
            times.0.push(beside);
            times.1.push(alone);
        }
    }
    table::row("a file beside 64 hung fetches", "the same alone", times);
    Ok(())
}

fn beside_a_plain_get(daemon: &mut Peer, url: &str) -> Answer<Times> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Once is enough; a second time says so.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .build()?;
    let frame = support::request("agent/read", json!({ "path": url }));
    let mut times = Times::default();
    for round in 0..ROUNDS / 4 + 20 {
        let (page, _) = timed(|| daemon.exchange(&frame).map(<[u8]>::len))?;
        let (plain, _) = timed(|| {
            let body = async { client.get(url).send().await?.bytes().await };
            Ok(runtime.block_on(body)?.len())
        })?;
        if round >= 20 {
            times.0.push(page);
            times.1.push(plain);
        }
    }
    Ok(times)
}
