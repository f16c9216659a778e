//! Documents: a warm page beside a text of as many bytes, and the first page of a PDF of 350 pages from a daemon that has read nothing; it never looks at formats one by one.

use std::fmt::Write;
use std::fs;

use divan::Bencher;
use serde_json::json;

use crate::support::{self, Answer, Peer, SETTLED, Workspace};

const PAGES: usize = 350;
const LINES_OF_A_PAGE: usize = 40;

/// `long.pdf`, and `page.txt` with the Markdown of one of its pages.
pub fn workspace() -> Answer<Workspace> {
    let workspace = Workspace::new()?;
    fs::write(workspace.path().join("long.pdf"), pdf()?)?;
    std::thread::sleep(SETTLED);
    let mut daemon = Peer::daemon(workspace.path())?;
    let page = support::request(
        "agent/read",
        json!({ "path": "long.pdf:p2", "dialect": "plain" }),
    );
    let answer = daemon.result(&page)?;
    let text = answer["content"][0]["text"].as_str().ok_or("a text")?;
    let text = text.split("\n\n[").next().unwrap_or(text);
    fs::write(workspace.path().join("page.txt"), text)?;
    std::thread::sleep(SETTLED);
    Ok(workspace)
}

/// A PDF of many pages of plain lines, as small as one can be written by hand.
fn pdf() -> Answer<String> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        String::new(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    let mut kids = String::new();
    for page in 1..=PAGES {
        let mut content = String::from("BT /F 11 Tf 14 TL 60 760 Td\n");
        for line in 1..=LINES_OF_A_PAGE {
            writeln!(
                content,
                "(Line {line} of page {page}: the tide comes in and goes out again, as it did.) Tj T*"
            )?;
        }
        content.push_str("ET");
        let number = objects.len() + 1;
        write!(kids, "{number} 0 R ")?;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {} 0 R/Resources<</Font<</F 3 0 R>>>>>>",
            number + 1
        ));
        objects.push(format!(
            "<</Length {}>>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {PAGES}>>");
    let mut pdf = String::from("%PDF-1.4\n");
    let mut table = String::new();
    for (index, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", pdf.len())?;
        writeln!(pdf, "{} 0 obj\n{object}\nendobj", index + 1)?;
    }
    let (start, count) = (pdf.len(), objects.len() + 1);
    write!(
        pdf,
        "xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
    )?;
    Ok(pdf)
}

fn warm(bencher: Bencher, path: &str) {
    let workspace = workspace().expect("a workspace");
    let mut daemon = Peer::daemon(workspace.path()).expect("a daemon");
    let read = support::request("agent/read", json!({ "path": path }));
    daemon.result(&read).expect("an answer");
    let answer = daemon.result(&read).expect("an answer");
    assert_eq!(answer["details"]["cache"], "hit");
    bencher.bench_local(|| daemon.exchange(&read).expect("an answer").len());
}

mod warm_page {
    use super::*;

    #[divan::bench]
    fn of_a_pdf(bencher: Bencher) {
        warm(bencher, "long.pdf:p2");
    }

    #[divan::bench]
    fn text_of_as_many_bytes(bencher: Bencher) {
        warm(bencher, "page.txt");
    }
}

/// With the start of a converter, but not that of the daemon.
#[divan::bench(sample_count = 20)]
fn first_page_of_350(bencher: Bencher) {
    let workspace = workspace().expect("a workspace");
    let read = support::request("agent/read", json!({ "path": "long.pdf:p1" }));
    bencher
        .with_inputs(|| Peer::daemon(workspace.path()).expect("a daemon"))
        .bench_local_refs(|daemon| daemon.exchange(&read).expect("an answer").len());
}
