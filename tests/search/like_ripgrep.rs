//! What is found is what ripgrep finds, in real trees, with every switch; `setup-ripgrep.sh` installs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::client::Daemon;

use super::{Lines, all_lines};

/// Crates that every build of ours has.
const TREES: [&str; 6] = [
    "regex-automata-0.4",
    "encoding_rs-0.8",
    "tokio-1",
    "rustls-0.23",
    "serde_json-1",
    "tree-sitter-python-0.25",
];

/// Patterns with the switches they are searched with.
const PATTERNS: [(&str, &str); 40] = [
    ("fn", ""),
    ("unsafe", "w"),
    ("TODO|FIXME|XXX", ""),
    (r"fn \w+\(", ""),
    (r"impl<.*> .* for", ""),
    (r"^use std::", ""),
    (r"^\s*$", ""),
    (r";$", ""),
    (r"\d{3,}", ""),
    ("error", "i"),
    ("ERROR", "iw"),
    ("self.", "F"),
    ("&mut self)", "F"),
    ("->", "F"),
    ("[derive(", "F"),
    (r"#\[(inline|test)\]", ""),
    ("usize", "w"),
    (r"\bu8\b.*\bu16\b", ""),
    (r"[^\x00-\x7F]", ""),
    (r"\p{Greek}", ""),
    (r"\p{Lu}\p{Ll}+Error", ""),
    ("ß|ü|é|字", "i"),
    ("straße", "i"),
    (r"\w+_\w+_\w+_\w+", ""),
    (r"(?i)license", ""),
    (r"(a|b|c){3}", ""),
    (r"\{\n", "U"),
    (r"\)\s*\n\s*->", "U"),
    (r"fn [a-z_]+\([^)]*\n[^)]*\)", "U"),
    (r"(?s)/\*.*?\*/", "U"),
    (r"^///.*\n///\n", "U"),
    ("}\n}", "FU"),
    (r"\n\n\n", "U"),
    (r"[[:upper:]]{6,}", ""),
    (r"\t", ""),
    (r"  +$", ""),
    (r"https?://[^\s)]+", ""),
    (r"'[^']'", ""),
    ("nothing like this is anywhere", ""),
    (r"pub(\(crate\))? (fn|struct|enum)", ""),
];

fn ripgrep() -> PathBuf {
    let setup = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/search/setup-ripgrep.sh");
    let done = Command::new(setup).output().expect("a shell");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let path = String::from_utf8(done.stdout).expect("a path");
    PathBuf::from(path.trim())
}

/// The newest of that name in cargo's registry.
fn tree(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.unwrap_or_else(|| {
        let home = std::env::var_os("HOME").expect("a home directory");
        Path::new(&home).join(".cargo")
    });
    let registries = std::fs::read_dir(cargo.join("registry/src")).expect("cargo's registry");
    let crates = registries
        .flatten()
        .flat_map(|registry| std::fs::read_dir(registry.path()).into_iter().flatten());
    let mut found: Vec<PathBuf> = crates
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(name))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
        .pop()
        .unwrap_or_else(|| panic!("no {name} in cargo's registry"))
}

/// What ripgrep finds with those switches, and what it is for the daemon.
fn both(pattern: &str, switches: &str) -> (Vec<&'static str>, Value) {
    let mut arguments = Vec::new();
    let mut params = json!({ "pattern": pattern, "budget": { "lines": 20_000, "bytes": 1 << 20 } });
    for switch in switches.chars() {
        let (argument, key) = match switch {
            'i' => ("--ignore-case", "ignoreCase"),
            'w' => ("--word-regexp", "word"),
            'F' => ("--fixed-strings", "literal"),
            'U' => ("--multiline", "multiline"),
            other => panic!("no switch {other}"),
        };
        arguments.push(argument);
        params[key] = json!(true);
    }
    (arguments, params)
}

/// Those of ripgrep, in files that both take for text as it is.
fn by_ripgrep(rg: &Path, tree: &Path, pattern: &str, switches: &[&str]) -> Lines {
    let done = Command::new(rg)
        .args(["--json", "--crlf", "--no-config", "--no-require-git"])
        .args([
            "--no-ignore-global",
            "--no-ignore-exclude",
            "--no-ignore-parent",
        ])
        .args(switches)
        .args(["--regexp", pattern, "./"])
        .current_dir(tree)
        .output()
        .expect("ripgrep");
    assert!(
        matches!(done.status.code(), Some(0 | 1)),
        "{pattern}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let mut found = Lines::new();
    for line in done.stdout.split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        if event["type"] != "match" {
            continue;
        }
        let data = &event["data"];
        let path = data["path"]["text"].as_str().expect("a path of characters");
        let start = data["line_number"].as_u64().expect("a number");
        let lines = data["lines"]["text"].as_str().unwrap_or_default();
        let count = lines.lines().count().max(1) as u64;
        let path = path.trim_start_matches("./").to_owned();
        let end = start + count - 1;
        found.entry(path).or_default().push((start, end));
    }
    found
}

/// UTF-8 with line ends that are not CR alone, and of no kind of its own.
fn is_plain(file: &Path) -> bool {
    let bytes = std::fs::read(file).expect("a file");
    let has_lines = bytes.contains(&b'\n') || !bytes.contains(&b'\r');
    let own_kind = ["ipynb", "rtf", "pdf"];
    let own_kind = file
        .extension()
        .is_some_and(|extension| own_kind.iter().any(|own| extension == *own));
    has_lines && !own_kind && !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok()
}

fn assert_same(rg: &Path, daemon: &Daemon, tree: &Path, pattern: &str, switches: &str) -> usize {
    let (arguments, params) = both(pattern, switches);
    let only_plain = |mut found: Lines| {
        found.retain(|path, _| is_plain(&tree.join(path)));
        found
    };
    let theirs = only_plain(by_ripgrep(rg, tree, pattern, &arguments));
    let ours = only_plain(all_lines(daemon, &params));
    let place = tree.display();
    for (path, lines) in &theirs {
        assert_eq!(
            ours.get(path),
            Some(lines),
            "{pattern} ({switches}) in {place}: {path}"
        );
    }
    assert_eq!(
        ours.len(),
        theirs.len(),
        "{pattern} ({switches}) in {place}"
    );
    theirs.values().map(Vec::len).sum()
}

/// Patterns made of what stands in the tree.
fn made(tree: &Path, count: usize, chance: &mut Chance) -> Vec<(String, &'static str)> {
    let mut words = Vec::new();
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let all = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                let long = all.filter(|word| word.chars().count() > 3);
                words.extend(long.step_by(97).map(str::to_owned));
            }
        }
    }
    words.sort();
    assert!(words.len() > 100, "{} words", words.len());
    let mut patterns = Vec::new();
    for at in 0..count {
        let mut word = || words[chance.below(words.len())].clone();
        let (one, other) = (word(), word());
        let short: String = one.chars().take(3).collect();
        patterns.push(match at % 10 {
            0 => (one, "F"),
            1 => (one.to_uppercase(), "i"),
            2 => (one, "w"),
            3 => (format!("{one}.*{other}|{other}"), ""),
            4 => (format!(r"^\s*{one}"), ""),
            5 => (format!(r"{one}\W*$"), ""),
            6 => (format!(r"{one}[^\n]*\n[^\n]*\b"), "U"),
            7 => (format!(r"(?:{short}|{other})\p{{L}}*"), "i"),
            8 => (format!(r"\b{short}\w{{2,5}}\b"), ""),
            _ => (format!(r"{one}\s+{short}|{other}\s*\n\s*\}}"), "iU"),
        });
    }
    patterns
}

#[test]
fn it_finds_what_ripgrep_finds() {
    let rg = ripgrep();
    let long = std::env::var_os("PILCROW_LONG").is_some();
    let (trees, further) = if long { (6, 160) } else { (2, 0) };
    let mut chance = Chance(0x5EA2_C4ED_0B0E_F11D);
    for name in &TREES[..trees] {
        let tree = tree(name);
        let daemon = Daemon::start(&tree);
        let mut matches = 0;
        for (pattern, switches) in PATTERNS {
            matches += assert_same(&rg, &daemon, &tree, pattern, switches);
        }
        for (pattern, switches) in made(&tree, further, &mut chance) {
            matches += assert_same(&rg, &daemon, &tree, &pattern, switches);
        }
        assert!(matches > 1000, "{matches} in {name}");
    }
}

#[test]
fn what_git_ignores_is_ignored_and_globs_are_ripgreps() {
    let rg = ripgrep();
    let mut tree = crate::tree::Tree::new()
        .file(".gitignore", "*.log\n/build/\n!keep.log\ndocs/*.tmp\n")
        .file(".ignore", "vendor\n!important.log\n")
        .file("src/.gitignore", "generated_*\n!generated_too.rs\n");
    for name in [
        "a.rs",
        "a.log",
        "keep.log",
        "important.log",
        "build/x.rs",
        "src/build/x.rs",
        "docs/a.tmp",
        "docs/sub/a.tmp",
        "vendor/lib.rs",
        "src/vendor/lib.rs",
        "src/generated_one.rs",
        "src/generated_too.rs",
        "src/lib.rs",
        "src/a.ts",
        "src/deep/down/b.tsx",
        ".hidden/a.rs",
        "src/.hidden.rs",
    ] {
        tree = tree.file(name, "needle\n");
    }
    let daemon = Daemon::start(tree.path());
    let globs: [&[&str]; 8] = [
        &[],
        &["*.rs"],
        &["src/**/*.{ts,tsx}"],
        &["!*.rs"],
        &["src/*.rs"],
        &["*.rs", "!src/**"],
        &["/a.rs"],
        &["**/down/*"],
    ];
    for glob in globs {
        let switches: Vec<String> = glob.iter().map(|it| format!("--glob={it}")).collect();
        let switches: Vec<&str> = switches.iter().map(String::as_str).collect();
        let mut theirs = by_ripgrep(&rg, tree.path(), "needle", &switches);
        if glob.iter().any(|it| !it.starts_with('!')) {
            // A glob of ripgrep's brings back what is ignored; ours never does.
            let shown = by_ripgrep(&rg, tree.path(), "needle", &[]);
            theirs.retain(|path, _| shown.contains_key(path));
        }
        let params = json!({ "pattern": "needle", "glob": glob });
        assert_eq!(all_lines(&daemon, &params), theirs, "{glob:?}");
    }
}
