//! A changed text as splices of the JSON: sources that are others now, cells that came, went, or are of another kind; a cell that reads as before is not touched.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::model::{Cell, Notebook, Sheet};
use super::style::{Spacing, Style, list, spacing_of_lines, spacing_of_members};
use super::text::{Draft, Rendered, drafts, render};

/// A place in the JSON and the text that takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    pub place: Range<usize>,
    pub text: String,
}

/// What an edit makes of a notebook.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewrite {
    /// In order and apart.
    pub splices: Vec<Splice>,
    /// The text of the notebook after them: its markers numbered anew.
    pub rendered: Rendered,
}

/// Why a text is that of no notebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotWrite {
    #[error(
        "Line {line} of the new text stands before the first cell; a notebook begins with a marker such as '# %% [code] cell:0'."
    )]
    BeforeFirst { line: usize },
    #[error(
        "A new cell is '# %% [code]', '# %% [markdown]' or '# %% [raw]', not [{kind}] (line {line} of the new text)."
    )]
    Kind { line: usize, kind: String },
    #[error(
        "The source of cell:{number} has half of a character (a lone surrogate) that cannot be written back; edit it as JSON, by the tag of a read with :raw."
    )]
    Lossy { number: usize },
}

/// Members that only code cells have, of both formats.
const OF_CODE: [&str; 5] = [
    "outputs",
    "execution_count",
    "prompt_number",
    "collapsed",
    "language",
];

/// Works out what `text` makes of a notebook. `kept` tells for each of its cells the line, from 0,
/// in which its marker still is; `moved` are the cells that are at another place than before.
pub fn rewrite(
    json: &str,
    notebook: &Notebook,
    text: &str,
    kept: &[Option<usize>],
    moved: &BTreeSet<usize>,
) -> Result<Rewrite, CannotWrite> {
    let mut drafts = drafts(text).map_err(|line| CannotWrite::BeforeFirst { line: line + 1 })?;
    let old: Vec<&Cell> = notebook.cells().collect();
    let matched = matches(&drafts, kept, moved);
    let mut writer = JsonWriter {
        json,
        notebook,
        style: Style::of(json, notebook),
        ids: old.iter().filter_map(|cell| cell.id.clone()).collect(),
    };
    let mut splices = Vec::new();
    let mut slots = Vec::new();
    for (draft, matched) in drafts.iter_mut().zip(&matched) {
        match matched {
            Some(index) => {
                let cell = old[*index];
                draft.source = with_ends_of(&draft.source, &cell.source);
                let edited = writer.edited(cell, draft, *index)?;
                if moved.contains(index) {
                    slots.push(NewCell::New(writer.as_it_is(cell, edited)));
                    continue;
                }
                splices.extend(edited);
                slots.push(NewCell::Old(*index));
            }
            None => slots.push(NewCell::New(writer.new_cell(draft)?)),
        }
    }
    splices.extend(writer.lists(&slots));
    Ok(Rewrite {
        splices: joined(splices),
        rendered: render(
            drafts
                .iter()
                .map(|draft| (draft.kind.as_str(), draft.source.as_str())),
        ),
    })
}

/// A cell of the new list.
enum NewCell {
    Old(usize),
    New(String),
}

/// Which old cell each new one is. A marker that still stands is its cell's; of those between two
/// such, equal numbers are the same cell, and where there are none, as many for as many. A cell
/// that was moved is between nothing.
fn matches(
    drafts: &[Draft],
    kept: &[Option<usize>],
    moved: &BTreeSet<usize>,
) -> Vec<Option<usize>> {
    let by_line: BTreeMap<usize, usize> = kept
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some(((*line)?, index)))
        .collect();
    let mut matched: Vec<Option<usize>> = drafts
        .iter()
        .map(|draft| by_line.get(&draft.line).copied())
        .collect();
    let (mut new_from, mut old_from) = (0, 0);
    let stands = |at: &usize| matched[*at].is_some_and(|index| !moved.contains(&index));
    let stands: Vec<usize> = (0..drafts.len()).filter(stands).collect();
    for new_to in stands.into_iter().chain([drafts.len()]) {
        let old_to = matched.get(new_to).copied().flatten().unwrap_or(kept.len());
        let new = (new_from..new_to).filter(|at| matched[*at].is_none());
        let new: Vec<usize> = new.collect();
        let old = (old_from..old_to).filter(|index| !moved.contains(index));
        between(drafts, &mut matched, &new, &old.collect::<Vec<_>>());
        (new_from, old_from) = (new_to + 1, old_to + 1);
    }
    matched
}

/// Both in order.
fn between(drafts: &[Draft], matched: &mut [Option<usize>], new: &[usize], old: &[usize]) {
    let mut left = old;
    for at in new {
        let number = drafts[*at].number;
        let index = number.and_then(|number| usize::try_from(number).ok());
        let place = index.and_then(|index| left.binary_search(&index).ok());
        if let Some(place) = place {
            matched[*at] = index;
            left = &left[place + 1..];
        }
    }
    if left.len() == old.len() && new.len() == old.len() {
        for (at, index) in new.iter().zip(old) {
            matched[*at] = Some(*index);
        }
    }
}

/// The new source with the line ends of the old one: rows in a text of ours take theirs from what
/// stands beside them, which may be of another cell.
fn with_ends_of(new: &str, old: &str) -> String {
    let ends = old.matches('\n').count();
    let long_ends = old.matches("\r\n").count();
    let short = || new.replace("\r\n", "\n");
    match long_ends {
        0 => short(),
        _ if long_ends == ends => short().replace('\n', "\r\n"),
        _ => new.to_owned(),
    }
}

/// Splices that touch as one.
fn joined(mut splices: Vec<Splice>) -> Vec<Splice> {
    splices.sort_by_key(|splice| (splice.place.start, splice.place.end));
    let mut joined: Vec<Splice> = Vec::new();
    for splice in splices {
        match joined.last_mut() {
            Some(last) if last.place.end == splice.place.start => {
                last.place.end = splice.place.end;
                last.text.push_str(&splice.text);
            }
            _ => joined.push(splice),
        }
    }
    joined
}

struct JsonWriter<'a> {
    json: &'a str,
    notebook: &'a Notebook,
    style: Style,
    /// Ids that are taken.
    ids: HashSet<String>,
}

impl JsonWriter<'_> {
    /// What an edit makes of a cell that stays; `None` where it reads as before.
    fn edited(
        &self,
        cell: &Cell,
        draft: &Draft,
        index: usize,
    ) -> Result<Option<Splice>, CannotWrite> {
        if draft.kind == cell.kind && draft.source == cell.source {
            return Ok(None);
        }
        if cell.is_lossy {
            return Err(CannotWrite::Lossy { number: index });
        }
        if draft.kind != cell.kind {
            let text = self.of_another_kind(cell, draft)?;
            let place = cell.place.clone();
            return Ok(Some(Splice { place, text }));
        }
        let value = self.source_of(cell, &draft.source);
        let splice = match (&cell.source_place, cell.members.last()) {
            (Some(place), _) => Splice {
                place: place.place.clone(),
                text: value,
            },
            (None, last) => {
                let name = self.style.string(self.source_name(&cell.kind));
                let member = format!("{name}{}{value}", self.style.colon);
                let spacing = spacing_of_members(self.json, &cell.place, &cell.members);
                let spacing = spacing.as_ref().unwrap_or(self.style.cell());
                match last {
                    Some(last) => Splice {
                        place: last.value.end..last.value.end,
                        text: format!("{}{member}", spacing.between),
                    },
                    None => Splice {
                        place: cell.place.clone(),
                        text: list(&[member], '{', '}', spacing),
                    },
                }
            }
        };
        Ok(Some(splice))
    }

    /// What the source of a cell of this kind is called.
    fn source_name(&self, kind: &str) -> &'static str {
        match self.notebook.is_old() && kind == "code" {
            true => "input",
            false => "source",
        }
    }

    /// A source in the form that it has in a cell.
    fn source_of(&self, cell: &Cell, source: &str) -> String {
        let items = cell
            .source_place
            .as_ref()
            .map(|place| place.items.is_some());
        if !items.unwrap_or(self.style.has_arrays) {
            return self.style.string(source);
        }
        let own = spacing_of_lines(self.json, cell);
        let spacing = match (own, &self.style.lines) {
            (Some((own, count)), _) if count > 1 || own.open.contains('\n') => own,
            (Some((own, _)), Some(lines)) => Spacing {
                between: lines.between.clone(),
                ..own
            },
            _ => self.style.new_lines().clone(),
        };
        self.style.array(source, &spacing)
    }

    fn new_source(&self, source: &str) -> String {
        match self.style.has_arrays {
            true => self.style.array(source, self.style.new_lines()),
            false => self.style.string(source),
        }
    }

    /// A cell that goes to another place, with all that it has.
    fn as_it_is(&self, cell: &Cell, edited: Option<Splice>) -> String {
        let mut text = self.json[cell.place.clone()].to_owned();
        if let Some(Splice { place, text: new }) = edited {
            let within = place.start - cell.place.start..place.end - cell.place.start;
            text.replace_range(within, &new);
        }
        text
    }

    /// A cell that was not there.
    fn new_cell(&mut self, draft: &Draft) -> Result<String, CannotWrite> {
        let mut members = vec![("metadata".to_owned(), "{}".to_owned())];
        if self.notebook.has_ids() {
            let id = self.new_id(&draft.source);
            members.insert(0, ("id".to_owned(), self.style.string(&id)));
        }
        let source = self.new_source(&draft.source);
        self.dressed(members, draft, source, self.style.cell())
    }

    /// A cell that was of another kind: what is no part of a kind stays.
    fn of_another_kind(&self, cell: &Cell, draft: &Draft) -> Result<String, CannotWrite> {
        let source = self.source_of(cell, &draft.source);
        let is_kept = |name: &str| {
            let of_kind = ["cell_type", "source", "input", "level"].contains(&name);
            let of_text = draft.kind == "code" && name == "attachments";
            !of_kind && !of_text && !OF_CODE.contains(&name)
        };
        let kept = cell.members.iter().filter(|member| is_kept(&member.name));
        let members = kept.map(|member| {
            let value = self.json[member.value.clone()].to_owned();
            (member.name.clone(), value)
        });
        let spacing = spacing_of_members(self.json, &cell.place, &cell.members);
        let spacing = spacing.as_ref().unwrap_or(self.style.cell());
        self.dressed(members.collect(), draft, source, spacing)
    }

    /// A cell of these members and those of its kind, in the order in which nbformat writes them.
    fn dressed(
        &self,
        mut members: Vec<(String, String)>,
        draft: &Draft,
        source: String,
        spacing: &Spacing,
    ) -> Result<String, CannotWrite> {
        let kind = draft.kind.as_str();
        if !["code", "markdown", "raw"].contains(&kind) {
            return Err(CannotWrite::Kind {
                line: draft.line + 1,
                kind: draft.kind.clone(),
            });
        }
        let mut add = |name: &str, value: String| members.push((name.to_owned(), value));
        add("cell_type", self.style.string(kind));
        add(self.source_name(kind), source);
        if kind == "code" {
            add("outputs", "[]".to_owned());
            match self.notebook.is_old() {
                true => {
                    add("collapsed", "false".to_owned());
                    add("language", self.language());
                }
                false => add("execution_count", "null".to_owned()),
            }
        }
        members.sort_by(|one, other| one.0.cmp(&other.0));
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("{}{}{value}", self.style.string(name), self.style.colon))
            .collect();
        Ok(list(&members, '{', '}', spacing))
    }

    /// The language of code cells, of which nbformat 3 has each say it.
    fn language(&self) -> String {
        let mut members = self.notebook.cells().flat_map(|cell| &cell.members);
        let said = members.find(|member| member.name == "language");
        match said {
            Some(member) => self.json[member.value.clone()].to_owned(),
            None => self.style.string("python"),
        }
    }

    /// An id that no cell has: the same for the same edit, so that trying it tells the truth.
    fn new_id(&mut self, source: &str) -> String {
        let mut number = self.ids.len() as u64;
        loop {
            let hash = xxh3_64(format!("{number}\0{source}").as_bytes());
            let id = format!("{:08x}", hash as u32);
            if self.ids.insert(id.clone()) {
                return id;
            }
            number += 1;
        }
    }

    /// What becomes of the lists of cells. A new cell goes where the one before it is.
    fn lists(&self, slots: &[NewCell]) -> Vec<Splice> {
        let sheets = &self.notebook.sheets;
        let mut firsts = Vec::new();
        let mut count = 0;
        for sheet in sheets {
            firsts.push(count);
            count += sheet.cells.len();
        }
        let sheet_of = |index: usize| firsts.partition_point(|first| *first <= index).max(1) - 1;
        let first_used = sheets.iter().position(|sheet| !sheet.cells.is_empty());
        let mut now = first_used.unwrap_or(0);
        let mut of_sheets: Vec<Vec<&NewCell>> = sheets.iter().map(|_| Vec::new()).collect();
        for slot in slots {
            if let NewCell::Old(index) = slot {
                now = sheet_of(*index);
            }
            if let Some(slots) = of_sheets.get_mut(now) {
                slots.push(slot);
            }
        }
        let mut splices = Vec::new();
        for ((sheet, slots), first) in sheets.iter().zip(of_sheets).zip(firsts) {
            self.of_list(sheet, &slots, first, &mut splices);
        }
        splices
    }

    /// What becomes of one list, of which the first cell is the one of that index.
    fn of_list(&self, sheet: &Sheet, slots: &[&NewCell], first: usize, splices: &mut Vec<Splice>) {
        let mut before = None;
        let mut new: Vec<&str> = Vec::new();
        for slot in slots {
            match slot {
                NewCell::New(cell) => new.push(cell),
                NewCell::Old(index) => {
                    let after = index - first;
                    splices.extend(self.gap(sheet, before, &new, Some(after)));
                    new.clear();
                    before = Some(after);
                }
            }
        }
        splices.extend(self.gap(sheet, before, &new, None));
    }

    /// What becomes of the place between two cells that stay: the old ones there go, the new ones
    /// come. The blanks next to what stays are left alone.
    fn gap(
        &self,
        sheet: &Sheet,
        before: Option<usize>,
        new: &[&str],
        after: Option<usize>,
    ) -> Option<Splice> {
        let cells = &sheet.cells;
        let gone = before.map_or(0, |at| at + 1)..after.unwrap_or(cells.len());
        if gone.is_empty() && new.is_empty() {
            return None;
        }
        let between = match cells.as_slice() {
            [one, two, ..] => &self.json[one.place.end..two.place.start],
            _ => &self.style.cells().between,
        };
        let inside = sheet.place.start + 1..sheet.place.end - 1;
        let all: Vec<String> = new.iter().map(|cell| (*cell).to_owned()).collect();
        let (place, text) = match (before, after) {
            (Some(before), _) => {
                let start = cells[before].place.end;
                let end = cells[gone].last().map_or(start, |cell| cell.place.end);
                let text = all.iter().map(|cell| format!("{between}{cell}"));
                (start..end, text.collect())
            }
            (None, Some(after)) => {
                let start = cells[gone].first().unwrap_or(&cells[after]).place.start;
                let text = all.iter().map(|cell| format!("{cell}{between}"));
                (start..cells[after].place.start, text.collect())
            }
            (None, None) => match (cells.first(), cells.last()) {
                (Some(first), Some(last)) if !all.is_empty() => {
                    (first.place.start..last.place.end, all.join(between))
                }
                _ => {
                    let text = list(&all, '[', ']', self.style.cells());
                    (inside, text[1..text.len() - 1].to_owned())
                }
            },
        };
        Some(Splice { place, text })
    }
}
