//! The children of a directory in an archive as rows; a row never looks like something that it is not.

use super::name;
use super::size::file_size;

/// What a child is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    Directory,
    File {
        /// Bytes, as the archive says; `None` where it does not.
        size: Option<u64>,
        encrypted: bool,
    },
    /// With what it says, where that is known.
    Link(Option<String>),
    /// With its name in words: "FIFO".
    Special(&'static str),
}

/// Adds a row, with its line end.
pub fn push_row(text: &mut String, name: &str, kind: &MemberKind) {
    let start = text.len();
    text.push_str(&written(name, *kind == MemberKind::Directory));
    match kind {
        MemberKind::Directory => {}
        MemberKind::File { size, encrypted } => {
            let size = size.filter(|size| *size > 0).map(file_size);
            let encrypted = encrypted.then(|| "encrypted".to_owned());
            let words: Vec<String> = size.into_iter().chain(encrypted).collect();
            if !words.is_empty() {
                text.push_str(&format!(" ({})", words.join(", ")));
            }
        }
        MemberKind::Link(None) => text.push_str(" -> (not known)"),
        MemberKind::Link(Some(to)) => {
            text.push_str(" -> ");
            text.push_str(&written(to, false));
        }
        MemberKind::Special(what) => text.push_str(&format!(" ({what})")),
    }
    debug_assert!(!text[start..].contains('\n'));
    text.push('\n');
}

/// A name that ends as our own remarks do is written as a JSON string.
fn written(name: &str, is_directory: bool) -> String {
    let slash = if is_directory { "/" } else { "" };
    match name.ends_with(')') && name.contains(" (") {
        true => name::quoted(&format!("{name}{slash}")),
        false => name::in_listing(&format!("{name}{slash}")).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, kind: MemberKind) -> String {
        let mut text = String::new();
        push_row(&mut text, name, &kind);
        text
    }

    fn file(size: u64) -> MemberKind {
        MemberKind::File {
            size: Some(size),
            encrypted: false,
        }
    }

    #[test]
    fn rows_are_those_of_the_formats() {
        assert_eq!(row("src", MemberKind::Directory), "src/\n");
        assert_eq!(row("README.md", file(21)), "README.md (21B)\n");
        assert_eq!(row("empty.txt", file(0)), "empty.txt\n");
        let link = |to: &str| MemberKind::Link(Some(to.to_owned()));
        assert_eq!(row("a", link("b/c")), "a -> b/c\n");
        assert_eq!(row("p", MemberKind::Special("FIFO")), "p (FIFO)\n");
        let secret = MemberKind::File {
            size: Some(20),
            encrypted: true,
        };
        assert_eq!(row("s", secret), "s (20B, encrypted)\n");
    }

    #[test]
    fn a_name_is_no_remark() {
        assert_eq!(row("x (3B)", file(9)), "\"x (3B)\" (9B)\n");
        assert_eq!(row("x (3B)", MemberKind::Directory), "\"x (3B)/\"\n");
        assert_eq!(row("a\nb", file(9)), "\"a\\nb\" (9B)\n");
        assert_eq!(row("copy (1).txt", file(9)), "copy (1).txt (9B)\n");
    }
}
