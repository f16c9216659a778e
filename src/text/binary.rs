//! What is no text, and what to call it; a file's name or extension is never asked.

/// Controls are looked for near the start in this many bytes.
const START: usize = 512;

/// The name of a format known by its first bytes; `None` for unknown ones and for kinds of text.
pub(super) fn known(bytes: &[u8]) -> Option<String> {
    if is_transport_stream(bytes) {
        return Some("MPEG transport stream".to_owned());
    }
    let kind = infer::get(bytes)?;
    let name = match kind.extension() {
        "html" | "xml" | "sh" => return None,
        "elf" => "ELF executable",
        "exe" | "dll" => "Windows executable",
        "mach" => "Mach-O executable",
        "wasm" => "WebAssembly module",
        "class" => "Java class file",
        "zip" => "ZIP archive",
        "tar" => "tar archive",
        "gz" => "gzip data",
        "bz2" => "bzip2 data",
        "xz" => "XZ data",
        "zst" => "Zstandard data",
        "7z" => "7z archive",
        "rar" => "RAR archive",
        "sqlite" => "SQLite database",
        "pdf" => "PDF document",
        "docx" => "Word document",
        "xlsx" => "Excel workbook",
        "pptx" => "PowerPoint presentation",
        "png" => "PNG image",
        "jpg" => "JPEG image",
        "gif" => "GIF image",
        "webp" => "WebP image",
        "mp4" => "MP4 video",
        "mp3" => "MP3 audio",
        _ => kind.mime_type(),
    };
    Some(name.to_owned())
}

/// UTF-32 with its mark, which begins like UTF-16's and which no label names.
pub(super) fn utf32(bytes: &[u8]) -> Option<&'static str> {
    let marked = bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF");
    (marked && bytes.len().is_multiple_of(4)).then_some("UTF-32 text, which no reader here decodes")
}

/// Whether control characters that texts do not use are as frequent as in binary data: random bytes
/// have one in ten, of every kind. A text that has some has one or two kinds, and may have many
/// (Vim's key maps are full of Ctrl-V).
pub(super) fn dense_in_controls(bytes: &[u8]) -> bool {
    // Ctrl-Z ends many a file from DOS.
    let bytes = bytes.strip_suffix(b"\x1A").unwrap_or(bytes);
    let (mut controls, mut kinds) = (0, 0u32);
    for &byte in bytes.iter().filter(|&&byte| is_odd_control(byte)) {
        controls += 1;
        kinds |= 1 << byte;
    }
    controls > bytes.len() / 16 || controls > bytes.len() / 40 && kinds.count_ones() >= 3
}

/// How many of a hundred bytes are control characters, rounded up: C0 but for HT, LF, VT, FF and CR,
/// as tools count that know a binary file by it. 0 for no bytes.
pub fn percent_of_controls(bytes: &[u8]) -> usize {
    let is_control = |byte: &&u8| **byte < 0x20 && !(0x09..=0x0D).contains(*byte);
    let controls = bytes.iter().filter(is_control).count();
    (controls * 100).div_ceil(bytes.len().max(1))
}

/// Whether such a control character stands near the start.
pub(super) fn control_near_start(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(START)];
    start.iter().copied().any(is_odd_control)
}

/// C0 controls but for BS, TAB, LF, FF, CR and ESC, which logs and listings use.
fn is_odd_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, 0x08 | 0x09 | 0x0A | 0x0C | 0x0D | 0x1B)
}

/// Packets of 188 bytes, each begun by 0x47; three of them are proof enough beside a NUL.
fn is_transport_stream(bytes: &[u8]) -> bool {
    [0, 188, 376].iter().all(|&at| bytes.get(at) == Some(&0x47))
}
