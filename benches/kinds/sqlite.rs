//! A warm table of a database beside a warm text of as many bytes, and the same table asked for the first time; it never looks at queries that are slow by nature.

use std::fs;

use divan::Bencher;
use rusqlite::Connection;

use crate::support::{Answer, InProcess, SETTLED, Workspace};

/// Rows of the table, of which one page is read.
const ROWS: usize = 10_000;
pub const PAGE: &str = "table.db:words?limit=500&offset=100";

/// `table.db`, and `table.txt` with the bytes that a page of it is shown as.
pub fn workspace() -> Answer<Workspace> {
    let workspace = Workspace::new()?;
    let connection = Connection::open(workspace.path().join("table.db"))?;
    connection.execute_batch(&format!(
        "CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT, note TEXT);
         WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < {ROWS})
         INSERT INTO words SELECT x, 'word ' || x, 'a note on word ' || x FROM c;"
    ))?;
    drop(connection);
    let row = |n: usize| format!("| {n:<3} | word {n} | a note on word {n} |\n");
    let text: String = (101..=600).map(row).collect();
    fs::write(workspace.path().join("table.txt"), text)?;
    std::thread::sleep(SETTLED);
    Ok(workspace)
}

fn warm(bencher: Bencher, path: &str) {
    let workspace = workspace().expect("a workspace");
    let read = InProcess::new(&workspace, path).expect("a scope");
    let reader = InProcess::reader();
    read.read(&reader).expect("an answer");
    bencher.bench(|| read.read(&reader).expect("an answer"));
}

mod warm_table {
    use super::*;

    #[divan::bench]
    fn table(bencher: Bencher) {
        warm(bencher, PAGE);
    }

    #[divan::bench]
    fn text_of_as_many_bytes(bencher: Bencher) {
        warm(bencher, "table.txt");
    }
}

mod table_for_the_first_time {
    use super::*;

    #[divan::bench]
    fn table(bencher: Bencher) {
        let workspace = workspace().expect("a workspace");
        let read = InProcess::new(&workspace, PAGE).expect("a scope");
        bencher
            .with_inputs(InProcess::reader)
            .bench_refs(|reader| read.read(reader).expect("an answer"));
    }
}
