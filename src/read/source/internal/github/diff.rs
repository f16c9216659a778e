//! A diff: its files, and the lines of one of them under the numbers of the new file.

/// The part of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The name that it has, or had where it is gone.
    pub name: String,
    pub before: Option<String>,
    pub change: LineChange,
    pub is_binary: bool,
    pub added: usize,
    pub removed: usize,
    /// Blob ids before and after, as far as the diff gives their digits.
    pub blobs: Option<(String, String)>,
    /// From `diff --git` on, as it was sent.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    Modified,
    Added,
    Deleted,
    Renamed,
    Copied,
}

impl FileDiff {
    /// `modified  +2 -1`, `renamed from docs/old.md`, `binary`.
    pub fn about(&self) -> (String, String) {
        let counts = match (self.added, self.removed) {
            (0, 0) => String::new(),
            (added, removed) => format!("+{added} -{removed}"),
        };
        let from = self.before.as_deref().unwrap_or_default();
        let what = match self.change {
            LineChange::Modified if self.is_binary => "binary".to_owned(),
            LineChange::Modified => "modified".to_owned(),
            LineChange::Added => "added".to_owned(),
            LineChange::Deleted => "deleted".to_owned(),
            LineChange::Renamed => format!("renamed from {from}"),
            LineChange::Copied => format!("copied from {from}"),
        };
        let is_said = !self.is_binary || self.change == LineChange::Modified;
        match is_said {
            true => (what, counts),
            false => (format!("{what}, binary"), counts),
        }
    }
}

/// The files of a diff, in its order.
pub fn files(diff: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    // Lines of the old and the new file that the hunk still has.
    let mut left = (0, 0);
    for line in diff.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let is_in_hunk = left != (0, 0);
        if !is_in_hunk && let Some(names) = bare.strip_prefix("diff --git ") {
            files.push(begun(names));
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        file.text.push_str(line);
        match is_in_hunk {
            true => count(bare, &mut left, file),
            false => match hunk(bare) {
                Some(hunk) => left = (hunk.old_lines, hunk.new_lines),
                None => header(bare, file),
            },
        }
    }
    files
}

fn begun(names: &str) -> FileDiff {
    FileDiff {
        name: common_name(names).unwrap_or_else(|| names.to_owned()),
        before: None,
        change: LineChange::Modified,
        is_binary: false,
        added: 0,
        removed: 0,
        blobs: None,
        text: String::new(),
    }
}

/// A line of a hunk.
fn count(line: &str, left: &mut (u64, u64), file: &mut FileDiff) {
    match line.as_bytes().first() {
        Some(b'+') => {
            file.added += 1;
            left.1 = left.1.saturating_sub(1);
        }
        Some(b'-') => {
            file.removed += 1;
            left.0 = left.0.saturating_sub(1);
        }
        Some(b'\\') => {}
        _ => *left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
    }
}

/// A line before the first hunk, or between two.
fn header(line: &str, file: &mut FileDiff) {
    let name = |rest: &str, prefix: &str| {
        let name = unquoted(rest.split('\t').next().unwrap_or(rest));
        name.strip_prefix(prefix).map(str::to_owned)
    };
    if let Some(rest) = line.strip_prefix("--- ") {
        if let (Some(name), LineChange::Deleted) = (name(rest, "a/"), file.change) {
            file.name = name;
        }
    } else if let Some(rest) = line.strip_prefix("+++ ") {
        if let Some(name) = name(rest, "b/") {
            file.name = name;
        }
    } else if line.starts_with("new file mode") {
        file.change = LineChange::Added;
    } else if line.starts_with("deleted file mode") {
        file.change = LineChange::Deleted;
    } else if let Some(rest) = line.strip_prefix("rename from ") {
        (file.change, file.before) = (LineChange::Renamed, Some(unquoted(rest)));
    } else if let Some(rest) = line.strip_prefix("copy from ") {
        (file.change, file.before) = (LineChange::Copied, Some(unquoted(rest)));
    } else if let Some(rest) = line
        .strip_prefix("rename to ")
        .or(line.strip_prefix("copy to "))
    {
        file.name = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("index ") {
        let ids = rest.split(' ').next().and_then(|ids| ids.split_once(".."));
        file.blobs = ids.map(|(old, new)| (old.to_owned(), new.to_owned()));
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.is_binary = true;
    }
}

/// Where a hunk is.
struct Hunk {
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
}

/// `@@ -10,3 +10,4 @@ fn main() {`
fn hunk(line: &str) -> Option<Hunk> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |written: &str| match written.split_once(',') {
        Some((start, lines)) => Some((start.parse().ok()?, lines.parse().ok()?)),
        None => Some((written.parse().ok()?, 1)),
    };
    let (_, old_lines): (u64, u64) = range(old)?;
    let (new_start, new_lines) = range(new)?;
    Some(Hunk {
        old_lines,
        new_start,
        new_lines,
    })
}

/// The lines of a file's diff with the numbers of the new file before them. Headers stay as they are.
pub fn numbered(diff: &str) -> String {
    let lines: Vec<&str> = diff
        .strip_suffix('\n')
        .unwrap_or(diff)
        .split('\n')
        .collect();
    let mut rows: Vec<(Option<Option<u64>>, &str)> = Vec::new();
    let (mut left, mut number) = ((0, 0), 0);
    for line in lines {
        if left == (0, 0) {
            if let Some(hunk) = hunk(line) {
                left = (hunk.old_lines, hunk.new_lines);
                number = hunk.new_start;
            }
            // What a file without a line feed at its end has stands behind its last line.
            let is_remark = line.starts_with('\\');
            rows.push((is_remark.then_some(None), line));
            continue;
        }
        let shown = match line.as_bytes().first() {
            Some(b'-') => {
                left.0 -= u64::from(left.0 > 0);
                None
            }
            Some(b'\\') => None,
            Some(b'+') => {
                left.1 -= u64::from(left.1 > 0);
                number += 1;
                Some(number - 1)
            }
            _ => {
                left = (left.0.saturating_sub(1), left.1.saturating_sub(1));
                number += 1;
                Some(number - 1)
            }
        };
        rows.push((Some(shown), line));
    }
    let numbers = rows.iter().filter_map(|(number, _)| (*number)?);
    let width = numbers.max().map_or(1, |most| most.to_string().len());
    let mut text = String::with_capacity(diff.len() + rows.len() * (width + 1));
    for (number, line) in rows {
        match number {
            None => {}
            Some(None) => text.push_str(&" ".repeat(width + 1)),
            Some(Some(number)) => text.push_str(&format!("{number:width$} ")),
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The name of `a/NAME b/NAME`, where both are the same.
fn common_name(names: &str) -> Option<String> {
    if let Some(inner) = names.strip_prefix('"') {
        let end = inner.find("\" ").map(|at| at + 2)?;
        return unquoted(&names[..end])
            .strip_prefix("a/")
            .map(str::to_owned);
    }
    let half = names.len().checked_sub(1)? / 2;
    let (old, new) = (names.get(..half)?, names.get(half + 1..)?);
    let name = new.strip_prefix("b/")?;
    match old.strip_prefix("a/") == Some(name) {
        true => Some(name.to_owned()),
        // Of a rename both names follow.
        false => names.split(" b/").last().map(str::to_owned),
    }
}

/// A name without git's quotes and escapes.
fn unquoted(written: &str) -> String {
    let Some(inner) = written
        .strip_prefix('"')
        .and_then(|it| it.strip_suffix('"'))
    else {
        return written.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit) = rest.next_if(|it| matches!(it, b'0'..=b'7')) else {
                        break;
                    };
                    value = value * 8 + u32::from(digit - b'0');
                }
                bytes.push(value as u8);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/list.rs b/src/list.rs\nindex 1111111..2222222 100644\n--- a/src/list.rs\n+++ b/src/list.rs\n\
        @@ -9,4 +9,5 @@ fn main() {\n     let a = 1;\n-    let b = 2;\n+    let b = 3;\n+diff --git a/x b/x\n }\n-- \n+-- \n\\ No newline at end of file\n\
        diff --git a/docs/old.md b/docs/new.md\nsimilarity index 100%\nrename from docs/old.md\nrename to docs/new.md\n\
        diff --git a/logo.png b/logo.png\nindex 3333333..4444444 100644\nBinary files a/logo.png and b/logo.png differ\n\
        diff --git \"a/n\\303\\266.txt\" \"b/n\\303\\266.txt\"\nnew file mode 100644\nindex 0000000..5555555\n--- /dev/null\n+++ \"b/n\\303\\266.txt\"\n@@ -0,0 +1 @@\n+x\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\nindex 6666666..0000000\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";

    #[test]
    fn files_are_told_apart_by_headers_alone() {
        let files = files(DIFF);
        let rows: Vec<String> = files
            .iter()
            .map(|file| {
                let (what, counts) = file.about();
                format!("{} {what} {counts}", file.name)
            })
            .collect();
        assert_eq!(
            rows,
            [
                "src/list.rs modified +3 -2",
                "docs/new.md renamed from docs/old.md ",
                "logo.png binary ",
                "nö.txt added +1 -0",
                "gone deleted +0 -2",
            ]
        );
        let whole: String = files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(whole, DIFF);
        assert_eq!(
            files[0].blobs,
            Some(("1111111".to_owned(), "2222222".to_owned()))
        );
    }

    #[test]
    fn numbers_are_those_of_the_new_file() {
        let files = files(DIFF);
        let shown = numbered(&files[0].text);
        let hunk: Vec<&str> = shown.lines().skip(4).collect();
        assert_eq!(
            hunk,
            [
                "@@ -9,4 +9,5 @@ fn main() {",
                " 9      let a = 1;",
                "   -    let b = 2;",
                "10 +    let b = 3;",
                "11 +diff --git a/x b/x",
                "12  }",
                "   -- ",
                "13 +-- ",
                "   \\ No newline at end of file",
            ]
        );
    }
}
