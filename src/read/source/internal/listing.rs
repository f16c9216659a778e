//! Rows of ours for what there is, and what others wrote in them made harmless.

use crate::protocol::read::NamedResource;

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
            footer: None,
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

/// What others wrote (a name, a description, a title) as part of a row of ours: one line, blanks in
/// runs as one, without what is not seen or turns the writing around, cut at 200 characters.
pub fn one_line(written: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut is_after_blank = true;
    for c in written.chars() {
        let is_blank = c.is_whitespace() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}');
        if !is_blank && is_unseen(c) {
            continue;
        }
        if is_blank && is_after_blank {
            continue;
        }
        if count == MAX_WORDS {
            return format!("{}…", line.trim_end());
        }
        line.push(if is_blank { ' ' } else { c });
        is_after_blank = is_blank;
        count += 1;
    }
    line.truncate(line.trim_end().len());
    line
}

/// Control, bidirectional, invisible and tag characters.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_one_harmless_line() {
        let given = "  a\n\tb \u{202e}c\u{2028}d\u{e0041}\u{1b}[31m ";
        assert_eq!(one_line(given), "a b c d[31m");
        assert_eq!(one_line(&"x".repeat(200)), "x".repeat(200));
        assert_eq!(one_line(&"x".repeat(201)), "x".repeat(200) + "…");
        assert_eq!(
            one_line(&format!("{}  y", "x".repeat(199))),
            "x".repeat(199) + "…"
        );
    }

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
