//! How the details of a read tell where the thing is: made here for every kind of resource, from its id alone.

use std::fmt::Write;
use std::path::Path;

use crate::protocol::read::Location;
use crate::workspace::ResourceId;

/// Where a thing is; `opened_as` is the client's own spelling of its URI, where it has it open.
pub fn location(id: &ResourceId, opened_as: Option<&str>) -> Location {
    match id {
        ResourceId::File(real) => {
            let path = real.as_path().display().to_string();
            Location {
                source: path.clone(),
                resolved_path: Some(path),
                uri: Some(match opened_as {
                    Some(uri) => uri.to_owned(),
                    None => file_uri(real.as_path()),
                }),
            }
        }
        ResourceId::Url(url) => Location {
            source: url.clone(),
            ..Location::default()
        },
        ResourceId::Internal(url) => Location {
            source: url.to_string(),
            ..Location::default()
        },
        ResourceId::Document(uri) => {
            let uri = opened_as.unwrap_or(uri);
            Location {
                source: uri.to_owned(),
                resolved_path: None,
                uri: Some(uri.to_owned()),
            }
        }
    }
}

/// An absolute path as a `file://` URI.
pub fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
