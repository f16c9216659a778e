//! From bytes to text: which encoding, how sure, or why it is no text; nothing here cuts a character in half.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, X_USER_DEFINED};
use memchr::memchr;

use super::body::Text;
use super::{binary, utf16};

/// How an encoding was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// Declared, by a byte order mark, or because everything is valid UTF-8.
    Certain,
    /// Guessed.
    Likely,
}

impl Confidence {
    /// The name on the wire: `certain` or `likely`.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
        }
    }
}

/// What the bytes of a file say.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Everything after the BOM.
    pub text: Text,
    pub encoding: &'static Encoding,
    pub confidence: Confidence,
    /// Whether the bytes began with a byte order mark of that encoding.
    pub bom: bool,
    /// Sequences that mean nothing in that encoding, each shown as one U+FFFD.
    pub bad_bytes: usize,
}

/// Why bytes are not shown as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotText {
    Binary {
        /// What it is, to be read in a sentence: "ELF executable", "contains NUL bytes".
        what: String,
    },
}

/// A NUL before this byte makes a file binary; later ones are text.
const NUL_WINDOW: usize = 8192;

/// Decodes a whole file. A `declared` encoding is always taken, even for what looks binary; else the
/// order is BOM, UTF-16 without one, binary, UTF-8, UTF-8 with some damage, a guess from the bytes.
pub fn decode(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<Decoded, NotText> {
    if let Some(encoding) = declared {
        let bom = bom_of(encoding, bytes);
        return Ok(decode_as(bytes, encoding, Confidence::Certain, bom));
    }
    if let Some(what) = binary::utf32(bytes) {
        return Err(binary(what));
    }
    if let Some((encoding, bom)) = Encoding::for_bom(bytes) {
        return Ok(decode_as(bytes, encoding, Confidence::Certain, bom));
    }
    let nul = memchr(0, bytes);
    if let Some(encoding) = nul.and_then(|_| utf16::guess(bytes)) {
        return Ok(decode_as(bytes, encoding, Confidence::Likely, 0));
    }
    if bytes.starts_with(b"%PDF-") {
        return Err(binary("PDF document"));
    }
    if nul.is_some_and(|at| at < NUL_WINDOW) {
        let what = binary::known(bytes).unwrap_or_else(|| "contains NUL bytes".to_owned());
        return Err(NotText::Binary { what });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Decoded {
            text: Text::new(text),
            encoding: UTF_8,
            confidence: Confidence::Certain,
            bom: false,
            bad_bytes: 0,
        }),
        Err(_) => decode_legacy(bytes),
    }
}

/// Bytes that are not valid UTF-8, without a BOM and without an early NUL.
fn decode_legacy(bytes: &[u8]) -> Result<Decoded, NotText> {
    let dense = binary::dense_in_controls(bytes);
    // Some magics are two plain letters ("BM"): alone they prove nothing about a legacy text.
    if (dense || binary::control_near_start(bytes))
        && let Some(what) = binary::known(bytes)
    {
        return Err(NotText::Binary { what });
    }
    let encoding = match damaged_utf8(bytes) {
        Utf8::Clearly => UTF_8,
        _ if dense => return Err(binary("binary data")),
        Utf8::Perhaps => Some(guess(bytes))
            .filter(|other| is_two_byte(other) && fits(bytes, other))
            .unwrap_or(UTF_8),
        Utf8::Not => guess(bytes),
    };
    Ok(decode_as(bytes, encoding, Confidence::Likely, 0))
}

/// Bytes beyond ASCII after which a guess that fits the whole file is believed: the detector does
/// some 9 MB/s, and a file's language shows in a few hundred of them.
const GUESS_BYTES: usize = 8 * 1024;

/// The legacy encoding that bytes with no NUL to speak of are most likely in.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    // A line of plain ASCII says nothing about the encoding, and the detector is slow. A line feed is
    // part of no character in any encoding it knows, so none is cut.
    let telling = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| !line.is_ascii());
    let mut fed = 0;
    let mut asked = false;
    for line in telling {
        if fed >= GUESS_BYTES && !asked {
            asked = true;
            let early = detector.guess(None, Utf8Detection::Deny);
            if fits(bytes, early) {
                return early;
            }
        }
        detector.feed(line, false);
        fed += line.iter().filter(|byte| !byte.is_ascii()).count();
    }
    detector.feed(b"", true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Whether the encoding writes East Asian characters in two bytes or more.
fn is_two_byte(encoding: &'static Encoding) -> bool {
    !encoding.is_single_byte() && encoding != UTF_8
}

fn fits(bytes: &[u8], encoding: &'static Encoding) -> bool {
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .is_some()
}

/// The encoding of a WHATWG label, in any case and with blanks around it. `None` for unknown labels
/// and for the two that name no encoding of files, `replacement` (with its labels) and `x-user-defined`.
pub fn encoding_for_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes())
        .filter(|&encoding| encoding != X_USER_DEFINED)
}

/// The encoding an editor means by its own name for it (`utf8bom`, `windows1252`, `shiftjis`,
/// `cp1251`): a WHATWG label but for what stands between its letters and digits.
pub fn encoding_for_editor(name: &str) -> Option<&'static Encoding> {
    if let Some(encoding) = encoding_for_label(name) {
        return Some(encoding);
    }
    let bare = |name: &str| -> String {
        let name = name.to_ascii_lowercase();
        let name = name
            .strip_prefix("cp125")
            .map(|rest| format!("windows125{rest}"))
            .unwrap_or(name);
        name.chars().filter(char::is_ascii_alphanumeric).collect()
    };
    let name = bare(name);
    let name = name.strip_suffix("bom").unwrap_or(&name);
    EDITOR_LABELS
        .iter()
        .find(|label| bare(label) == name)
        .and_then(|label| encoding_for_label(label))
}

/// The labels of the encodings that editors offer.
const EDITOR_LABELS: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "windows-874",
    "macintosh",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "ibm866",
    "gbk",
    "gb18030",
    "big5",
    "shift_jis",
    "euc-jp",
    "euc-kr",
];

/// The WHATWG name in lower case, which is itself a label: `utf-8`, `shift_jis`, `windows-1251`.
pub fn label(encoding: &'static Encoding) -> String {
    encoding.name().to_ascii_lowercase()
}

fn binary(what: &str) -> NotText {
    NotText::Binary {
        what: what.to_owned(),
    }
}

/// Bytes of the byte order mark of exactly this encoding, or 0.
fn bom_of(encoding: &'static Encoding, bytes: &[u8]) -> usize {
    let bom: &[u8] = if encoding == UTF_8 {
        b"\xEF\xBB\xBF"
    } else if encoding == UTF_16LE {
        b"\xFF\xFE"
    } else if encoding == UTF_16BE {
        b"\xFE\xFF"
    } else {
        return 0;
    };
    if bytes.starts_with(bom) { bom.len() } else { 0 }
}

fn decode_as(
    bytes: &[u8],
    encoding: &'static Encoding,
    confidence: Confidence,
    bom: usize,
) -> Decoded {
    let body = &bytes[bom..];
    let (text, bad_bytes) = match encoding.decode_without_bom_handling_and_without_replacement(body)
    {
        Some(text) => (Text::new(&text), 0),
        None => {
            let (text, bad) = decode_counting(body, encoding);
            (Text::new(&text), bad)
        }
    };
    Decoded {
        text,
        encoding,
        confidence,
        bom: bom > 0,
        bad_bytes,
    }
}

/// Decodes with one U+FFFD for every malformed sequence, and counts them. Counting U+FFFD afterwards
/// would be wrong: the file may hold that character itself.
fn decode_counting(bytes: &[u8], encoding: &'static Encoding) -> (String, usize) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 2);
    let (mut read, mut bad) = (0, 0);
    loop {
        let (result, used) =
            decoder.decode_to_string_without_replacement(&bytes[read..], &mut text, true);
        read += used;
        match result {
            DecoderResult::InputEmpty => return (text, bad),
            DecoderResult::Malformed(..) => {
                bad += 1;
                text.push('\u{FFFD}');
            }
            DecoderResult::OutputFull => {
                let rest = decoder.max_utf8_buffer_length_without_replacement(bytes.len() - read);
                // `None` is an overflow of usize; a kilobyte at a time gets there as well.
                text.reserve(rest.unwrap_or(1024).max(1024));
            }
        }
    }
}

/// How far bytes that are not valid UTF-8 are UTF-8 all the same.
enum Utf8 {
    Clearly,
    /// More right than wrong, but a line or two in an East Asian encoding may look like that too.
    Perhaps,
    Not,
}

/// Weighs the well-formed multi-byte sequences against the others. Two-byte ones do turn up in legacy
/// text, but seldom one after the other; longer ones hardly ever.
fn damaged_utf8(bytes: &[u8]) -> Utf8 {
    let (mut good, mut long, mut bad) = (0, 0, 0);
    for piece in bytes.utf8_chunks() {
        let valid = piece.valid().as_bytes();
        good += valid.iter().filter(|&&byte| byte >= 0xC0).count();
        long += valid.iter().filter(|&&byte| byte >= 0xE0).count();
        bad += usize::from(!piece.invalid().is_empty());
    }
    if good == 0 || good < bad {
        Utf8::Not
    } else if long >= 2 || good >= 4 && good >= bad * 2 {
        Utf8::Clearly
    } else {
        Utf8::Perhaps
    }
}
