//! Rows of ours for what there is, and what others wrote in them made harmless.

use crate::protocol::read::{InternalDetails, NamedResource};
use crate::text;
use crate::workspace::InternalUrl;

/// Characters of what others wrote that stand in a row.
const MAX_WORDS: usize = 200;

/// What there is, as rows without numbers.
#[derive(Debug, Default)]
pub struct Listing {
    /// The cells of each row: the last one as it is, the others under each other. A row of one cell
    /// stands for itself.
    pub rows: Vec<Vec<String>>,
    /// For pickers and system prompts, whatever rows are shown.
    pub resources: Vec<NamedResource>,
    /// How to read one, without brackets.
    pub footer: Option<String>,
    /// Its address, where that is not the one it was asked for by.
    pub url: Option<InternalUrl>,
    /// Where somebody else has what is listed.
    pub details: Option<InternalDetails>,
}

impl Listing {
    /// A row for each: its address, and what it is.
    pub fn of(resources: Vec<NamedResource>) -> Listing {
        let row = |it: &NamedResource| {
            let about = it.description.clone().unwrap_or_default();
            vec![it.uri.clone(), about]
        };
        Listing {
            rows: resources.iter().map(row).collect(),
            resources,
            ..Listing::default()
        }
    }

    /// The rows as they are written, each with its end.
    pub fn text(&self) -> String {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate().take(row.len().saturating_sub(1)) {
                let width = cell.chars().count();
                match widths.get_mut(at) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                match row.len() - 1 == at {
                    true => line.push_str(cell),
                    false => line.push_str(&format!("{cell:0$}  ", widths[at])),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// What others wrote (a name, a description, a title) as part of a row of ours, cut at 200 characters.
pub fn one_line(written: &str) -> String {
    text::one_line(written, MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_each_other() {
        let row = |cells: &[&str]| cells.iter().map(|it| it.to_string()).collect();
        let listing = Listing {
            rows: vec![
                row(&["a", "b", "c"]),
                row(&["longer than all"]),
                row(&["aa", "", "d"]),
            ],
            ..Listing::default()
        };
        assert_eq!(listing.text(), "a   b  c\nlonger than all\naa     d\n");
    }
}
