//! Extended headers of pax: records that stand for fields of the next header; one that is malformed is never guessed at.

use super::super::index::Regions;

/// What extended headers say of a member.
#[derive(Debug, Clone, Default)]
pub struct Extended {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub sparse: Sparse,
}

/// A sparse member in one of GNU's three pax forms.
#[derive(Debug, Clone, Default)]
pub struct Sparse {
    pub real_size: Option<u64>,
    pub name: Option<Vec<u8>>,
    /// The map stands before the data (1.0).
    pub in_front: bool,
    /// The map, where it is in the header (0.0 and 0.1).
    pub regions: Regions,
    /// An offset whose length has not come yet (0.0).
    offset: Option<u64>,
}

/// Regions after which a map is not read further.
pub const MAX_REGIONS: usize = 100_000;

impl Extended {
    /// Takes in the records; `false` where they are damaged.
    pub fn read(&mut self, mut records: &[u8]) -> bool {
        loop {
            match records {
                [] | [0, ..] => return true,
                _ => {}
            }
            let Some((key, value, rest)) = record(records) else {
                return false;
            };
            self.take(key, value);
            records = rest;
        }
    }

    fn take(&mut self, key: &[u8], value: &[u8]) {
        let number = std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        // An empty value takes back what a global header said.
        let text = (!value.is_empty()).then(|| value.to_vec());
        match key {
            b"path" => self.path = text,
            b"linkpath" => self.link = text,
            b"size" => self.size = number.filter(|size| *size <= i64::MAX as u64),
            b"GNU.sparse.name" => self.sparse.name = text,
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => self.sparse.real_size = number,
            b"GNU.sparse.major" => self.sparse.in_front = number == Some(1),
            b"GNU.sparse.offset" => self.sparse.offset = number,
            b"GNU.sparse.numbytes" => {
                if let (Some(offset), Some(length)) = (self.sparse.offset.take(), number)
                    && self.sparse.regions.len() < MAX_REGIONS
                {
                    self.sparse.regions.push((offset, length));
                }
            }
            b"GNU.sparse.map" => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                let numbers: Vec<u64> = text
                    .split(',')
                    .map_while(|part| part.parse().ok())
                    .take(2 * MAX_REGIONS)
                    .collect();
                self.sparse.regions = numbers
                    .chunks_exact(2)
                    .map(|pair| (pair[0], pair[1]))
                    .collect();
            }
            _ => {}
        }
    }

    pub fn is_sparse(&self) -> bool {
        self.sparse.in_front || !self.sparse.regions.is_empty()
    }
}

/// `LENGTH KEY=VALUE\n`: key, value, and what follows.
fn record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = memchr::memchr(b' ', &records[..records.len().min(20)])?;
    let length: usize = std::str::from_utf8(&records[..blank]).ok()?.parse().ok()?;
    let (this, rest) = records.split_at_checked(length)?;
    let this = this.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = memchr::memchr(b'=', this)?;
    Some((&this[..equals], &this[equals + 1..], rest))
}
