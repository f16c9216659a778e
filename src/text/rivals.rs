//! Encodings that a guess cannot tell apart, and the characters on which they differ; nothing here guesses.

use encoding_rs::{Encoding, GBK, UTF_8};

use super::encode::encode;

/// Encodings of the same languages, which most texts read the same in.
const FAMILIES: &[&[&str]] = &[
    &["windows-1252", LATIN_1, "iso-8859-15"],
    &["windows-1250", "iso-8859-2"],
    &["windows-1253", "iso-8859-7"],
    &["windows-1255", "iso-8859-8"],
    &["windows-1257", "iso-8859-4", "iso-8859-13"],
    &["koi8-u", "koi8-r"],
    &["gbk", "gb18030"],
];

/// The real one: the web's is windows-1252 under that name.
const LATIN_1: &str = "ISO-8859-1";

/// An encoding that a file may be in as well as in the guessed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rival {
    name: &'static str,
    /// `None` for the real ISO-8859-1.
    encoding: Option<&'static Encoding>,
}

impl Rival {
    /// `None` for a label that is unknown.
    fn named(label: &'static str) -> Option<Rival> {
        if label == LATIN_1 {
            return Some(Rival {
                name: LATIN_1,
                encoding: None,
            });
        }
        let encoding = Encoding::for_label(label.as_bytes())?;
        Some(Rival {
            name: encoding.name(),
            encoding: Some(encoding),
        })
    }

    /// The bytes of a character, if it has it.
    fn bytes(self, character: char) -> Option<Vec<u8>> {
        match self.encoding {
            None => u8::try_from(character).ok().map(|byte| vec![byte]),
            Some(encoding) => bytes(encoding, character),
        }
    }

    fn reads(self, byte: u8) -> Option<char> {
        match self.encoding {
            None => Some(char::from(byte)),
            Some(encoding) => read(encoding, byte),
        }
    }
}

/// The encodings that read a whole file as the very same text as the guessed one does.
pub fn rivals(guess: &'static Encoding, body: &[u8]) -> Vec<Rival> {
    let is_guess = |rival: &Rival| rival.encoding == Some(guess);
    let families = FAMILIES
        .iter()
        .map(|family| family.iter().filter_map(|label| Rival::named(label)));
    let family: Vec<Rival> = families
        .map(Iterator::collect::<Vec<Rival>>)
        .find(|family| family.iter().any(is_guess))
        .unwrap_or_default();
    let mut used = [false; 256];
    body.iter().for_each(|byte| used[usize::from(*byte)] = true);
    let reads_the_same = |rival: &Rival| {
        let mut bytes = (0x80..=0xFF).filter(|byte| used[usize::from(*byte)]);
        // One decoder reads all Chinese ones.
        guess == GBK || bytes.all(|byte| rival.reads(byte) == read(guess, byte))
    };
    let others = family.into_iter().filter(|rival| !is_guess(rival));
    others.filter(reads_the_same).collect()
}

/// What bytes a character has in the guessed encoding and in its rivals, in words; `None` where
/// all agree, or the guess has no such character.
pub fn disagreement(guess: &'static Encoding, rivals: &[Rival], character: char) -> Option<String> {
    if character.is_ascii() || guess == UTF_8 {
        return None;
    }
    let own = bytes(guess, character)?;
    let differs = |rival: &&Rival| rival.bytes(character).as_ref() != Some(&own);
    rivals.iter().find(differs)?;
    let mut all = vec![written(guess.name(), Some(own))];
    let others = rivals.iter();
    all.extend(others.map(|rival| written(rival.name, rival.bytes(character))));
    Some(all.join(", "))
}

fn written(name: &str, bytes: Option<Vec<u8>>) -> String {
    match bytes {
        None => format!("none in {name}"),
        Some(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("{} in {name}", bytes.join(" "))
        }
    }
}

fn bytes(encoding: &'static Encoding, character: char) -> Option<Vec<u8>> {
    let mut text = [0; 4];
    let bytes = encode(character.encode_utf8(&mut text), encoding);
    bytes.ok().map(|bytes| bytes.into_owned())
}

fn read(encoding: &'static Encoding, byte: u8) -> Option<char> {
    let byte = [byte];
    let text = encoding.decode_without_bom_handling_and_without_replacement(&byte)?;
    text.chars().next()
}

#[cfg(test)]
mod tests {
    use encoding_rs::{KOI8_U, WINDOWS_1251, WINDOWS_1252};

    use super::*;

    fn names(guess: &'static Encoding, body: &[u8]) -> Vec<&'static str> {
        rivals(guess, body).iter().map(|rival| rival.name).collect()
    }

    #[test]
    fn rivals_read_the_same_text() {
        let both = ["ISO-8859-1", "ISO-8859-15"];
        assert_eq!(names(WINDOWS_1252, b"caf\xe9"), both);
        // A currency sign or a euro; a dash or a control character.
        assert_eq!(names(WINDOWS_1252, b"\xa4"), ["ISO-8859-1"]);
        assert_eq!(names(WINDOWS_1252, b"\x97 \xe9"), [""; 0]);
        assert_eq!(names(KOI8_U, b"\xd0\xd2"), ["KOI8-R"]);
        assert_eq!(names(WINDOWS_1251, b"\xcf"), [""; 0]);
    }

    #[test]
    fn they_disagree_on_some_characters() {
        let rivals = rivals(WINDOWS_1252, b"caf\xe9");
        let of = |character| disagreement(WINDOWS_1252, &rivals, character);
        insta::assert_snapshot!(of('€').unwrap(), @"80 in windows-1252, none in ISO-8859-1, A4 in ISO-8859-15");
        assert_eq!([of('è'), of('x'), of('中')], [None, None, None]);
    }
}
