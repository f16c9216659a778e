//! What cells gave, as rows after their sources; a terminal's colours and the lines it wrote over are left out, pictures are only named.

use std::ops::Range;

use super::json::{JsonError, Scanner, decode};
use super::model::{Cell, Notebook};
use super::text::Rendered;
use crate::task::{Stopped, Work};

/// A notebook with its outputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    pub text: String,
    pub pictures: Vec<Picture>,
}

/// A picture among the outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The row that names it, from 1.
    pub line: u64,
    /// Its Base64 in the JSON: a string, or an array of strings.
    place: Range<usize>,
}

impl Picture {
    /// The Base64 without blanks.
    pub fn base64(&self, json: &str) -> String {
        let mut text = text_at(json, &self.place).unwrap_or_default();
        text.retain(|c| !c.is_ascii_whitespace());
        text
    }
}

/// Kinds of data that are shown as pictures, with their names in nbformat 3.
const PICTURES: [(&str, &str); 4] = [
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];

/// Kinds of data that are shown as text: the first that is there.
const TEXTS: [(&str, &str); 5] = [
    ("text/plain", "text"),
    ("text/markdown", "markdown"),
    ("text/latex", "latex"),
    ("application/json", "json"),
    ("text/html", "html"),
];

/// Writes cells down with what they gave.
pub fn with_outputs(json: &str, notebook: &Notebook, work: &Work) -> Result<Shown, Stopped> {
    let mut writer = OutputWriter {
        json,
        rendered: Rendered::default(),
        pictures: Vec::new(),
    };
    for (index, cell) in notebook.cells().enumerate() {
        work.check()?;
        writer.rendered.push_marker(&cell.kind, index);
        writer.rendered.push_source(&cell.source);
        if writer.cell(cell, index).is_err() {
            let row = "[The outputs of this cell are not those of a notebook; :raw shows them]";
            writer.rendered.push_source(row);
        }
    }
    Ok(Shown {
        text: writer.rendered.text,
        pictures: writer.pictures,
    })
}

struct OutputWriter<'a> {
    json: &'a str,
    rendered: Rendered,
    pictures: Vec<Picture>,
}

/// The members of an output.
#[derive(Default)]
struct Output {
    kind: String,
    name: String,
    /// By their names, at the top or in `data`.
    values: Vec<(String, Range<usize>)>,
}

impl Output {
    fn value(&self, names: (&str, &str)) -> Option<&Range<usize>> {
        let named = |name: &str| self.values.iter().find(|(found, _)| found == name);
        let value = named(names.0).or_else(|| named(names.1));
        value.map(|(_, place)| place)
    }
}

impl OutputWriter<'_> {
    fn cell(&mut self, cell: &Cell, number: usize) -> Result<(), JsonError> {
        let Some(place) = &cell.outputs else {
            return Ok(());
        };
        let mut outputs = Vec::new();
        Scanner::starting_at(self.json, place.start).array(|scanner| {
            outputs.push(output(self.json, scanner)?);
            Ok(())
        })?;
        for output in &outputs {
            self.output(output, number);
        }
        Ok(())
    }

    fn output(&mut self, output: &Output, number: usize) {
        let text = |names| {
            let place = output.value(names)?;
            text_at(self.json, place)
        };
        match output.kind.as_str() {
            "stream" => {
                let name = match output.name.as_str() {
                    "stderr" => "stderr",
                    _ => "stdout",
                };
                let text = text(("text", "text")).unwrap_or_default();
                self.rows(name, number, &text);
            }
            "error" | "pyerr" => {
                let lines = text_of_lines(self.json, output.value(("traceback", "traceback")));
                let text = match lines.is_empty() {
                    false => lines,
                    true => format!(
                        "{}: {}",
                        text(("ename", "ename")).unwrap_or_default(),
                        text(("evalue", "evalue")).unwrap_or_default()
                    ),
                };
                self.rows("error", number, &text);
            }
            kind => {
                let name = match kind {
                    "execute_result" | "pyout" => "result",
                    "display_data" => "display",
                    _ => "output",
                };
                self.data(output, name, number);
            }
        }
    }

    /// Data of several kinds that say the same: a picture, and one text.
    fn data(&mut self, output: &Output, name: &str, number: usize) {
        self.rendered.push_marker(name, number);
        let picture = PICTURES
            .iter()
            .find_map(|names| Some((names.0, output.value(*names)?)));
        if let Some((kind, place)) = picture {
            let bytes = place.len() / 4 * 3;
            self.rendered
                .push_source(&format!("[{kind}, about {bytes} bytes]"));
            self.pictures.push(Picture {
                line: self.rendered.lines() as u64,
                place: place.clone(),
            });
        }
        let text = TEXTS.iter().find_map(|names| {
            let place = output.value(*names)?;
            text_at(self.json, place).or_else(|| Some(self.json[place.clone()].to_owned()))
        });
        match (text, picture) {
            (Some(text), _) => self.rendered.push_source(&as_on_paper(&text)),
            (None, Some(_)) => {}
            (None, None) => {
                let kinds = output.values.iter().map(|(kind, _)| kind.as_str());
                let kinds: Vec<&str> = kinds.filter(|kind| kind.contains('/')).collect();
                let row = match kinds.is_empty() {
                    true => "[no data]".to_owned(),
                    false => format!("[{}: not shown; :raw has it]", kinds.join(", ")),
                };
                self.rendered.push_source(&row);
            }
        }
    }

    fn rows(&mut self, name: &str, number: usize, text: &str) {
        self.rendered.push_marker(name, number);
        self.rendered.push_source(&as_on_paper(text));
    }
}

fn output(json: &str, scanner: &mut Scanner) -> Result<Output, JsonError> {
    let mut output = Output::default();
    scanner.object(|scanner, key| {
        let (name, _) = decode(&json[key]);
        match name.as_str() {
            "data" if scanner.peek() == Some(b'{') => {
                scanner.object(|scanner, key| {
                    let value = scanner.value()?;
                    output.values.push((decode(&json[key]).0, value));
                    Ok(())
                })?;
            }
            "output_type" | "name" | "stream" => {
                let value = scanner.value()?;
                let text = text_at(json, &value).unwrap_or_default();
                match name.as_str() {
                    "output_type" => output.kind = text,
                    _ => output.name = text,
                }
            }
            _ => {
                let value = scanner.value()?;
                output.values.push((name, value));
            }
        }
        Ok(())
    })?;
    Ok(output)
}

/// The text of a string, or of an array of strings; `None` for anything else.
fn text_at(json: &str, place: &Range<usize>) -> Option<String> {
    let mut text = String::new();
    each_string(json, place, |part| text.push_str(&part))?;
    Some(text)
}

/// Lines that are items of an array, each without its end.
fn text_of_lines(json: &str, place: Option<&Range<usize>>) -> String {
    let mut lines: Vec<String> = Vec::new();
    if let Some(place) = place {
        each_string(json, place, |line| {
            lines.push(line.trim_end_matches('\n').to_owned())
        });
    }
    lines.join("\n")
}

fn each_string(json: &str, place: &Range<usize>, mut part: impl FnMut(String)) -> Option<()> {
    let mut scanner = Scanner::starting_at(json, place.start);
    let mut string = |scanner: &mut Scanner| -> Result<(), JsonError> {
        let place = scanner.string()?;
        part(decode(&json[place]).0);
        Ok(())
    };
    match scanner.peek() {
        Some(b'"') => string(&mut scanner).ok(),
        Some(b'[') => scanner.array(string).ok().map(drop),
        _ => None,
    }
}

/// What a terminal would leave of a text: no colours, of a line that was written over the last
/// state, and no end of the last line.
fn as_on_paper(text: &str) -> String {
    let plain = without_escapes(text);
    let plain = plain.strip_suffix('\n').unwrap_or(&plain);
    let lines = plain.split('\n').map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.rsplit('\r')
            .find(|state| !state.is_empty())
            .unwrap_or("")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// ECMA-48: control sequences and strings, and single escapes.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let mut chars = after.char_indices();
        rest = match chars.next() {
            Some((_, '[')) => match chars.find(|(_, c)| ('@'..='~').contains(c)) {
                Some((end, _)) => &after[end + 1..],
                None => "",
            },
            Some((_, ']')) => match after.find(['\u{7}', '\u{1b}']) {
                Some(end) => after[end..].trim_start_matches(['\u{7}', '\u{1b}', '\\']),
                None => "",
            },
            Some((_, c)) => &after[c.len_utf8()..],
            None => "",
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::as_on_paper;

    #[test]
    fn colours_and_progress_are_left_out() {
        let check = |text: &str, paper: &str| assert_eq!(as_on_paper(text), paper);
        check("\u{1b}[0;31mred\u{1b}[0m\n", "red");
        check("10%\r50%\r100%\r\ndone\n\n", "100%\ndone\n");
        check(
            "\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ end",
            "link end",
        );
        check("cut \u{1b}[38;5", "cut ");
        check("", "");
    }
}
