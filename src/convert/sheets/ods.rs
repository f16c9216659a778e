//! OpenDocument spreadsheets without what they hide, which the converter would show; a cell that is hidden never leaves here.

use std::io::Read;
use std::ops::Range;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, Writer};

use super::WorkbookFacts;
use crate::convert::Why;
use crate::convert::package::{self, Package, attribute, each_tag, part, rewritten};

/// Bytes of the part that holds the sheets; the converter's own bound on the elements of a part is
/// reached sooner.
const MAX_CONTENT: u64 = 64 * 1024 * 1024;

/// Columns of a sheet, as LibreOffice and Excel have them; what stands right of them is not counted.
const MAX_COLUMNS: u64 = 16_384;

/// Rows of a sheet, of which the same is true.
const MAX_ROWS: u64 = 1_048_576;

/// The name LibreOffice gives to the style of its copies of other files' sheets.
const COPY_OF_ANOTHER_FILE: &str = "ta_extref";

/// What is known of a workbook, and the workbook without what is hidden; `None` in place of that
/// where nothing is.
///
/// # Errors
///
/// What cannot be looked through to its end is not converted: it might hold something hidden.
pub(in crate::convert) fn without_hidden(
    bytes: &[u8],
) -> Result<(WorkbookFacts, Option<Vec<u8>>), Why> {
    let unknown = Ok((WorkbookFacts::default(), None));
    let Some(mut package) = package::opened(bytes) else {
        return unknown;
    };
    if package.index_for_name("content.xml").is_none() || is_encrypted(&mut package) {
        return unknown;
    }
    let content = content_of(&mut package)?;
    let mut hidden_styles = Vec::new();
    for styles in [part(&mut package, "styles.xml").as_deref(), Some(&content)] {
        // Styles that cannot be read are none for the converter either.
        let _ = styles.and_then(|xml| collect_styles(xml, &mut hidden_styles));
    }
    let damaged = |error| Why::Unreadable(format!("damaged: content.xml: {error}"));
    let mut measure = Measure::new(&hidden_styles);
    walk(&content, &mut measure).map_err(damaged)?;
    let Measure { facts, grids, .. } = measure;
    if !grids.iter().any(Grid::hides_something) {
        return Ok((facts, None));
    }
    let mut copy = Copy::new(&grids);
    walk(&content, &mut copy).map_err(damaged)?;
    drop(content);
    let mut made = Some(copy.out.into_inner());
    let made = rewritten(bytes, |name| name == "content.xml", |_| made.take());
    let made = made.ok_or_else(|| Why::Unreadable("damaged: its parts cannot be read".into()))?;
    Ok((facts, Some(made)))
}

/// Whether the package says that its parts are encrypted.
fn is_encrypted(package: &mut Package) -> bool {
    let mut is = false;
    if let Some(manifest) = part(package, "META-INF/manifest.xml") {
        let _ = each_tag(&manifest, |tag| {
            is |= tag.local_name().as_ref() == b"encryption-data";
        });
    }
    is
}

/// The part that holds the sheets, in UTF-8 or another encoding of which ASCII is a part.
fn content_of(package: &mut Package) -> Result<Vec<u8>, Why> {
    let damaged =
        |error: &dyn std::fmt::Display| Why::Unreadable(format!("damaged: content.xml: {error}"));
    let file = package.by_name("content.xml").map_err(|e| damaged(&e))?;
    let mut content = Vec::new();
    let mut file = file.take(MAX_CONTENT + 1);
    file.read_to_end(&mut content).map_err(|e| damaged(&e))?;
    if content.len() as u64 > MAX_CONTENT {
        return Err(Why::Unreadable(
            "it unpacks to more than is read: content.xml is larger than 64 MiB".to_owned(),
        ));
    }
    let (utf8, utf16) = (encoding_rs::UTF_8, content.get(..2));
    match encoding_rs::Encoding::for_bom(&content) {
        Some((encoding, _)) if encoding != utf8 => {
            Ok(encoding.decode(&content).0.into_owned().into())
        }
        // Without a mark, "<" alone tells.
        None if utf16 == Some(b"<\0") => {
            let text = encoding_rs::UTF_16LE.decode(&content).0.into_owned();
            Ok(text.into())
        }
        None if utf16 == Some(b"\0<") => {
            let text = encoding_rs::UTF_16BE.decode(&content).0.into_owned();
            Ok(text.into())
        }
        _ => Ok(content),
    }
}

/// The names of the styles under which a sheet is hidden.
fn collect_styles(xml: &[u8], hidden: &mut Vec<String>) -> Option<()> {
    let mut style = None;
    each_tag(xml, |tag| match tag.local_name().as_ref() {
        b"style" => style = attribute(tag, b"name"),
        b"default-style" => style = None,
        b"table-properties" if attribute(tag, b"display").as_deref() == Some("false") => {
            hidden.extend(style.take());
        }
        _ => {}
    })
}

/// Where an element stands in a sheet.
#[derive(Clone, Copy, PartialEq, Debug)]
enum ElementContext {
    Elsewhere,
    Spreadsheet,
    Sheet,
    /// Elements around columns or rows; hidden ones hide all that is in them.
    Columns {
        hidden: bool,
    },
    Rows {
        hidden: bool,
    },
    Column {
        hidden: bool,
    },
    Row {
        hidden: bool,
    },
    Cell,
    Covered,
}

impl ElementContext {
    /// Where an element stands whose parent stands here.
    fn of(self, tag: &BytesStart) -> ElementContext {
        let is_closed = || attribute(tag, b"display").as_deref() == Some("false");
        let is_collapsed = || {
            let visibility = attribute(tag, b"visibility");
            visibility.is_some_and(|value| value == "collapse" || value == "filter")
        };
        let within = match self {
            ElementContext::Columns { hidden } | ElementContext::Rows { hidden } => hidden,
            _ => false,
        };
        match (self, tag.local_name().as_ref()) {
            (ElementContext::Elsewhere, b"spreadsheet") => ElementContext::Spreadsheet,
            (ElementContext::Spreadsheet, b"table") => ElementContext::Sheet,
            (
                ElementContext::Sheet | ElementContext::Columns { .. },
                b"table-columns" | b"table-header-columns" | b"table-column-group",
            ) => ElementContext::Columns {
                hidden: within || is_closed(),
            },
            (
                ElementContext::Sheet | ElementContext::Rows { .. },
                b"table-rows" | b"table-header-rows" | b"table-row-group",
            ) => ElementContext::Rows {
                hidden: within || is_closed(),
            },
            (ElementContext::Sheet | ElementContext::Columns { .. }, b"table-column") => {
                ElementContext::Column {
                    hidden: within || is_collapsed(),
                }
            }
            (ElementContext::Sheet | ElementContext::Rows { .. }, b"table-row") => {
                ElementContext::Row {
                    hidden: within || is_collapsed(),
                }
            }
            (ElementContext::Row { .. }, b"table-cell") => ElementContext::Cell,
            (ElementContext::Row { .. }, b"covered-table-cell") => ElementContext::Covered,
            _ => ElementContext::Elsewhere,
        }
    }
}

/// One that goes through a workbook.
trait Visit {
    /// An element begins; an empty one ends at once.
    fn begin(&mut self, place: ElementContext, tag: &BytesStart, is_empty: bool);
    fn end(&mut self, place: ElementContext, event: Option<Event>);
    /// Anything else.
    fn other(&mut self, event: Event);
}

fn walk(xml: &[u8], visit: &mut impl Visit) -> Result<(), quick_xml::Error> {
    let mut reader = Reader::from_reader(xml);
    reader.config_mut().check_end_names = false;
    let mut places = Vec::new();
    loop {
        let parent = places.last().copied().unwrap_or(ElementContext::Elsewhere);
        match reader.read_event()? {
            Event::Eof => return Ok(()),
            Event::Start(tag) => {
                let place = parent.of(&tag);
                places.push(place);
                visit.begin(place, &tag, false);
            }
            Event::Empty(tag) => {
                let place = parent.of(&tag);
                visit.begin(place, &tag, true);
                visit.end(place, None);
            }
            event @ Event::End(_) => {
                let place = places.pop().unwrap_or(ElementContext::Elsewhere);
                visit.end(place, Some(event));
            }
            event => visit.other(event),
        }
    }
}

/// How many of the same an element stands for, as the converter reads it.
fn repeated(tag: &BytesStart, name: &[u8]) -> u64 {
    let count = attribute(tag, name).and_then(|count| count.parse().ok());
    count.unwrap_or(1).max(1)
}

/// Ascending ranges that do not touch, and how much is in all before each.
#[derive(Default, Debug)]
struct Ranges(Vec<(Range<u64>, u64)>);

impl Ranges {
    /// Adds a range right of all others.
    fn push(&mut self, range: Range<u64>) {
        match self.0.last_mut() {
            Some((last, _)) if last.end >= range.start => last.end = range.end,
            Some((last, before)) => {
                let before = *before + (last.end - last.start);
                self.0.push((range, before));
            }
            None => self.0.push((range, 0)),
        }
    }

    /// How many stand left of it.
    fn before(&self, at: u64) -> u64 {
        let next = self.0.partition_point(|(range, _)| range.start < at);
        match next.checked_sub(1).map(|last| &self.0[last]) {
            Some((range, before)) => before + (range.end.min(at) - range.start),
            None => 0,
        }
    }

    fn holds(&self, at: u64) -> bool {
        self.before(at.saturating_add(1)) > self.before(at)
    }

    /// How many of a range are not in here.
    fn outside(&self, from: u64, count: u64) -> u64 {
        let end = from.saturating_add(count);
        (end - from) - (self.before(end) - self.before(from))
    }
}

/// What is hidden of one sheet.
#[derive(Default, Debug)]
struct Grid {
    is_hidden: bool,
    rows: Ranges,
    columns: Ranges,
}

impl Grid {
    fn hides_something(&self) -> bool {
        self.is_hidden || !self.rows.0.is_empty() || !self.columns.0.is_empty()
    }
}

/// The first way through: what is hidden, and how much of it holds something.
struct Measure<'s> {
    hidden_styles: &'s [String],
    facts: WorkbookFacts,
    grids: Vec<Grid>,
    column: u64,
    row: u64,
    /// The repeats of the row, whether it is hidden, and whether it holds something.
    repeats: u64,
    row_is_hidden: bool,
    row_counts: bool,
    /// The columns of a cell that is being read, which may turn out to hold something.
    cell: Option<Range<u64>>,
    used: Vec<u64>,
}

impl<'s> Measure<'s> {
    fn new(hidden_styles: &'s [String]) -> Measure<'s> {
        Measure {
            hidden_styles,
            facts: WorkbookFacts::default(),
            grids: Vec::new(),
            column: 0,
            row: 0,
            repeats: 1,
            row_is_hidden: false,
            row_counts: false,
            cell: None,
            used: Vec::new(),
        }
    }

    fn begin_sheet(&mut self, tag: &BytesStart) {
        let style = attribute(tag, b"style-name").unwrap_or_default();
        let is_hidden = self.hidden_styles.contains(&style);
        match is_hidden {
            true => self.facts.sheets += u64::from(style != COPY_OF_ANOTHER_FILE),
            false => self.facts.names.extend(attribute(tag, b"name")),
        }
        self.grids.push(Grid {
            is_hidden,
            ..Grid::default()
        });
        (self.column, self.row) = (0, 0);
        self.used = vec![0; MAX_COLUMNS as usize / 64];
    }

    fn end_sheet(&mut self) {
        let Some(grid) = self.grids.last().filter(|grid| !grid.is_hidden) else {
            return;
        };
        let is_used = |column: u64| self.used[column as usize / 64] >> (column % 64) & 1 == 1;
        let hidden = grid.columns.0.iter();
        let columns = hidden.flat_map(|(range, _)| range.start..range.end.min(MAX_COLUMNS));
        self.facts.columns += columns.filter(|column| is_used(*column)).count() as u64;
    }

    /// The cell that is being read holds something.
    fn mark_cell(&mut self) {
        let Some(cell) = self.cell.take() else {
            return;
        };
        self.row_counts = true;
        let mut column = cell.start.min(MAX_COLUMNS);
        let end = cell.end.min(MAX_COLUMNS);
        while column < end {
            let (word, bit) = (column / 64, column % 64);
            let count = (64 - bit).min(end - column);
            self.used[word as usize] |= (u64::MAX >> (64 - count)) << bit;
            column += count;
        }
    }
}

impl Visit for Measure<'_> {
    fn begin(&mut self, place: ElementContext, tag: &BytesStart, _: bool) {
        match place {
            ElementContext::Sheet => self.begin_sheet(tag),
            ElementContext::Column { hidden } => {
                let end = self
                    .column
                    .saturating_add(repeated(tag, b"number-columns-repeated"));
                if let (true, Some(grid)) = (hidden, self.grids.last_mut()) {
                    grid.columns.push(self.column..end);
                }
                self.column = end;
            }
            ElementContext::Row { hidden } => {
                self.repeats = repeated(tag, b"number-rows-repeated");
                (self.row_is_hidden, self.row_counts, self.column) = (hidden, false, 0);
            }
            ElementContext::Cell | ElementContext::Covered => {
                let end = self
                    .column
                    .saturating_add(repeated(tag, b"number-columns-repeated"));
                self.cell = (place == ElementContext::Cell).then_some(self.column..end);
                self.column = end;
                if attribute(tag, b"value-type").is_some() {
                    self.mark_cell();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, place: ElementContext, _: Option<Event>) {
        match place {
            ElementContext::Sheet => self.end_sheet(),
            ElementContext::Row { .. } => {
                let end = self.row.saturating_add(self.repeats);
                let grid = self.grids.last_mut().filter(|grid| !grid.is_hidden);
                if let (true, Some(grid)) = (self.row_is_hidden, grid) {
                    grid.rows.push(self.row..end);
                    if self.row_counts {
                        self.facts.rows += end.min(MAX_ROWS) - self.row.min(MAX_ROWS);
                    }
                }
                self.row = end;
            }
            ElementContext::Cell => self.cell = None,
            _ => {}
        }
    }

    fn other(&mut self, event: Event) {
        let is_blank = |text: &[u8]| text.iter().all(u8::is_ascii_whitespace);
        match event {
            Event::Text(text) if is_blank(&text) => {}
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => self.mark_cell(),
            _ => {}
        }
    }
}

/// The second way through: a copy of all that is not hidden.
struct Copy<'g> {
    /// Of the sheets that are still to come, the next one first.
    left: std::slice::Iter<'g, Grid>,
    grid: Option<&'g Grid>,
    row: u64,
    repeats: u64,
    column: u64,
    /// Elements within one that is left out, that one included.
    left_out: u64,
    /// Visible places of the row that a merged cell took whose own column is hidden.
    owed: u64,
    out: Writer<Vec<u8>>,
}

impl<'g> Copy<'g> {
    fn new(grids: &'g [Grid]) -> Copy<'g> {
        Copy {
            left: grids.iter(),
            grid: None,
            row: 0,
            repeats: 1,
            column: 0,
            left_out: 0,
            owed: 0,
            out: Writer::new(Vec::new()),
        }
    }

    fn write(&mut self, event: Event) {
        // Nothing fails that is written into memory.
        let _ = self.out.write_event(event);
    }

    /// What is left of an element; `None` where that is nothing.
    fn kept(&mut self, place: ElementContext, tag: &BytesStart) -> Option<BytesStart<'static>> {
        match place {
            ElementContext::Sheet => {
                (self.grid, self.row) = (self.left.next(), 0);
                (!self.grid?.is_hidden).then(|| tag.to_owned())
            }
            ElementContext::Row { hidden } => {
                self.repeats = repeated(tag, b"number-rows-repeated");
                (self.column, self.owed) = (0, 0);
                (!hidden).then(|| tag.to_owned())
            }
            ElementContext::Cell => self.cell(tag),
            ElementContext::Covered => {
                let repeats = repeated(tag, b"number-columns-repeated");
                let shown = self.grid?.columns.outside(self.column, repeats);
                self.column = self.column.saturating_add(repeats);
                let owed = self.owed.min(shown);
                self.owed -= owed;
                let shown = shown - owed;
                (shown > 0).then(|| with(tag, &[("number-columns-repeated", shown)]))
            }
            _ => Some(tag.to_owned()),
        }
    }

    fn cell(&mut self, tag: &BytesStart) -> Option<BytesStart<'static>> {
        let grid = self.grid?;
        let repeats = repeated(tag, b"number-columns-repeated");
        let at = self.column;
        self.column = at.saturating_add(repeats);
        let columns = grid.columns.outside(at, repeats);
        let rows = repeated(tag, b"number-rows-spanned");
        let wide = repeated(tag, b"number-columns-spanned");
        if rows == 1 && wide == 1 {
            return (columns > 0).then(|| with(tag, &[("number-columns-repeated", columns)]));
        }
        // A merged cell is seen for as long as any of its columns is, as in the other workbooks.
        let shown = grid.columns.outside(at, wide);
        if shown == 0 {
            return None;
        }
        self.owed = u64::from(grid.columns.holds(at));
        let changes = [
            ("number-columns-repeated", columns.max(1)),
            ("number-columns-spanned", shown),
            ("number-rows-spanned", grid.rows.outside(self.row, rows)),
        ];
        Some(with(tag, &changes))
    }
}

/// The tag with those of its attributes changed that it has.
fn with(tag: &BytesStart, changes: &[(&str, u64)]) -> BytesStart<'static> {
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let mut made = BytesStart::new(name);
    for attribute in tag.attributes().with_checks(false).flatten() {
        let local = attribute.key.local_name();
        let change = changes
            .iter()
            .find(|(name, _)| name.as_bytes() == local.as_ref());
        let value = match change {
            Some((_, value)) => value.to_string().into_bytes(),
            None => {
                // It may have stood in single quotes.
                let value = String::from_utf8_lossy(&attribute.value);
                value.replace('"', "&quot;").into_bytes()
            }
        };
        made.push_attribute((attribute.key.as_ref(), &value[..]));
    }
    made
}

impl Visit for Copy<'_> {
    fn begin(&mut self, place: ElementContext, tag: &BytesStart, is_empty: bool) {
        if self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        match self.kept(place, tag) {
            None => self.left_out = 1,
            Some(tag) if is_empty => self.write(Event::Empty(tag)),
            Some(tag) => self.write(Event::Start(tag)),
        }
    }

    fn end(&mut self, place: ElementContext, event: Option<Event>) {
        if let (ElementContext::Row { .. }, 0 | 1) = (place, self.left_out) {
            self.row = self.row.saturating_add(self.repeats);
        }
        if self.left_out > 0 {
            self.left_out -= 1;
        } else if let Some(event) = event {
            self.write(event);
        }
    }

    fn other(&mut self, event: Event) {
        // It names the encoding that the text was decoded from.
        let is_undone = match &event {
            Event::Decl(declaration) => {
                let encoding = declaration.encoding().and_then(Result::ok);
                encoding.is_some_and(|name| name.to_ascii_lowercase().starts_with(b"utf-16"))
            }
            _ => false,
        };
        if self.left_out == 0 && !is_undone {
            self.write(event);
        }
    }
}
