//! Pictures as bytes: what format they have, what they are, and pixels made to fit; no file is ever opened here.

mod format;
mod pixels;

pub use format::Format;
pub use pixels::{
    Crop, Facts, Fit, MAX_DECODED, MAX_PIXELS, MAX_WEIGHTED, Written, decode, facts, make,
};
