//! A large picture in the child: decoded whole and made to fit; what does not decode never becomes a picture.

use crate::picture::{self, Written};

use super::messages::{Painted, Picture};

/// The picture, and its bytes where it is written anew; the error says in a few words why there is
/// none.
pub(super) fn paint(wanted: Picture, bytes: Vec<u8>) -> Result<(Option<Painted>, Vec<u8>), String> {
    let Picture { format, part, fit } = wanted;
    let facts = picture::facts(format, &bytes)?;
    let pixels = picture::decode(format, &bytes)?;
    drop(bytes);
    let Some(fit) = fit else {
        return Ok((None, Vec::new()));
    };
    let Written {
        format,
        width,
        height,
        data,
    } = picture::make(pixels, &facts, part, fit)?;
    let painted = Painted {
        format,
        width,
        height,
    };
    Ok((Some(painted), data))
}
