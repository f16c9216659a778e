//! Names of members: decoded, `/`-separated, without `.`; one that would lead out of the archive is never handed on.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, IBM866, SHIFT_JIS, UTF_8, WINDOWS_1252};

/// The longest path of a file system, in bytes: what is longer was never that of a file.
pub const MAX_PATH_BYTES: usize = 4095;

/// Bytes of names after which a guess of their encoding is not bettered by more of them.
const GUESS_BYTES: usize = 64 * 1024;

/// A name as it may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberName {
    /// The archive itself, as in `./`.
    Root,
    Path(String),
    /// It climbs, is absolute, holds a NUL, or is too long: it is counted and never shown.
    Unsafe,
}

/// A member's name, decoded, as a path within the archive. `backslashes` part names too, where
/// Windows may have written them.
pub fn path_of(name: &str, backslashes: bool) -> MemberName {
    let parted = match backslashes && name.contains('\\') {
        true => name.replace('\\', "/"),
        false => name.to_owned(),
    };
    let drive = backslashes && parted.as_bytes().get(1) == Some(&b':') && {
        let letter = parted.as_bytes()[0];
        letter.is_ascii_alphabetic() && parted.as_bytes().get(2) == Some(&b'/')
    };
    if drive || parted.starts_with('/') || parted.contains('\0') || parted.len() > MAX_PATH_BYTES {
        return MemberName::Unsafe;
    }
    match normalised(&parted) {
        None => MemberName::Unsafe,
        Some(path) if !path.is_empty() => MemberName::Path(path),
        // `.` and `./` are the root; a name of no characters is none.
        Some(_) if parted.starts_with('.') => MemberName::Root,
        Some(_) => MemberName::Unsafe,
    }
}

/// `path` with single slashes and without `.`; `None` where it climbs.
pub fn normalised(path: &str) -> Option<String> {
    let mut plain = String::with_capacity(path.len());
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => {
                if !plain.is_empty() {
                    plain.push('/');
                }
                plain.push_str(part);
            }
        }
    }
    Some(plain)
}

/// Where a link in `folder` leads within the archive; `None` where that is outside of it.
pub fn link_destination(folder: &str, target: &str) -> Option<String> {
    if target.starts_with('/') || target.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// How the names of an archive that are not UTF-8 are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// What the format of zip means where nothing else is said.
    Cp437,
    Other(&'static Encoding),
}

impl Charset {
    /// The likeliest for these names. `oem` says that they are from a format whose names are in
    /// the code page of the machine that wrote them.
    pub fn guess<'a>(names: impl Iterator<Item = &'a [u8]> + Clone, oem: bool) -> Charset {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        let mut fed = 0;
        for name in names.clone() {
            detector.feed(name, false);
            detector.feed(b"\n", false);
            fed += name.len();
            if fed > GUESS_BYTES {
                break;
            }
        }
        detector.feed(b"", true);
        let guess = detector.guess(None, Utf8Detection::Deny);
        if !oem {
            return Charset::Other(guess);
        }
        // A few names are too little for the detector: Shift_JIS is the likeliest of those it misses.
        let oem = [guess, SHIFT_JIS].into_iter().filter(|encoding| {
            *encoding == IBM866 || !encoding.is_single_byte() && *encoding != UTF_8
        });
        for encoding in oem {
            let is_text = |name: &[u8]| {
                let decoded = encoding.decode_without_bom_handling_and_without_replacement(name);
                decoded.is_some_and(|name| is_plausible(&name))
            };
            if names.clone().all(is_text) {
                return Charset::Other(encoding);
            }
        }
        Charset::Cp437
    }

    /// The one for a single name that claims to be UTF-8 and is not.
    pub const BROKEN_UTF8: Charset = Charset::Other(WINDOWS_1252);

    pub fn decode(self, name: &[u8]) -> String {
        match self {
            Charset::Other(encoding) => encoding.decode_without_bom_handling(name).0.into_owned(),
            Charset::Cp437 => name.iter().map(|byte| cp437(*byte)).collect(),
        }
    }
}

/// Whether a name reads as if it was decoded rightly. Two bytes of a European code page may make
/// one East Asian character, but seldom a letter, and it stands alone among Latin ones.
fn is_plausible(name: &str) -> bool {
    let foreign = |c: char| !c.is_ascii();
    let runs = name.split(|c| !foreign(c)).filter(|run| !run.is_empty());
    let alone = |run: &str| {
        let at = run.as_ptr() as usize - name.as_ptr() as usize;
        let before = name[..at].chars().next_back();
        let after = name[at + run.len()..].chars().next();
        let touches = [before, after]
            .into_iter()
            .flatten()
            .any(|c| c.is_ascii_alphabetic());
        run.chars().count() == 1 && touches
    };
    runs.clone()
        .all(|run| run.chars().all(char::is_alphanumeric) && !alone(run))
}

/// The upper half of code page 437.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";

fn cp437(byte: u8) -> char {
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(upper) => CP437.chars().nth(usize::from(upper)).unwrap_or('\u{FFFD}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths() {
        let path = |text: &str| MemberName::Path(text.to_owned());
        let cases = [
            ("a/b.txt", path("a/b.txt")),
            ("./dot/./a.txt", path("dot/a.txt")),
            ("slashes//b.txt", path("slashes/b.txt")),
            ("dir/", path("dir")),
            ("...", path("...")),
            ("a/..hidden", path("a/..hidden")),
            ("dir\\file.txt", path("dir/file.txt")),
            ("./", MemberName::Root),
            (".", MemberName::Root),
            ("", MemberName::Unsafe),
            ("/", MemberName::Unsafe),
            ("..", MemberName::Unsafe),
            ("../evil", MemberName::Unsafe),
            ("..\\evil", MemberName::Unsafe),
            ("a/../../evil", MemberName::Unsafe),
            ("a/../b", MemberName::Unsafe),
            ("/etc/passwd", MemberName::Unsafe),
            ("C:/evil", MemberName::Unsafe),
            ("C:\\evil", MemberName::Unsafe),
            ("//server/share", MemberName::Unsafe),
            ("a\0b", MemberName::Unsafe),
        ];
        for (name, expected) in cases {
            assert_eq!(path_of(name, true), expected, "{name:?}");
        }
        assert_eq!(path_of("a\\..\\b", false), path("a\\..\\b"));
        assert_eq!(path_of(&"n".repeat(4095), true), path(&"n".repeat(4095)));
        assert_eq!(path_of(&"n".repeat(4096), true), MemberName::Unsafe);
    }

    #[test]
    fn links_stay_within() {
        assert_eq!(link_destination("a/b", "../c.txt"), Some("a/c.txt".into()));
        assert_eq!(link_destination("", "x//./y"), Some("x/y".into()));
        assert_eq!(link_destination("a", ".."), Some(String::new()));
        assert_eq!(link_destination("a", "../../b"), None);
        assert_eq!(link_destination("a", "/etc/passwd"), None);
    }

    #[test]
    fn code_page_437_is_whole() {
        assert_eq!(CP437.chars().count(), 128);
        assert_eq!(Charset::Cp437.decode(b"Gr\x81\xe1e.txt"), "Grüße.txt");
    }

    #[test]
    fn charsets_are_told_apart() {
        let guess = |names: &[&[u8]], oem| Charset::guess(names.iter().copied(), oem);
        let western: [&[u8]; 5] = [
            b"Gr\x81\xe1e.txt",
            b"M\x84rz.txt",
            b"\x90cole.doc",
            b"caf\x82.txt",
            b"ni\xa4o/d\xa1a.txt",
        ];
        for name in western {
            assert_eq!(guess(&[name], true), Charset::Cp437, "{name:?}");
        }
        let (japanese, shown) = (
            &b"\x93\xfa\x96{\x8c\xea.txt"[..],
            &b"\x95\\\x8e\xa6.txt"[..],
        );
        let charset = guess(&[japanese, shown], true);
        assert_eq!(charset.decode(japanese), "日本語.txt");
        assert_eq!(charset.decode(shown), "表示.txt");
        let russian = "Отчёт за март.txt";
        let (bytes, _, _) = IBM866.encode(russian);
        assert_eq!(guess(&[&bytes], true).decode(&bytes), russian);
        let charset = guess(&[b"\xe9l\xe8ve.txt"], false);
        assert_eq!(charset.decode(b"\xe9l\xe8ve.txt"), "élève.txt");
    }
}
