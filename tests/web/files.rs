//! Parts of what a URL is of, generated: sections and links of pages, members of archives, pages of documents. The server is asked once, every part is there, and every line once.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::server::{Reply, Running, Server};
use crate::client::Daemon;
use crate::tree::Tree;

fn cases() -> ProptestConfig {
    let is_long = std::env::var_os("PILCROW_LONG").is_some();
    ProptestConfig {
        cases: if is_long { 100 } else { 8 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Reads on from `part` by every selector that an answer names; the rows of all answers, by number.
fn rows(daemon: &Daemon, url: &str, part: &str) -> BTreeMap<u64, String> {
    let mut rows = BTreeMap::new();
    let mut path = format!("{url}{part}");
    loop {
        let result = daemon.read(&path).expect(&path);
        let text = result["content"][0]["text"].as_str().expect("a text");
        let body = text.split_once("\n---\n\n").map_or(text, |(_, body)| body);
        for row in body.lines() {
            let Some((number, line)) = row.split_once(':') else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            let before = rows.insert(number, line.to_owned());
            assert_eq!(before, None, "line {number} of {path} came twice");
        }
        match next(&result) {
            Some(selector) => path = format!("{url}:{selector}"),
            None => return rows,
        }
    }
}

fn next(result: &Value) -> Option<&str> {
    result["details"]["truncation"]["nextSelector"].as_str()
}

fn served(kind: &'static str, body: Vec<u8>) -> Running {
    Server::new()
        .otherwise(move |_| Reply::new(kind, body.clone()))
        .start()
}

/// An archive whose members are these texts.
fn tar(members: &[Vec<String>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (number, lines) in members.iter().enumerate() {
        let text = lines.join("\n") + "\n";
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let name = format!("d{}/m{number}.txt", number % 3);
        archive
            .append_data(&mut header, name, text.as_bytes())
            .expect("a member");
    }
    archive.into_inner().expect("an archive")
}

/// A document whose pages have these lines, written by hand after the PDF reference.
fn pdf(pages: &[Vec<String>]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut kids = String::new();
    for lines in pages {
        let number = objects.len() + 1;
        kids += &format!("{number} 0 R ");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >> /Contents {} 0 R >>",
            number + 1
        ));
        let shown: String = lines
            .iter()
            .map(|line| format!("({line}) Tj 0 -14 Td\n"))
            .collect();
        let stream = format!("BT /F 11 Tf 72 740 Td\n{shown}ET");
        objects.push(format!(
            "<< /Length {} >>\nstream\n{stream}\nendstream",
            stream.len()
        ));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len());
    let mut document = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        places += &format!("{:010} 00000 n \n", document.len());
        document += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let (at, count) = (document.len(), objects.len() + 1);
    document += &format!(
        "xref\n0 {count}\n0000000000 65535 f \n{places}trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n"
    );
    document.into_bytes()
}

fn texts(of: std::ops::Range<usize>, lines: usize) -> impl Strategy<Value = Vec<Vec<String>>> {
    proptest::collection::vec(proptest::collection::vec("[a-z]{3,12}", 1..lines), of)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn members_of_an_archive_are_all_there_and_whole(members in texts(1..8, 900)) {
        let server = served("application/x-tar", tar(&members));
        let tree = Tree::new();
        let daemon = Daemon::start(tree.path());
        let url = server.url("/a.tar");
        let listing = daemon.read_text(&url);
        prop_assert!(listing.contains("d0/"), "{}", listing);
        for (number, lines) in members.iter().enumerate() {
            let member = format!("{url}:d{}/m{number}.txt", number % 3);
            let rows = rows(&daemon, &member, "");
            prop_assert_eq!(rows.into_values().collect::<Vec<_>>(), lines.clone());
        }
        prop_assert_eq!(server.count("/a.tar"), 1);
    }

    #[test]
    fn pages_of_a_document_are_all_there_and_once(pages in texts(1..12, 30)) {
        let pages: Vec<Vec<String>> = pages
            .iter()
            .enumerate()
            .map(|(page, lines)| {
                let named = lines.iter().enumerate();
                named.map(|(line, word)| format!("p{page}l{line}x{word}")).collect()
            })
            .collect();
        let server = served("application/pdf", pdf(&pages));
        let tree = Tree::new();
        let daemon = Daemon::start(tree.path());
        let url = server.url("/a.pdf");
        let all: String = rows(&daemon, &url, ":1-").into_values().map(|row| row + "\n").collect();
        for line in pages.iter().flatten() {
            prop_assert_eq!(all.matches(line.as_str()).count(), 1, "{} in {}", line, all);
        }
        for (page, lines) in pages.iter().enumerate() {
            let shown = daemon.read_text(format!("{url}:p{}", page + 1));
            for line in lines {
                prop_assert!(shown.contains(line.as_str()), "{} in {}", line, shown);
            }
            let of_others = format!("p{}l0x", page + 1);
            prop_assert!(!shown.contains(&of_others), "{} in {}", of_others, shown);
        }
        prop_assert_eq!(server.count("/a.pdf"), 1);
    }

    #[test]
    fn sections_and_links_of_a_page_are_parts_of_the_same_lines(
        sections in texts(1..20, 40),
        links in 1..600_usize,
    ) {
        let body: String = sections
            .iter()
            .enumerate()
            .map(|(number, words)| {
                let paragraphs: String = words.iter().map(|word| format!("<p>{word} of s{number}</p>")).collect();
                format!("<h2 id=\"s{number}\">Section {number}</h2>{paragraphs}")
            })
            .collect();
        let anchors: String = (0..links)
            .map(|number| format!("<p><a href=\"/l{number}\">to {number}</a></p>"))
            .collect();
        let html = format!("<html><body><main><h1>All</h1>{body}<h2 id=\"links\">Links</h2>{anchors}</main></body></html>");
        let server = Server::new().otherwise(move |_| Reply::html(html.clone())).start();
        let tree = Tree::new();
        let daemon = Daemon::start(tree.path());
        let url = server.url("/page");
        let all = rows(&daemon, &url, ":1-");
        let numbers: Vec<u64> = all.keys().copied().collect();
        prop_assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>());
        for number in 0..sections.len() {
            let result = daemon.read(format!("{url}#s{number}")).expect("a section");
            let text = result["content"][0]["text"].as_str().expect("a text");
            let heading = format!(":## Section {number}");
            prop_assert!(text.lines().any(|row| row.ends_with(&heading)), "{}", text);
            for row in text.lines() {
                if let Some((Ok(line), shown)) = row.split_once(':').map(|(n, row)| (n.parse::<u64>(), row)) {
                    prop_assert_eq!(Some(shown), all.get(&line).map(String::as_str));
                    prop_assert!(!shown.contains(" of s") || shown.ends_with(&format!(" of s{number}")), "{}", row);
                }
            }
        }
        let listed: Vec<String> = rows(&daemon, &url, ":links").into_values().collect();
        let expected: Vec<String> = (0..links)
            .map(|number| format!("[to {number}]({})", server.url(&format!("/l{number}"))))
            .collect();
        prop_assert_eq!(listed, expected);
        prop_assert_eq!(server.count("/page"), 1);
    }
}
