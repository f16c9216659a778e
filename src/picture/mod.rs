//! Pictures as bytes: what format they have, what they are, and pixels made to fit; no file is ever opened here.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod format;
mod pixels;

pub use format::Format;
pub use pixels::{
    Crop, Fit, MAX_DECODED, MAX_PIXELS, MAX_WEIGHTED, PictureFacts, Written, decode, facts, make,
};
