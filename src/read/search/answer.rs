//! What is found as an answer: the rows of each file under its header, then how much was found and how to go on; what is shown is recorded before the answer is handed on.

use std::fmt::Write;

use crate::hashline::Tag;
use crate::protocol::read::{ContentBlock, CutLine, Hashline, LineSpan};
use crate::protocol::search::{FoundFile, LeftOut, SearchDetails, SearchResult};
use crate::search::{Found, Pattern};
use crate::session::Notice;
use crate::view::{LineSet, in_header, in_listing};

use super::super::finish::RecordedText;
use super::super::fit;
use super::super::reader::Reader;
use super::super::source::Opened;
use super::ask::{After, SearchAsk};
use super::rows::{FileRows, Layout, RowRoom};

/// Cut rows that get a footer of their own.
const CUT_FOOTERS: usize = 5;

/// Characters that footers may take, without those of a path.
const FOOTERS: u64 = 500;

/// What stands around a row, and what of one is given at least, in a short answer.
const BESIDE_ROW: u64 = 600;
const SHORTEST_ROW: u64 = 40;

/// A file in which something was found, ready to be written.
pub(super) struct FoundIn<'a> {
    /// How headers call it.
    pub(super) name: String,
    pub(super) resolved_path: Option<String>,
    pub(super) found: &'a Found,
    /// Not of a count.
    pub(super) opened: Option<&'a Opened>,
    /// No line up to this one is shown.
    pub(super) after: u64,
    /// The tag of the text that was shown up to there.
    pub(super) had: Option<Tag>,
}

/// Why a search ended before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfinished {
    /// The last file that was looked at.
    pub(super) last: Option<String>,
    /// It took too long; else the answer is full.
    pub(super) out_of_time: bool,
}

/// Writes one answer, file by file.
pub(super) struct Answer<'a> {
    reader: &'a Reader,
    ask: &'a SearchAsk,
    pattern: &'a Pattern,
    room: RowRoom,
    columns: usize,
    text: String,
    notices: Vec<String>,
    files: Vec<FoundFile>,
    matches: u64,
    shown: Vec<ShownFile<'a>>,
    after: Option<String>,
    is_full: bool,
}

/// What is to be recorded of a file that was written.
struct ShownFile<'a> {
    recorded: RecordedText<'a>,
    name: String,
    rows: LineSet,
}

impl<'a> Answer<'a> {
    /// An answer that begins with what is to be said of how the search was understood.
    pub(super) fn new(
        reader: &'a Reader,
        ask: &'a SearchAsk,
        pattern: &'a Pattern,
        understood: Vec<String>,
    ) -> Answer<'a> {
        let mut text = String::new();
        for said in &understood {
            let _ = writeln!(text, "[{said}]");
        }
        let chars = ask.chars.unwrap_or(u64::MAX);
        let columns = chars.saturating_sub(BESIDE_ROW).max(SHORTEST_ROW);
        let columns = usize::try_from(columns).unwrap_or(usize::MAX);
        let taken = text.chars().count() as u64 + FOOTERS;
        Answer {
            reader,
            ask,
            pattern,
            room: RowRoom {
                budget: ask.budget,
                chars: chars.saturating_sub(taken),
            },
            columns: ask.columns.min(columns),
            text,
            notices: understood,
            files: Vec::new(),
            matches: 0,
            shown: Vec::new(),
            after: None,
            is_full: false,
        }
    }

    /// Whether nothing more has room.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes what has room of a file.
    pub(super) fn add(&mut self, file: FoundIn<'a>) {
        match file.opened {
            None => self.add_count(file),
            Some(opened) => self.add_rows(file, opened),
        }
    }

    fn add_count(&mut self, file: FoundIn) {
        let row = format!("{}: {}\n", in_listing(&file.name), file.found.count);
        // The next one's path may be told once more, as that to go on after.
        let chars = 2 * row.chars().count() as u64;
        let fits = self.room.budget.lines > 0
            && self.room.budget.bytes >= row.len() as u64
            && self.room.chars >= chars;
        if !fits && !self.files.is_empty() {
            return self.end();
        }
        self.room.budget.lines = self.room.budget.lines.saturating_sub(1);
        self.room.budget.bytes = self.room.budget.bytes.saturating_sub(row.len() as u64);
        self.room.chars = self.room.chars.saturating_sub(row.chars().count() as u64);
        self.text.push_str(&row);
        self.matches += file.found.count;
        self.after = Some(After::written(&file.name, None));
        self.files.push(FoundFile {
            path: file.name,
            resolved_path: file.resolved_path,
            hashline: None,
            matches: file.found.count,
            lines: Vec::new(),
            shown: Vec::new(),
            cut_lines: Vec::new(),
        });
    }

    fn add_rows(&mut self, file: FoundIn<'a>, opened: &'a Opened) {
        let Some(text) = opened.document.text.whole() else {
            return;
        };
        let snapshot = opened.snapshot.as_ref().filter(|_| self.ask.is_editable());
        let recorded = snapshot.map(|snapshot| self.reader.name(snapshot, text));
        let tag = recorded.as_ref().map(|it| it.version.tag);
        if let (Some(had), Some(tag)) = (file.had, tag)
            && had != tag
        {
            let name = in_header(&file.name);
            let moved = format!(
                "{name} has changed since #{had}: it is #{tag} now, and goes on behind line {}",
                file.after
            );
            let _ = writeln!(self.text, "[{moved}]");
            self.notices.push(moved);
        }
        let tag = tag.map(|tag| tag.to_string());
        let header = match &tag {
            Some(tag) if self.ask.has_headers() => format!("¶{}#{tag}\n", in_header(&file.name)),
            _ => format!("{}\n", in_listing(&file.name)),
        };
        // It may stand once more in the last line.
        let header_chars = header.chars().count() as u64;
        let mut room = self.room;
        room.chars = room.chars.saturating_sub(2 * header_chars);
        let layout = Layout {
            pattern: self.pattern,
            context: self.ask.context,
            columns: self.columns,
            after: file.after,
        };
        let is_first = self.files.is_empty();
        let rows = FileRows::of(text, &file.found.spans, layout, &mut room, is_first);
        if rows.lines.is_empty() {
            return self.end();
        }
        self.is_full |= !rows.is_complete || file.found.has_more;
        room.chars += header_chars;
        self.room = room;
        self.text.push_str(&header);
        self.text.push_str(&rows.text);
        let last = rows.lines.last().map_or(file.after, |span| span.end);
        self.after = Some(After::written(&file.name, Some((last, tag.as_deref()))));
        let matches = matches_in(&rows.lines, file.found);
        self.matches += matches;
        self.files.push(FoundFile {
            path: file.name.clone(),
            resolved_path: file.resolved_path,
            hashline: tag.map(|tag| Hashline {
                path: file.name.clone(),
                tag,
            }),
            matches,
            lines: rows.lines,
            shown: rows.shown.spans().to_vec(),
            cut_lines: rows.cut_lines,
        });
        self.shown.extend(recorded.map(|recorded| ShownFile {
            recorded,
            name: file.name,
            rows: rows.shown,
        }));
    }

    fn end(&mut self) {
        self.is_full = true;
    }

    /// The answer, once all that is shown is on record, and who must hear of what that changes.
    pub(super) fn finish(
        mut self,
        (searched, left_out): (u64, LeftOut),
        unfinished: Option<Unfinished>,
    ) -> (SearchResult, Vec<Notice>) {
        let unfinished = match (self.is_full, unfinished) {
            (true, _) => Some(Unfinished {
                last: None,
                out_of_time: false,
            }),
            (false, unfinished) => unfinished,
        };
        if let Some(Unfinished {
            last: Some(last), ..
        }) = &unfinished
        {
            self.after = Some(After::written(last, None));
        }
        let after = self.after.take().filter(|_| unfinished.is_some());
        let footers = self.footers(searched, left_out, unfinished.as_ref(), after.as_deref());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&footers);
        let mut content = vec![ContentBlock::Text { text: self.text }];
        let is_cut = self
            .ask
            .chars
            .is_some_and(|most| fit::cut(&mut content, most));
        let mut notices = Vec::new();
        for ShownFile {
            recorded,
            name,
            rows,
        } in self.shown
        {
            // Nobody knows which of them stand before the cut.
            let rows = if is_cut { LineSet::new() } else { rows };
            notices.extend(self.reader.show(&self.ask.session, recorded, &rows, &name));
        }
        if is_cut {
            self.files.iter_mut().for_each(|file| file.shown.clear());
        }
        let details = SearchDetails {
            matches: self.matches,
            complete: unfinished.is_none(),
            after,
            searched,
            files: self.files,
            left_out,
            notices: self.notices,
        };
        (SearchResult { content, details }, notices)
    }

    /// One line each: cut rows, what was left out, how much was found and how to go on.
    fn footers(
        &self,
        searched: u64,
        left_out: LeftOut,
        unfinished: Option<&Unfinished>,
        after: Option<&str>,
    ) -> String {
        let mut lines = Vec::new();
        let cut = self.files.iter();
        let cut = cut.flat_map(|file| file.cut_lines.iter().map(|line| (&file.path, line)));
        let cut: Vec<(&String, &CutLine)> = cut.collect();
        for (path, line) in cut.iter().take(CUT_FOOTERS) {
            let CutLine {
                line,
                shown_chars,
                total_chars,
            } = line;
            let total = total_chars.unwrap_or_default();
            let path = in_header(path);
            lines.push(format!(
                "Line {line} of {path}: {shown_chars} of {total} characters. Read {path}:{line}-{line}:raw for all of it"
            ));
        }
        if cut.len() > CUT_FOOTERS {
            lines.push(format!("{} more lines are cut", cut.len() - CUT_FOOTERS));
        }
        if let Some(words) = left_out.in_words() {
            lines.push(format!("Left out: {words}"));
        }
        let plus = if unfinished.is_some() { "+" } else { "" };
        let mut found = match (self.matches, self.files.len()) {
            (0, 0) if searched == 0 && !self.ask.globs.is_empty() => {
                "No file here is one that 'glob' names".to_owned()
            }
            (0, 0) => format!("No matches in {}", count(searched, "file", "s")),
            (matches, files) => format!(
                "{matches}{plus} match{} in {}",
                if matches == 1 && plus.is_empty() {
                    ""
                } else {
                    "es"
                },
                count(files as u64, "file", "s"),
            ),
        };
        if unfinished.is_some_and(|it| it.out_of_time) {
            found.push_str(", stopped after 5 s");
        }
        if let Some(after) = after {
            let _ = write!(found, ". Use after: {after}");
        }
        lines.push(found);
        let lines: Vec<String> = lines.iter().map(|line| format!("[{line}]")).collect();
        lines.join("\n")
    }
}

/// How many matches these lines are: the rest of one that begins before them is none.
fn matches_in(lines: &[LineSpan], found: &Found) -> u64 {
    (lines.len() as u64).saturating_sub(u64::from(found.begins_before))
}

/// `1 file`, `2 files`.
fn count(count: u64, what: &str, plural: &str) -> String {
    let plural = if count == 1 { "" } else { plural };
    format!("{count} {what}{plural}")
}
