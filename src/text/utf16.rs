//! Telling UTF-16 without a mark from binary data; nothing here takes a text with a stray NUL for UTF-16.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// The byte order in which `bytes`, which hold a NUL, read as a text in UTF-16.
///
/// Reads everything, and stops at the first U+0000, lone surrogate or noncharacter: binary data has
/// one soon.
pub(super) fn guess(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let little = Tally::of(units(bytes, u16::from_le_bytes)).filter(Tally::is_text);
    let big = Tally::of(units(bytes, u16::from_be_bytes)).filter(Tally::is_text);
    let (encoding, tally) = match (little, big) {
        (Some(little), Some(big)) if big.weight() > little.weight() => (UTF_16BE, big),
        (Some(little), _) => (UTF_16LE, little),
        (None, Some(big)) => (UTF_16BE, big),
        (None, None) => return None,
    };
    // An 8-bit text with a NUL in it also has pairs that happen to be characters, but in UTF-16 most
    // bytes of such a text would be NULs.
    let mostly_narrow = tally.narrow * 4 >= tally.units;
    let valid_utf8 = || !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok();
    (mostly_narrow || !valid_utf8()).then_some(encoding)
}

fn units(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> impl Iterator<Item = u16> + Clone {
    bytes
        .chunks_exact(2)
        .map(move |pair| unit([pair[0], pair[1]]))
}

/// What the units of one reading are.
#[derive(Default)]
struct Tally {
    units: usize,
    /// High byte 0: ASCII and Latin-1. These are the NULs of a text in UTF-16.
    narrow: usize,
    /// Low byte 0: rare in a text, the rule in one read in the wrong order.
    round: usize,
    /// Both bytes are ASCII text, as in an 8-bit text read two by two.
    ascii_pairs: usize,
    controls: usize,
    letters: usize,
    /// Letters, marks, punctuation, symbols.
    plausible: usize,
}

impl Tally {
    /// `None` where the units cannot be a text at all.
    fn of(units: impl Iterator<Item = u16> + Clone) -> Option<Tally> {
        let mut tally = Tally::default();
        for unit in units.clone() {
            let [high, low] = unit.to_be_bytes();
            match (high, low) {
                (0, 0) | (0xFF, 0xFE | 0xFF) => return None,
                (0, _) => tally.narrow += 1,
                (_, 0) => tally.round += 1,
                // Hiragana, which would look like pairs that begin with the digit 0.
                (0x30, _) => {}
                _ => tally.ascii_pairs += usize::from(is_ascii_text(high) && is_ascii_text(low)),
            }
            tally.units += 1;
        }
        for character in char::decode_utf16(units) {
            tally.add(character.ok()?);
        }
        Some(tally)
    }

    fn add(&mut self, character: char) {
        let units = character.len_utf16();
        if is_control(character) {
            self.controls += units;
        } else if is_letter(character) {
            self.letters += units;
            self.plausible += units;
        } else if is_punctuation(character) {
            self.plausible += units;
        }
    }

    /// Decides between two readings that both are texts.
    fn weight(&self) -> (usize, usize) {
        (self.letters, self.narrow)
    }

    fn is_text(&self) -> bool {
        let without_nul = self.units - self.narrow - self.round;
        let eight_bit = self.ascii_pairs * 10 > without_nul * 8 && self.narrow * 4 < self.units;
        self.narrow > 0
            && !eight_bit
            && self.round <= 1 + self.units / 3
            && self.controls <= self.units / 100
            && self.letters * 4 >= self.units
            && self.plausible * 10 >= self.units * 9
    }
}

fn is_ascii_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Controls that texts do not use, C1 included.
fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\x08' | '\x0C' | '\x1B')
}

/// Letters and digits, without those scripts and ideographs that are seldom written and often hit by
/// units of the other byte order.
fn is_letter(character: char) -> bool {
    match character {
        '\0'..='\x7F' => character.is_ascii_alphanumeric(),
        '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{3041}'..='\u{30FF}' => true,
        '\u{1200}'..='\u{177F}'
        | '\u{1800}'..='\u{1DFF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{A000}'..='\u{ABFF}' => false,
        _ => character.is_alphanumeric(),
    }
}

/// Everything but letters and digits that texts are made of. Private use and blocks that hold few or
/// no characters are left out, for these are what random units hit.
fn is_punctuation(character: char) -> bool {
    matches!(character,
        '\0'..='\u{BF}'
        | '×' | '÷'
        | '\u{2B0}'..='\u{36F}'
        | '\u{591}'..='\u{6FF}'
        | '\u{900}'..='\u{9FF}'
        | '\u{E00}'..='\u{E7F}'
        | '\u{2000}'..='\u{206F}'
        | '\u{20A0}'..='\u{20CF}'
        | '\u{2100}'..='\u{27BF}'
        | '\u{3000}'..='\u{303F}'
        | '\u{FE0F}'
        | '\u{FE30}'..='\u{FE4F}'
        | '\u{FEFF}'
        | '\u{FF00}'..='\u{FFEF}'
        | '\u{1F000}'..='\u{1FAFF}')
}
