//! Tables as pipe tables, spans repeated into the grid; tables that only lay a page out as blocks in reading order.

use super::super::tree::Index;
use super::Writer;
use super::code::is_gutter;
use super::inline::Inline;

/// Columns that a table may have, and rows that a cell may span.
const COLUMNS: usize = 200;
const SPAN: usize = 1000;

/// Bytes of a cell beyond which its text is not repeated over its span.
const REPEATED: usize = 200;

/// A row: whether it is marked as the head, and its cells.
struct TableRow {
    at: Index,
    is_head: bool,
    cells: Vec<Index>,
}

/// A table's cells, written; each place of the grid names one.
struct Grid {
    texts: Vec<String>,
    /// The number of a text, and whether it is written there for the first time.
    rows: Vec<Vec<Option<(usize, bool)>>>,
}

impl Writer<'_> {
    pub(super) fn table(&mut self, at: Index) {
        let rows = self.rows(at);
        for caption in self
            .tree
            .children(at)
            .filter(|&child| self.tree.name(child) == "caption")
        {
            self.block(caption);
        }
        if self.is_layout(at, &rows) {
            for row in &rows {
                for &cell in &row.cells {
                    self.block(cell);
                }
            }
            return;
        }
        let names: Vec<Vec<String>> = rows.iter().map(|row| self.names_of_row(row)).collect();
        let grid = self.grid(&rows);
        let columns = grid.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        // Without a head of its own its first row is the head.
        for (number, row) in grid.rows.iter().enumerate() {
            let opened: Vec<_> = names[number].iter().map(|id| self.out.open(id)).collect();
            self.out.line(&grid.line(row, columns));
            self.out.close_all(opened);
            if number == 0 {
                self.out.line(&format!("|{}", " --- |".repeat(columns)));
            }
        }
        self.out.part();
    }

    /// The rows of a table, not those of tables within it; the head first.
    fn rows(&self, table: Index) -> Vec<TableRow> {
        let mut rows = Vec::new();
        let mut at = table + 1;
        let seen = |at: &Index| !self.left_out.has(*at);
        while at < self.tree.end(table) {
            match self.tree.name(at) {
                _ if !seen(&at) => at = self.tree.end(at),
                "thead" | "tbody" | "tfoot" => at += 1,
                "tr" => {
                    let cells: Vec<Index> = self
                        .tree
                        .children(at)
                        .filter(seen)
                        .filter(|&cell| matches!(self.tree.name(cell), "td" | "th"))
                        .filter(|&cell| !is_gutter(self.tree, cell))
                        .collect();
                    let around = self.tree.parent(at).map(|up| self.tree.name(up));
                    let is_head = around == Some("thead");
                    if !cells.is_empty() {
                        rows.push(TableRow { at, is_head, cells });
                    }
                    at = self.tree.end(at);
                }
                _ => at = self.tree.end(at),
            }
        }
        rows.sort_by_key(|row| !row.is_head);
        rows
    }

    /// Whether a table only puts blocks beside each other.
    fn is_layout(&self, table: Index, rows: &[TableRow]) -> bool {
        if matches!(
            self.tree.value(table, "role"),
            Some("presentation" | "none")
        ) {
            return true;
        }
        if rows.iter().all(|row| row.cells.len() < 2) {
            return true;
        }
        const BLOCKS: &[&str] = &[
            "table",
            "pre",
            "ul",
            "ol",
            "dl",
            "blockquote",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
        ];
        let cells = rows.iter().flat_map(|row| row.cells.iter());
        cells.copied().any(|cell| {
            self.left_out
                .rest(self.tree, self.tree.below(cell))
                .any(|below| BLOCKS.contains(&self.tree.name(below)))
        })
    }

    /// The names of places in a row that its cells do not write themselves.
    fn names_of_row(&self, row: &TableRow) -> Vec<String> {
        let range = self.tree.range(row.at);
        let seen = self.left_out.rest(self.tree, range);
        seen.filter_map(|at| self.name_of(at))
            .map(str::to_owned)
            .collect()
    }

    fn grid(&mut self, rows: &[TableRow]) -> Grid {
        let mut grid = Grid {
            texts: Vec::new(),
            rows: vec![Vec::new(); rows.len()],
        };
        for (number, row) in rows.iter().enumerate() {
            let mut column = 0;
            for &cell in &row.cells {
                while grid.rows[number].get(column).is_some_and(Option::is_some) {
                    column += 1;
                }
                if column >= COLUMNS {
                    break;
                }
                let span = |name: &str| -> usize {
                    let value = self.tree.value(cell, name);
                    value
                        .and_then(|value| value.parse().ok())
                        .unwrap_or(1)
                        .clamp(1, SPAN)
                };
                let wide = span("colspan").min(COLUMNS - column);
                let high = match self.tree.value(cell, "rowspan") {
                    Some("0") => rows.len(),
                    _ => span("rowspan"),
                };
                let high = high.min(rows.len() - number);
                let text = self.cell(cell);
                grid.texts.push(text);
                grid.put(number, column, high, wide);
                column += wide;
            }
        }
        grid
    }

    /// A cell's text in one line.
    fn cell(&mut self, cell: Index) -> String {
        let mut inline = match self.tree.name(cell) {
            "th" => Inline::bold(),
            _ => Inline::default(),
        };
        self.inline_children(cell, &mut inline);
        let text = inline.text;
        let lines: Vec<&str> = text
            .split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        lines.join("<br>").replace('|', "\\|")
    }
}

impl Grid {
    /// Puts the last text into its places.
    fn put(&mut self, row: usize, column: usize, high: usize, wide: usize) {
        let text = self.texts.len() - 1;
        for (below, places) in self.rows[row..row + high].iter_mut().enumerate() {
            if places.len() < column + wide {
                places.resize(column + wide, None);
            }
            for (beside, place) in places[column..column + wide].iter_mut().enumerate() {
                place.get_or_insert((text, below == 0 && beside == 0));
            }
        }
    }

    fn line(&self, row: &[Option<(usize, bool)>], columns: usize) -> String {
        let mut line = String::from("|");
        for column in 0..columns {
            let text = match row.get(column).copied().flatten() {
                Some((text, is_first)) => {
                    let text = self.texts[text].as_str();
                    if is_first || text.len() <= REPEATED {
                        text
                    } else {
                        ""
                    }
                }
                None => "",
            };
            line.push(' ');
            if !text.is_empty() {
                line.push_str(text);
                line.push(' ');
            }
            line.push('|');
        }
        line
    }
}
