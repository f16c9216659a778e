//! Sizes of files in words, as `formats.md` writes them; a size is never rounded to nothing.

/// `21B`, `6.2KB`, `23.1MB`, `5.0GiB`: 1024-based, one decimal from KB on.
pub fn file_size(bytes: u64) -> String {
    let units = ["KB", "MB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What would be printed as 1024.0 is one of the next unit.
    while size >= 1023.95 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::file_size;

    #[test]
    fn is_written_as_the_formats_say() {
        let mib = 1024 * 1024;
        assert_eq!(file_size(0), "0B");
        assert_eq!(file_size(1023), "1023B");
        assert_eq!(file_size(6349), "6.2KB");
        assert_eq!(file_size(40 * mib), "40.0MB");
        assert_eq!(file_size(1024 * mib - 1), "1.0GiB");
        assert_eq!(file_size(5 * 1024 * mib), "5.0GiB");
    }
}
