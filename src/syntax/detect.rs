//! Which language a file is in, by its name and its first and last lines; never by guessing from its code.

use std::borrow::Cow;

use crate::text::Text;

use super::{Language, languages};

/// Lines at the beginning and at the end in which a modeline may stand.
const MODELINE_LINES: usize = 5;
/// Longer lines hold no shebang and no modeline.
const MAX_LINE_BYTES: usize = 1000;
/// Lines that are looked at to tell two languages with one extension apart.
const LOOK_LINES: usize = 400;

/// The language of a file: by its name or extension, then by its shebang line, then by a modeline.
///
/// `file_name` is the last part of the path.
pub fn detect(file_name: &str, text: &Text) -> Option<&'static Language> {
    by_name(file_name)
        .or_else(|| by_extension(file_name, text))
        .or_else(|| by_shebang(text))
        .or_else(|| by_modeline(text))
}

fn by_name(file_name: &str) -> Option<&'static Language> {
    let matches = |name: &String| match name.strip_suffix('*') {
        Some(prefix) => file_name.starts_with(prefix),
        None => file_name == name,
    };
    find(|language| language.file_names().iter().any(matches))
}

/// By the part after the last dot, in its own case first: `.R` and `.r` may differ.
fn by_extension(file_name: &str, text: &Text) -> Option<&'static Language> {
    let (stem, extension) = file_name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    let of = |extension: &str| -> Option<&'static Language> {
        let has = |language: &&Language| language.extensions().iter().any(|own| own == extension);
        let mut found = languages().iter().filter(has);
        let first = found.next()?;
        let other = found.find(|other| has_line_start(text, other.line_starts()));
        Some(other.unwrap_or(first))
    };
    of(extension).or_else(|| of(&extension.to_lowercase()))
}

fn has_line_start(text: &Text, starts: &[String]) -> bool {
    let mut lines = text.lines_at(0).take(LOOK_LINES);
    lines.any(|line| {
        let line = line.trim_start();
        starts.iter().any(|start| line.starts_with(start.as_str()))
    })
}

fn by_shebang(text: &Text) -> Option<&'static Language> {
    let line = short_lines(text, 0, 1).next()?;
    let program = interpreter(line.strip_prefix("#!")?)?.to_owned();
    find(|language| language.shebangs().contains(&program))
}

/// `python` of `/usr/bin/python3.12 -u`, `/usr/bin/env python3` and `/usr/bin/env -S VAR=1 python3 -u`.
fn interpreter(command: &str) -> Option<&str> {
    let base = |word: &'_ str| word.rfind(['/', '\\']).map_or(0, |at| at + 1);
    let mut words = command.split_whitespace();
    let first = words.next()?;
    let mut program = &first[base(first)..];
    if program == "env" {
        let word = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        program = &word[base(word)..];
    }
    let program = program.strip_suffix(".exe").unwrap_or(program);
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    Some(if bare.is_empty() { program } else { bare })
}

fn by_modeline(text: &Text) -> Option<&'static Language> {
    let total = text.len_lines();
    let end = total.saturating_sub(MODELINE_LINES).max(MODELINE_LINES);
    let first = short_lines(text, 0, MODELINE_LINES);
    let last = short_lines(text, end, MODELINE_LINES);
    first.chain(last).find_map(|line| {
        let name = vim_file_type(&line).or_else(|| emacs_mode(&line))?;
        by_modeline_name(&name)
    })
}

/// The language that an editor calls so: its `languageId` of the LSP.
pub fn named(id: &str) -> Option<&'static Language> {
    by_modeline_name(&id.to_lowercase())
}

fn by_modeline_name(name: &str) -> Option<&'static Language> {
    find(|language| language.name() == name || language.modelines().iter().any(|own| own == name))
}

/// `python` of `# vim: set ft=python ts=4 :` and of `# vi:filetype=python`.
fn vim_file_type(line: &str) -> Option<String> {
    // Most lines have none, and that is found fast.
    if !line.contains(':') {
        return None;
    }
    let after = ["vim:", "vi:", "ex:"].iter().find_map(|mark| {
        let at = line.find(mark)?;
        let begins = at == 0 || line[..at].ends_with(char::is_whitespace);
        begins.then(|| &line[at + mark.len()..])
    })?;
    after.split([' ', '\t', ':']).find_map(|option| {
        let (key, value) = option.split_once('=')?;
        let names_it = ["ft", "filetype", "syntax", "syn"].contains(&key);
        names_it.then(|| value.to_lowercase())
    })
}

/// `python` of `# -*- mode: python; coding: utf-8 -*-` and of `# -*- Python -*-`.
fn emacs_mode(line: &str) -> Option<String> {
    if !line.contains('*') {
        return None;
    }
    let (_, after) = line.split_once("-*-")?;
    let (inside, _) = after.split_once("-*-")?;
    if !inside.contains(':') {
        return Some(inside.trim().to_lowercase());
    }
    inside.split(';').find_map(|variable| {
        let (key, value) = variable.split_once(':')?;
        let names_it = key.trim().eq_ignore_ascii_case("mode");
        names_it.then(|| value.trim().to_lowercase())
    })
}

/// Those of the `count` lines from `first` on that are short enough.
fn short_lines(text: &Text, first: usize, count: usize) -> impl Iterator<Item = Cow<'_, str>> {
    let lines = first..(first + count).min(text.len_lines());
    // A line is copied only where that is known to be little.
    let are_short = lines.is_empty() || {
        let start_of = |line| text.rope().line_to_byte(line);
        start_of(lines.end) - start_of(lines.start) <= count * MAX_LINE_BYTES
    };
    let together = text.lines_at(first).take(if are_short { count } else { 0 });
    let alone = lines.filter(move |line| !are_short && text.line_bytes(*line) <= MAX_LINE_BYTES);
    let lines = together.chain(alone.map(|line| text.line(line)));
    lines.filter(|line| line.len() <= MAX_LINE_BYTES)
}

fn find(matches: impl Fn(&Language) -> bool) -> Option<&'static Language> {
    languages().iter().find(|language| matches(language))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file_name: &str, text: &str, expect: &str) {
        let found = detect(file_name, &Text::new(text)).map_or("none", Language::name);
        assert_eq!(found, expect, "{file_name} {text:?}");
    }

    #[test]
    fn by_name_and_extension() {
        check("main.rs", "", "rust");
        check("a.d.ts", "", "typescript");
        check("Makefile", "", "make");
        check("Dockerfile.dev", "", "dockerfile");
        check("CMakeLists.txt", "", "cmake");
        check("PHOTO.PY", "", "python");
        check("analysis.R", "", "r");
        check("App.vue", "", "vue");
        check(".py", "", "none");
        check("notes.txt", "", "none");
        check("a.h", "struct a { int b; };\n", "c");
        check("a.h", "#pragma once\n\nnamespace a {\n}\n", "cpp");
    }

    #[test]
    fn by_shebang() {
        check("run", "#!/bin/sh\n", "bash");
        check("run", "#!/usr/bin/python3.12 -u\n", "python");
        check("run", "#! /usr/bin/env node\n", "javascript");
        check("run", "#!/usr/bin/env -S A=1 ruby -w\r\n", "ruby");
        check("run", "#!/usr/bin/env\n", "none");
        check("run.py", "#!/bin/sh\n", "python");
    }

    #[test]
    fn by_modeline() {
        check("conf", "# -*- mode: ruby -*-\n", "ruby");
        check("conf", "a\n/* -*- C++ -*- */\n", "cpp");
        check("conf", "x\n\n# vim: set ft=yaml ts=2:\n", "yaml");
        check("conf", "x\n// vi:filetype=c\n", "c");
        check("conf", "x\n// ivim:ft=c\n", "none");
        check(
            "conf",
            &format!("{}# vim: ft=lua\n", "x\n".repeat(9)),
            "lua",
        );
        let middle = format!("{}# vim: ft=lua\n{}", "x\n".repeat(9), "x\n".repeat(9));
        check("conf", &middle, "none");
        let long = "x".repeat(10_000);
        check("conf", &format!("{long}\n# vim: ft=lua\n"), "lua");
        check(
            "conf",
            &format!("{long}\n{long}\nx\ny\nz\n# vim: ft=lua\n{long}"),
            "lua",
        );
        check("conf", &format!("# vim: ft=lua {long}\n"), "none");
    }
}
