//! Changing a rope as an editor says: a range of positions gives way to a text; a position outside the text is never an error, it is clamped as the LSP rules.

use std::borrow::Cow;

use ropey::Rope;

/// In what a position's `character` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PositionEncoding {
    Utf8,
    #[default]
    Utf16,
}

/// A position: line and character, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub character: usize,
}

/// The range that a change replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splice {
    pub start: Position,
    pub end: Position,
}

/// A change in lines: in a text of `total` lines, `removed` lines from `start` (1-indexed) on gave
/// way to `added` lines. Lines whose text stayed as it was are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSplice {
    pub total: u64,
    pub start: u64,
    pub removed: u64,
    pub added: u64,
}

/// Replaces a range of the rope; tells which lines that changed.
pub fn splice(
    rope: &mut Rope,
    range: &Splice,
    text: &str,
    encoding: PositionEncoding,
) -> LineSplice {
    let before = rope.clone();
    let start = char_index(rope, range.start, encoding);
    let end = char_index(rope, range.end, encoding).max(start);
    rope.remove(start..end);
    rope.insert(start, text);
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
    let first = before.char_to_line(start);
    let last = before.char_to_line(end);
    changed_lines(&before, rope, first, last, first + breaks)
}

/// Narrows the lines `first..=last_before` and `first..=last_after` to those that differ.
fn changed_lines(
    before: &Rope,
    after: &Rope,
    first: usize,
    last_before: usize,
    last_after: usize,
) -> LineSplice {
    let total = count_lines(before);
    let mut start = first.min(total);
    let mut end_before = (last_before + 1).min(total).max(start);
    let mut end_after = (last_after + 1).min(count_lines(after)).max(start);
    while start < end_before && start < end_after && line(before, start) == line(after, start) {
        start += 1;
    }
    while start < end_before
        && start < end_after
        && line(before, end_before - 1) == line(after, end_after - 1)
    {
        end_before -= 1;
        end_after -= 1;
    }
    LineSplice {
        total: total as u64,
        start: start as u64 + 1,
        removed: (end_before - start) as u64,
        added: (end_after - start) as u64,
    }
}

/// Lines as `Text` counts them: what follows the last newline is only one if it is something.
fn count_lines(rope: &Rope) -> usize {
    let bytes = rope.len_bytes();
    let phantom = bytes == 0 || rope.byte(bytes - 1) == b'\n';
    rope.len_lines() - usize::from(phantom)
}

/// A line without its end.
fn line(rope: &Rope, index: usize) -> Cow<'_, str> {
    let length = |line: &str| match line.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line).len(),
        None => line.len(),
    };
    match Cow::from(rope.line(index)) {
        Cow::Borrowed(line) => Cow::Borrowed(&line[..length(line)]),
        Cow::Owned(line) => Cow::Owned(line[..length(&line)].to_owned()),
    }
}

/// The character index of a position: a line past the end is the end of the text, a character past
/// the end of its line is the end of that line.
fn char_index(rope: &Rope, position: Position, encoding: PositionEncoding) -> usize {
    if position.line >= rope.len_lines() {
        return rope.len_chars();
    }
    let line_start = rope.line_to_char(position.line);
    let mut line_end = match position.line + 1 < rope.len_lines() {
        true => rope.line_to_char(position.line + 1) - 1,
        false => rope.len_chars(),
    };
    let ended = line_end < rope.len_chars();
    if ended && line_end > line_start && rope.char(line_end - 1) == '\r' {
        line_end -= 1;
    }
    match encoding {
        PositionEncoding::Utf16 => {
            let end = rope.char_to_utf16_cu(line_end);
            let at = rope
                .char_to_utf16_cu(line_start)
                .saturating_add(position.character);
            rope.utf16_cu_to_char(at.min(end))
        }
        PositionEncoding::Utf8 => {
            let end = rope.char_to_byte(line_end);
            let at = rope
                .char_to_byte(line_start)
                .saturating_add(position.character);
            rope.byte_to_char(at.min(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Positions in UTF-16 over a plain string, the slow way.
    fn naive_index(text: &str, position: Position) -> usize {
        let mut at = 0;
        for (number, line) in text.split_inclusive('\n').chain([""]).enumerate() {
            if number == position.line {
                let body = line.strip_suffix('\n').unwrap_or(line);
                let body = if line.ends_with('\n') {
                    body.strip_suffix('\r').unwrap_or(body)
                } else {
                    body
                };
                let mut units = 0;
                for (index, c) in body.char_indices() {
                    if units + c.len_utf16() > position.character {
                        return at + index;
                    }
                    units += c.len_utf16();
                }
                return at + body.len();
            }
            at += line.len();
        }
        text.len()
    }

    fn position() -> impl Strategy<Value = Position> {
        (0usize..6, 0usize..8).prop_map(|(line, character)| Position { line, character })
    }

    proptest! {
        #[test]
        fn edits_as_a_string_would(text in "[a😀é\r\n]{0,30}", new in "[b漢\r\n]{0,6}", one in position(), other in position()) {
            let range = Splice { start: one.min(other), end: one.max(other) };
            let mut rope = Rope::from_str(&text);
            let lines = |text: &str| -> Vec<String> {
                let line = |line: &str| match line.strip_suffix('\n') {
                    Some(line) => line.strip_suffix('\r').unwrap_or(line).to_owned(),
                    None => line.to_owned(),
                };
                text.split_inclusive('\n').map(line).collect()
            };
            let changed = splice(&mut rope, &range, &new, PositionEncoding::Utf16);
            let mut expected = text.clone();
            expected.replace_range(naive_index(&text, range.start)..naive_index(&text, range.end).max(naive_index(&text, range.start)), &new);
            prop_assert_eq!(rope.to_string(), expected.clone());
            // The lines outside the change are the same.
            let (before, after) = (lines(&text), lines(&expected));
            prop_assert_eq!(changed.total as usize, before.len());
            let start = changed.start as usize - 1;
            prop_assert_eq!(&before[..start], &after[..start]);
            let (tail_before, tail_after) = (start + changed.removed as usize, start + changed.added as usize);
            prop_assert_eq!(&before[tail_before..], &after[tail_after..]);
        }
    }

    #[test]
    fn utf8_positions_count_bytes() {
        let mut rope = Rope::from_str("é漢x\n");
        let at = |character| Position { line: 0, character };
        let range = Splice {
            start: at(2),
            end: at(5),
        };
        splice(&mut rope, &range, "y", PositionEncoding::Utf8);
        assert_eq!(rope.to_string(), "éyx\n");
    }
}
