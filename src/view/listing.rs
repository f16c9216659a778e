//! A directory as rows: names, sizes, ages in columns; it never leaves out an entry without saying so.

use super::name;
use super::size::file_size;

/// Names longer than this run over into the next column instead of widening it for every row.
const MAX_NAME_WIDTH: usize = 100;

/// A directory and what is shown of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryView {
    /// As the caller would ask for it.
    pub path: String,
    pub inside: Contents,
}

/// The entries that are shown, in order, and what is not shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub entries: Vec<ListedName>,
    pub rest: Rest,
}

/// What of a directory is not shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rest {
    #[default]
    Nothing,
    /// So many entries more.
    More(u64),
    /// Nobody counted; so many were read.
    MoreThan(u64),
}

/// One name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    pub name: String,
    pub kind: ListedKind,
    /// In nanoseconds since the epoch, where it is known.
    pub modified_ns: Option<i128>,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedKind {
    /// With its size in bytes, where it is known.
    File(Option<u64>),
    Directory(Inside),
    /// What it says; `None` where it leads out of what may be read.
    Link(Option<String>),
    /// One that leads to a directory, in a listing of names alone.
    LinkToDirectory,
    /// A FIFO and the like: what it is.
    Special(&'static str),
}

/// What is known of a directory in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inside {
    Contents(Contents),
    /// Noise: one row, whatever it holds.
    Ignored,
    /// The system's own words.
    Unreadable(String),
    /// Another file system, which may hang: its kind.
    Mount(String),
    /// It is there; the listing was long enough without it.
    NotOpened,
}

/// The rows of a listing, a line each. `now_ns` is the time from which ages are counted.
pub fn rows(listing: &DirectoryView, now_ns: i128) -> String {
    let mut path = listing.path.clone();
    if !path.ends_with('/') {
        path.push('/');
    }
    let mut rows = vec![ListingRow {
        label: name::in_listing(&path).into_owned(),
        ..ListingRow::default()
    }];
    if listing.inside.entries.is_empty() && listing.inside.rest == Rest::Nothing {
        rows.push(ListingRow::remark("(empty directory)".to_owned()));
    }
    add(&mut rows, &listing.inside, 1, &listing.path, now_ns);
    write(&rows)
}

/// The names alone, a line each, a directory's with a slash after it; in the order of the alphabet,
/// whatever the case.
pub fn names(contents: &Contents) -> String {
    let mut names: Vec<String> = contents.entries.iter().map(full_name).collect();
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let mut text = String::new();
    for name in names {
        text.push_str(&name::in_listing(&name));
        text.push('\n');
    }
    text
}

fn full_name(entry: &ListedName) -> String {
    match &entry.kind {
        ListedKind::Directory(_) | ListedKind::LinkToDirectory => format!("{}/", entry.name),
        _ => entry.name.clone(),
    }
}

/// What one row says, column by column.
#[derive(Debug, Default)]
struct ListingRow {
    label: String,
    /// Not a name: it does not count for the columns' widths.
    is_remark: bool,
    size: String,
    age: String,
    remark: String,
}

impl ListingRow {
    fn remark(text: String) -> ListingRow {
        ListingRow {
            label: text,
            is_remark: true,
            ..ListingRow::default()
        }
    }
}

/// Adds the rows of what is in a directory. `path` is how that is asked for.
fn add(rows: &mut Vec<ListingRow>, contents: &Contents, depth: usize, path: &str, now_ns: i128) {
    let indent = "  ".repeat(depth);
    for entry in &contents.entries {
        rows.push(row(entry, &indent, now_ns));
        if let ListedKind::Directory(Inside::Contents(inside)) = &entry.kind {
            add(rows, inside, depth + 1, &below(path, &entry.name), now_ns);
        }
    }
    // Who asked for the directory itself is not sent to ask for it again.
    let ask = match depth {
        1 => String::new(),
        _ => format!(" ({})", name::in_listing(path)),
    };
    match contents.rest {
        Rest::Nothing => {}
        Rest::More(count) => rows.push(ListingRow::remark(format!("{indent}… {count} more{ask}"))),
        Rest::MoreThan(read) => rows.push(ListingRow::remark(format!(
            "{indent}… (more than {read} entries){ask}"
        ))),
    }
}

fn row(entry: &ListedName, indent: &str, now_ns: i128) -> ListingRow {
    let name = full_name(entry);
    let mut row = ListingRow {
        label: format!("{indent}{}", name::in_listing(&name)),
        age: entry
            .modified_ns
            .map(|modified_ns| age(modified_ns, now_ns))
            .unwrap_or_default(),
        ..ListingRow::default()
    };
    match &entry.kind {
        ListedKind::File(bytes) => row.size = bytes.map(file_size).unwrap_or_default(),
        ListedKind::Special(what) => row.size = (*what).to_owned(),
        ListedKind::Link(to) => {
            row.label.push_str(" -> ");
            row.label.push_str(&link_target(to.as_deref()));
        }
        ListedKind::Directory(Inside::Contents(_)) | ListedKind::LinkToDirectory => {}
        ListedKind::Directory(Inside::Ignored) => row.age = "ignored".to_owned(),
        ListedKind::Directory(Inside::Unreadable(why)) => {
            row.remark = format!("(not readable: {why})")
        }
        ListedKind::Directory(Inside::Mount(kind)) => {
            row.remark = format!("(not opened: {kind}; list it by its own path)");
        }
        ListedKind::Directory(Inside::NotOpened) => row.remark = "(not opened)".to_owned(),
    }
    row
}

/// A link may say anything, what we say ourselves too.
fn link_target(to: Option<&str>) -> String {
    match to {
        None => OUTSIDE.to_owned(),
        Some(OUTSIDE) => format!("\"{OUTSIDE}\""),
        Some(to) => name::in_listing(to).into_owned(),
    }
}

/// What stands for the target of a link that leads out of what may be read.
const OUTSIDE: &str = "(outside)";

/// The path of an entry, as the caller would ask for it.
fn below(path: &str, name: &str) -> String {
    match path {
        "." => name.to_owned(),
        path if path.ends_with('/') => format!("{path}{name}"),
        path => format!("{path}/{name}"),
    }
}

/// `just now`, `5m ago`, `3h ago`, `2d ago`, `4mo ago`, `1y ago`.
pub fn age(modified_ns: i128, now_ns: i128) -> String {
    const MINUTE: i128 = 60;
    const HOUR: i128 = 60 * MINUTE;
    const DAY: i128 = 24 * HOUR;
    const MONTH: i128 = 30 * DAY;
    const YEAR: i128 = 365 * DAY;
    let seconds = (now_ns - modified_ns).div_euclid(1_000_000_000);
    match seconds {
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{}m ago", seconds / MINUTE),
        HOUR..DAY => format!("{}h ago", seconds / HOUR),
        DAY..MONTH => format!("{}d ago", seconds / DAY),
        MONTH..YEAR => format!("{}mo ago", seconds / MONTH),
        YEAR.. => format!("{}y ago", seconds / YEAR),
    }
}

fn write(rows: &[ListingRow]) -> String {
    let width = |text: &str| text.chars().count();
    let names = rows.iter().filter(|row| !row.is_remark);
    let name_widths = names.map(|row| width(&row.label));
    let name_width = name_widths.filter(|width| *width <= MAX_NAME_WIDTH).max();
    let size_width = rows.iter().map(|row| width(&row.size)).max();
    let widths = [name_width.unwrap_or(0), size_width.unwrap_or(0)];
    let mut text = String::new();
    for row in rows {
        let end = text.len();
        let mut blanks = 0;
        let cells = [&row.label, &row.size, &row.age, &row.remark];
        for (index, cell) in cells.into_iter().enumerate() {
            if !cell.is_empty() {
                text.extend(std::iter::repeat_n(' ', blanks));
                text.push_str(cell);
                blanks = 0;
            }
            let column = widths.get(index).copied().unwrap_or(width(cell));
            // An empty column takes no room at all.
            if column > 0 {
                blanks += column.saturating_sub(width(cell)) + 2;
            }
        }
        debug_assert!(!text[end..].ends_with(' '));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i128 = 1_700_000_000_000_000_000;

    fn entry(name: &str, kind: ListedKind, seconds: i128) -> ListedName {
        ListedName {
            name: name.to_owned(),
            kind,
            modified_ns: Some(NOW - seconds * 1_000_000_000),
        }
    }

    #[test]
    fn the_sample() {
        let read = Contents {
            entries: vec![entry("window.rs", ListedKind::File(Some(6349)), 0)],
            rest: Rest::More(9),
        };
        let listing = DirectoryView {
            path: "src".to_owned(),
            inside: Contents {
                entries: vec![
                    entry("read", ListedKind::Directory(Inside::Contents(read)), 0),
                    entry("main.rs", ListedKind::File(Some(1434)), 3 * 86400),
                    entry("target", ListedKind::Directory(Inside::Ignored), 3 * 86400),
                ],
                rest: Rest::Nothing,
            },
        };
        let sample = "\
src/
  read/               just now
    window.rs  6.2KB  just now
    … 9 more (src/read)
  main.rs      1.4KB  3d ago
  target/             ignored
";
        assert_eq!(rows(&listing, NOW), sample);
    }

    #[test]
    fn ages_change_at_their_borders() {
        let day = 86400;
        let cases = [
            (-5, "just now"),
            (59, "just now"),
            (60, "1m ago"),
            (3599, "59m ago"),
            (3600, "1h ago"),
            (day - 1, "23h ago"),
            (day, "1d ago"),
            (30 * day - 1, "29d ago"),
            (30 * day, "1mo ago"),
            (365 * day - 1, "12mo ago"),
            (365 * day, "1y ago"),
        ];
        for (seconds, text) in cases {
            assert_eq!(age(NOW - seconds * 1_000_000_000, NOW), text);
        }
        assert_eq!(age(NOW + 1, NOW), "just now");
    }

    #[test]
    fn columns_that_are_empty_take_no_room() {
        let long = "n".repeat(150);
        let entries = vec![
            entry(&long, ListedKind::Special("fifo"), 60),
            entry("a", ListedKind::Link(Some("b c".to_owned())), 60),
            entry("z", ListedKind::Link(None), 60),
            ListedName {
                name: "x".to_owned(),
                kind: ListedKind::File(None),
                modified_ns: None,
            },
            entry(
                "d",
                ListedKind::Directory(Inside::Unreadable("permission denied".to_owned())),
                60,
            ),
            entry("e", ListedKind::Directory(Inside::NotOpened), 60),
        ];
        let mut listing = DirectoryView {
            path: "/".to_owned(),
            inside: Contents {
                entries,
                rest: Rest::MoreThan(7),
            },
        };
        let text = rows(&listing, NOW);
        let expected = format!(
            "\
/
  {long}  fifo  1m ago
  a -> b c              1m ago
  z -> (outside)        1m ago
  x
  d/                    1m ago  (not readable: permission denied)
  e/                    1m ago  (not opened)
  … (more than 7 entries)
"
        );
        assert_eq!(text, expected);
        listing.inside.entries.remove(0);
        listing.inside.rest = Rest::Nothing;
        assert!(rows(&listing, NOW).contains("\n  z -> (outside)  1m ago\n  x\n"));
    }
}
