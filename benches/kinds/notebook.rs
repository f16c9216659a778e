//! Notebooks: a warm one beside a text of as many bytes as its cells, with and without large outputs; it never looks at edits.

use std::fs;

use divan::Bencher;

use crate::support::{self, Answer, InProcess, SETTLED, Workspace};

/// Bytes of outputs beside the same sources.
const OUTPUTS: usize = 8 << 20;

/// Lines of a cell.
const CELL: usize = 20;

/// `cells.txt`, the same lines as sources of `small.ipynb`, and with outputs in `large.ipynb`.
pub fn workspace() -> Answer<Workspace> {
    let workspace = Workspace::new()?;
    let text = support::source();
    fs::write(workspace.path().join("cells.txt"), &text)?;
    fs::write(workspace.path().join("small.ipynb"), notebook(&text, 0)?)?;
    fs::write(
        workspace.path().join("large.ipynb"),
        notebook(&text, OUTPUTS)?,
    )?;
    std::thread::sleep(SETTLED);
    Ok(workspace)
}

/// A notebook of these lines, with so many bytes of outputs in all.
fn notebook(text: &str, outputs: usize) -> Answer<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let count = lines.len().div_ceil(CELL).max(1);
    let output = "QUJD".repeat(outputs / count / 4);
    let mut cells = Vec::new();
    for source in lines.chunks(CELL) {
        let source = serde_json::to_string(source)?;
        cells.push(format!(
            r#"{{"cell_type": "code", "execution_count": null, "metadata": {{}}, "outputs": [{{"output_type": "display_data", "metadata": {{}}, "data": {{"image/png": "{output}"}}}}], "source": {source}}}"#
        ));
    }
    Ok(format!(
        r#"{{"cells": [{}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 4}}"#,
        cells.join(",\n")
    ))
}

fn warm(bencher: Bencher, path: &str) {
    let workspace = workspace().expect("a workspace");
    let read = InProcess::new(&workspace, path).expect("a scope");
    let reader = InProcess::reader();
    read.read(&reader).expect("an answer");
    bencher.bench(|| read.read(&reader).expect("an answer"));
}

mod warm_notebook {
    use super::*;

    #[divan::bench]
    fn notebook(bencher: Bencher) {
        warm(bencher, "small.ipynb");
    }

    #[divan::bench]
    fn notebook_with_8_mb_of_outputs(bencher: Bencher) {
        warm(bencher, "large.ipynb");
    }

    #[divan::bench]
    fn text_of_as_many_bytes(bencher: Bencher) {
        warm(bencher, "cells.txt");
    }
}
