//! Answers that are to have so many characters at most, whatever stands in them: how many bytes of rows
//! fit, and what becomes of an answer that no number of rows makes short enough.

use crate::protocol::read::ContentBlock;
use crate::view::window::Window;

/// How often a window is made smaller.
pub const TRIES: usize = 6;

/// What ends a text that was cut.
const CUT: &str = "\n[The rest has no room in this answer. Ask for less]";

/// Characters of all text.
pub fn chars_of(content: &[ContentBlock]) -> u64 {
    let text = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.chars().count(),
        ContentBlock::Image { .. } | ContentBlock::Resource { .. } => 0,
    });
    text.sum::<usize>() as u64
}

/// Whether no more characters than that are in it. Most often its bytes say so already.
fn fits(content: &[ContentBlock], most: u64) -> bool {
    let text = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.len(),
        ContentBlock::Image { .. } | ContentBlock::Resource { .. } => 0,
    });
    text.sum::<usize>() as u64 <= most || chars_of(content) <= most
}

/// Bytes of rows with which an answer of this window would have `most` characters; `None` where it
/// has no more, or no rows to spare.
pub fn smaller(content: &[ContentBlock], window: &Window, most: u64) -> Option<u64> {
    if fits(content, most) {
        return None;
    }
    let chars = chars_of(content);
    let over = chars.saturating_sub(most);
    let bytes = window.spent.bytes;
    // Of a single row there is nothing to spare.
    window.rows().nth(1)?;
    // Where characters have several bytes, as many of those for each.
    let rows = chars.min(bytes).max(1);
    Some(bytes.saturating_sub(over * bytes / rows).max(1))
}

/// Cuts what is longer than that; whether it was.
pub fn cut(content: &mut [ContentBlock], most: u64) -> bool {
    if fits(content, most) {
        return false;
    }
    let mut left = most.saturating_sub(CUT.len() as u64) as usize;
    let mut is_cut = false;
    for block in content {
        let ContentBlock::Text { text } = block else {
            continue;
        };
        if is_cut {
            text.clear();
            continue;
        }
        match text.char_indices().nth(left) {
            None => left -= text.chars().count(),
            Some((end, _)) => {
                let end = text[..end].rfind('\n').unwrap_or(end);
                text.truncate(end);
                text.push_str(CUT);
                is_cut = true;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ContentBlock {
        ContentBlock::Text {
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_is_too_long_is_cut_between_lines_and_says_so() {
        let mut content = vec![text(&"0123456789\n".repeat(20)), text("[a footer]")];
        assert!(!cut(&mut content.clone(), 230));
        assert!(cut(&mut content, 100));
        assert_eq!(
            content,
            [
                text(&format!("{}{CUT}", ["0123456789"; 4].join("\n"))),
                text("")
            ]
        );
        assert!(chars_of(&content) <= 100);
    }
}
