//! A real server, in the long form: nginx with files, gzip, ETags, redirects and errors of its own (`setup-nginx.sh` installs it).

use std::net::TcpListener;
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::tls::Authority;
use crate::client::Daemon;
use crate::processes::until;
use crate::tree::Tree;

/// nginx on a port of its own, with its files below a folder.
struct Nginx {
    process: Child,
    port: u16,
    tls_port: u16,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Nginx {
    fn start(tree: &Tree) -> Nginx {
        let authority = Authority::new();
        let (chain, key) = authority.identity(&["localhost"]).pem();
        tree.write("authority.pem", authority.pem());
        tree.write("chain.pem", chain);
        tree.write("key.pem", key);
        let (port, tls_port) = (free_port(), free_port());
        let folder = tree.path().to_string_lossy().into_owned();
        let configuration = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log {folder}/access.log combined; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  types {{ text/html html; text/plain txt; text/markdown md; application/pdf pdf; }}
  gzip on; gzip_min_length 100; gzip_types text/plain;
  server {{
    listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl http2;
    ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
    root {folder}/site;
    location /old {{ return 301 /page.html; }}
    location /teapot {{ return 418 \"short and stout\\n\"; }}
    location /down {{ return 503; }}
  }}
}}
"
        );
        tree.write("nginx.conf", configuration);
        let process = Command::new("nginx")
            .args(["-p", &folder, "-c", &format!("{folder}/nginx.conf")])
            .spawn()
            .expect("nginx starts: tests/web/setup-nginx.sh installs it");
        until("nginx listens", || {
            std::net::TcpStream::connect(("127.0.0.1", tls_port)).is_ok()
        });
        Nginx {
            process,
            port,
            tls_port,
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

#[test]
fn pages_of_nginx_are_read() {
    if std::env::var_os("PILCROW_LONG").is_none() {
        return;
    }
    let pdf = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/document/book.pdf");
    let lines: String = (1..=4000).map(|n| format!("line {n}\n")).collect();
    let tree = Tree::new()
        .file("site/page.html", super::shown::PAGE)
        .file("site/lines.txt", &lines)
        .file("site/notes.md", "# Notes\n\nSome.\n")
        .file("site/book.pdf", std::fs::read(pdf).expect("a fixture"));
    let nginx = Nginx::start(&tree);
    let workspace = Tree::new();
    let daemon = Daemon::builder()
        .root(workspace.path())
        .settings(json!({ "web": { "caFile": tree.path().join("authority.pem") } }))
        .start();
    let plain = |path: &str| format!("http://localhost:{}{path}", nginx.port);
    let safe = |path: &str| format!("https://localhost:{}{path}", nginx.tls_port);
    for url in [plain("/old"), safe("/old")] {
        let result = daemon.read(&url).expect("a page");
        assert!(text(&result).contains("1:# Streams"), "{result}");
        assert_eq!(result["details"]["redirects"], json!([url]));
    }
    for url in [plain("/lines.txt"), safe("/lines.txt")] {
        let result = daemon.read(format!("{url}:3999-")).expect("lines");
        assert!(text(&result).ends_with("4000:line 4000"), "{result}");
        // The same version by its ETag, without a body.
        let again = daemon.read(&url).expect("lines");
        assert_eq!(again["details"]["cache"], "hit", "{again}");
    }
    let status = daemon.call("agent/status", json!({})).expect("a status");
    assert_eq!(status["web"]["revalidated"], 2, "{status}");
    tree.write("site/lines.txt", "another text\n");
    let result = daemon.read(plain("/lines.txt")).expect("lines");
    assert!(text(&result).ends_with("1:another text"), "{result}");
    let result = daemon.read(safe("/book.pdf:p1")).expect("a document");
    assert!(text(&result).contains("--- Page 1 ---"), "{result}");
    for (path, words) in [
        ("/teapot", "HTTP 418"),
        ("/down", "HTTP 503"),
        ("/none", "HTTP 404"),
    ] {
        let result = daemon.read(plain(path)).expect(path);
        assert!(text(&result).contains(words), "{result}");
        assert_eq!(result["details"]["method"], "failed");
    }
    let log = std::fs::read_to_string(tree.path().join("access.log")).expect("a log");
    assert!(log.contains("GET /lines.txt HTTP/2.0\" 304 0"), "{log}");
    assert!(log.contains("GET /lines.txt HTTP/1.1\" 304 0"), "{log}");
}
