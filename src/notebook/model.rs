//! The cells of a notebook and where they stand in its JSON; outputs are passed over, however large.

use std::ops::Range;

use super::json::{JsonError, Scanner, decode};
use crate::task::{Stopped, Work};

/// A notebook, by places in the JSON that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Notebook {
    /// `nbformat` and `nbformat_minor`, where they are numbers.
    pub format: Option<u64>,
    pub minor: u64,
    /// The lists of cells: one, but for nbformat 3 with several worksheets.
    pub sheets: Vec<Sheet>,
    /// The members of the whole.
    pub members: Vec<Member>,
}

/// One list of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// With its brackets.
    pub place: Range<usize>,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// With its braces.
    pub place: Range<usize>,
    /// `code`, `markdown`, `raw`; what else it says; `unknown` where that is no word.
    pub kind: String,
    pub members: Vec<Member>,
    /// What the cell says.
    pub source: String,
    /// The string or the array; `None` where the cell has no source.
    pub source_place: Option<SourcePlace>,
    /// Whether something of its source cannot be shown and written back.
    pub is_lossy: bool,
    pub id: Option<String>,
    pub outputs: Option<Range<usize>>,
}

/// A source in the JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcePlace {
    pub place: Range<usize>,
    /// The strings of an array; `None` where it is one string.
    pub items: Option<Vec<Range<usize>>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: String,
    /// With its quotes.
    pub key: Range<usize>,
    pub value: Range<usize>,
}

/// Why a text is not read as a notebook.
#[derive(Debug, Clone, PartialEq)]
pub enum NotRead {
    /// It is something else.
    NoNotebook,
    Damaged(JsonError),
    Stopped(Stopped),
}

impl From<JsonError> for NotRead {
    fn from(fault: JsonError) -> NotRead {
        NotRead::Damaged(fault)
    }
}

impl Notebook {
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.sheets.iter().flat_map(|sheet| &sheet.cells)
    }

    /// Whether it is in one of the formats whose rules are known: others are only shown.
    pub fn is_known(&self) -> bool {
        matches!(self.format, Some(3 | 4))
    }

    /// The name of a code cell's source (nbformat 3 calls it `input`).
    pub fn is_old(&self) -> bool {
        self.format == Some(3)
    }

    /// Whether cells have ids (nbformat 4.5 and later).
    pub fn has_ids(&self) -> bool {
        self.format == Some(4) && self.minor >= 5
    }
}

/// Finds the cells.
pub fn parse(json: &str, work: &Work) -> Result<Notebook, NotRead> {
    let mut scanner = Scanner::new(json);
    if scanner.peek() != Some(b'{') {
        return Err(NotRead::NoNotebook);
    }
    let mut reading = CellReader {
        json,
        work,
        stopped: None,
    };
    let mut notebook = Notebook {
        format: None,
        minor: 0,
        sheets: Vec::new(),
        members: Vec::new(),
    };
    let mut cells = None;
    let mut worksheets = None;
    let whole = scanner.object(|scanner, key| {
        let name = reading.name(&key);
        let start = scanner.at();
        match name.as_str() {
            "cells" => cells = Some(vec![reading.sheet(scanner)?]),
            "worksheets" => worksheets = Some(reading.worksheets(scanner)?),
            "nbformat" => notebook.format = scanner.whole_number()?,
            "nbformat_minor" => notebook.minor = scanner.whole_number()?.unwrap_or(0),
            _ => {
                scanner.value()?;
            }
        }
        let value = start..scanner.at_end();
        notebook.members.push(Member { name, key, value });
        Ok(())
    });
    if let Some(stopped) = reading.stopped {
        return Err(NotRead::Stopped(stopped));
    }
    whole?;
    scanner.end()?;
    notebook.sheets = cells.or(worksheets).ok_or(NotRead::NoNotebook)?;
    Ok(notebook)
}

/// Cells between two looks at the cancel token are one: each may hold megabytes of outputs.
struct CellReader<'a> {
    json: &'a str,
    work: &'a Work,
    stopped: Option<Stopped>,
}

impl<'a> CellReader<'a> {
    fn name(&self, key: &Range<usize>) -> String {
        decode(&self.json[key.clone()]).0
    }

    fn worksheets(&mut self, scanner: &mut Scanner<'a>) -> Result<Vec<Sheet>, JsonError> {
        let mut sheets = Vec::new();
        scanner.array(|scanner| {
            scanner.object(|scanner, key| match self.name(&key).as_str() {
                "cells" => {
                    sheets.push(self.sheet(scanner)?);
                    Ok(())
                }
                _ => scanner.value().map(drop),
            })?;
            Ok(())
        })?;
        Ok(sheets)
    }

    fn sheet(&mut self, scanner: &mut Scanner<'a>) -> Result<Sheet, JsonError> {
        if scanner.peek() != Some(b'[') {
            return scanner.fault("the cells are expected here as an array");
        }
        let mut cells = Vec::new();
        let place = scanner.array(|scanner| {
            if let Err(stopped) = self.work.check() {
                self.stopped = Some(stopped);
                return scanner.fault("stopped");
            }
            cells.push(self.cell(scanner)?);
            Ok(())
        })?;
        Ok(Sheet { place, cells })
    }

    fn cell(&mut self, scanner: &mut Scanner<'a>) -> Result<Cell, JsonError> {
        if scanner.peek() != Some(b'{') {
            return scanner.fault("a cell is expected here as an object");
        }
        let mut cell = Cell {
            place: 0..0,
            kind: "unknown".to_owned(),
            members: Vec::new(),
            source: String::new(),
            source_place: None,
            is_lossy: false,
            id: None,
            outputs: None,
        };
        let json = self.json;
        cell.place = scanner.object(|scanner, key| {
            let name = self.name(&key);
            let start = scanner.at();
            match name.as_str() {
                // Of a key that is there twice the last one counts, as everywhere with JSON.
                "source" | "input" => read_source(json, scanner, &mut cell)?,
                "cell_type" if scanner.peek() == Some(b'"') => {
                    let place = scanner.string()?;
                    let (kind, _) = decode(&json[place]);
                    if is_word(&kind) {
                        cell.kind = kind;
                    }
                }
                "id" if scanner.peek() == Some(b'"') => {
                    let place = scanner.string()?;
                    cell.id = Some(decode(&json[place]).0);
                }
                "outputs" => cell.outputs = Some(scanner.value()?),
                _ => {
                    scanner.value()?;
                }
            }
            let value = start..scanner.at_end();
            cell.members.push(Member { name, key, value });
            Ok(())
        })?;
        Ok(cell)
    }
}

fn read_source(json: &str, scanner: &mut Scanner, cell: &mut Cell) -> Result<(), JsonError> {
    cell.source.clear();
    cell.is_lossy = false;
    let mut push = |place: &Range<usize>| {
        let (text, is_lossy) = decode(&json[place.clone()]);
        cell.source.push_str(&text);
        cell.is_lossy |= is_lossy;
    };
    match scanner.peek() {
        Some(b'"') => {
            let place = scanner.string()?;
            push(&place);
            cell.source_place = Some(SourcePlace { place, items: None });
            Ok(())
        }
        Some(b'[') => {
            let mut items = Vec::new();
            let place = scanner.array(|scanner| {
                if scanner.peek() != Some(b'"') {
                    return scanner.fault("a line of a source is expected here as a string");
                }
                let item = scanner.string()?;
                push(&item);
                items.push(item);
                Ok(())
            })?;
            cell.source_place = Some(SourcePlace {
                place,
                items: Some(items),
            });
            Ok(())
        }
        _ => scanner.fault("a source is expected here as a string or an array of strings"),
    }
}

/// Whether a marker can name it.
pub fn is_word(kind: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !kind.is_empty() && kind.len() <= 40 && kind.chars().all(is_part)
}
