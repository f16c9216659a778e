//! Pixels: decoded whole, turned upright, cut out, made to fit, written again; nothing is ever made larger, and what does not decode gives no picture.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fast_image_resize::{ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, GenericImageView, ImageDecoder, ImageError, ImageReader, Limits};
use serde::{Deserialize, Serialize};

use super::format::Format;

/// Pixels of a picture that is decoded.
pub const MAX_PIXELS: u64 = 100_000_000;

/// Bytes of decoded pixels: a hundred megapixels of four channels. Only pictures of 16 bits a
/// channel, or of floats, reach it before their pixels do.
pub const MAX_DECODED: u64 = 400_000_000;

/// Bytes that a decoder may take for what is not pixels: a profile of colours can be packed so that
/// a small file holds a large one.
const MAX_BESIDE: u64 = 16 * 1024 * 1024;

/// Pixels of more bytes are shrunk without a copy in which transparent ones count for less.
pub const MAX_WEIGHTED: u64 = 64 * 1024 * 1024;

/// Colours after which a picture is none of flat art, and pixels that are looked at for them.
const FLAT_COLOURS: usize = 256;
const FLAT_SAMPLE: u64 = 65_536;

/// Characters of a decoder's words that are passed on.
const MAX_WORDS: usize = 100;

/// Qualities at which JPEG is tried before the picture is made smaller.
const QUALITIES: [u8; 3] = [85, 75, 60];

/// What is known of a picture before its pixels are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PictureFacts {
    pub format: Format,
    /// As it is seen, turned upright.
    pub width: u32,
    pub height: u32,
    /// How it is to be turned.
    pub orientation: Orientation,
    pub channels: u8,
    pub has_alpha: bool,
    /// What its pixels take.
    pub decoded_bytes: u64,
}

impl PictureFacts {
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// A part of a picture, in the pixels of the upright one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crop {
    pub x: u32,
    pub y: u32,
    pub w: u32,
    pub h: u32,
}

/// What a picture may take where it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fit {
    /// Pixels of the longer side.
    pub max_dimension: u32,
    pub max_bytes: usize,
}

/// A picture written anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub format: Format,
    pub width: u32,
    pub height: u32,
    pub data: Vec<u8>,
}

fn decoder(format: Format, bytes: &[u8], max_alloc: u64) -> Result<impl ImageDecoder, ImageError> {
    // The crate's own decoder of icons takes PNG in them only with an alpha channel.
    let (format, bytes) = match format.png_within(bytes) {
        Some(png) => (Format::Png, png),
        None => (format, bytes),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.codec());
    let mut limits = Limits::default();
    limits.max_alloc = Some(max_alloc);
    reader.limits(limits);
    reader.into_decoder()
}

/// A decoder that panics has met what it does not decode.
fn guarded<T>(job: impl FnOnce() -> Result<T, ImageError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(job)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(in_short(&error.to_string())),
        Err(_) => Err("its decoder failed".to_owned()),
    }
}

/// A decoder's words, of which some go on for lines.
fn in_short(error: &str) -> String {
    let words: Vec<&str> = error.split_whitespace().collect();
    let words = words.join(" ");
    let words = match words.strip_prefix("Format error decoding ") {
        Some(rest) => rest.split_once(": ").map_or(rest, |(_, what)| what),
        None => &words,
    };
    let end = words.char_indices().nth(MAX_WORDS);
    let words = end.map_or(words, |(end, _)| &words[..end]);
    words.trim_end_matches(['.', '!']).to_owned()
}

/// Reads the header; the error says in a few words why it cannot be.
pub fn facts(format: Format, bytes: &[u8]) -> Result<PictureFacts, String> {
    guarded(|| {
        let mut decoder = decoder(format, bytes, MAX_BESIDE)?;
        let (width, height) = decoder.dimensions();
        let colour = decoder.color_type();
        // A damaged note on how to turn it is none.
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let (width, height) = match is_turned(orientation) {
            true => (height, width),
            false => (width, height),
        };
        Ok(PictureFacts {
            format,
            width,
            height,
            orientation,
            channels: colour.channel_count(),
            has_alpha: colour.has_alpha(),
            decoded_bytes: decoder.total_bytes(),
        })
    })
}

/// All pixels, as they are stored: not turned yet.
pub fn decode(format: Format, bytes: &[u8]) -> Result<DynamicImage, String> {
    guarded(|| {
        let decoder = decoder(format, bytes, MAX_DECODED + MAX_BESIDE)?;
        DynamicImage::from_decoder(decoder)
    })
}

/// Whether height and width change places.
fn is_turned(orientation: Orientation) -> bool {
    match orientation {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => true,
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => false,
    }
}

/// Where a part of the upright picture is in the stored one, which is `width` by `height`.
fn stored(part: Crop, orientation: Orientation, (width, height): (u32, u32)) -> Crop {
    let Crop { x, y, w, h } = part;
    let (right, bottom) = (width.wrapping_sub(x + w), height.wrapping_sub(y + h));
    // Of a turned picture, the upright columns are stored rows.
    let (turned_right, turned_bottom) = (width.wrapping_sub(y + h), height.wrapping_sub(x + w));
    let straight = |x, y| Crop { x, y, w, h };
    let turned = |x, y| Crop { x, y, w: h, h: w };
    match orientation {
        Orientation::NoTransforms => part,
        Orientation::Rotate180 => straight(right, bottom),
        Orientation::FlipHorizontal => straight(right, y),
        Orientation::FlipVertical => straight(x, bottom),
        Orientation::Rotate90 => turned(y, turned_bottom),
        Orientation::Rotate270 => turned(turned_right, x),
        Orientation::Rotate90FlipH => turned(y, x),
        Orientation::Rotate270FlipH => turned(turned_right, turned_bottom),
    }
}

/// The size in which something of this size is shown: never larger, and no side under one pixel.
fn fitted((width, height): (u32, u32), max_dimension: u32) -> (u32, u32) {
    let longer = width.max(height);
    let max = max_dimension.max(1);
    if longer <= max {
        return (width, height);
    }
    let scaled = |side: u32| {
        let side = (u64::from(side) * u64::from(max) + u64::from(longer) / 2) / u64::from(longer);
        (side as u32).max(1)
    };
    (scaled(width), scaled(height))
}

/// Makes a picture fit: the part of it, upright, of so many pixels and bytes.
pub fn make(
    pixels: DynamicImage,
    facts: &PictureFacts,
    part: Option<Crop>,
    fit: Fit,
) -> Result<Written, String> {
    guarded(|| {
        let is_flat = is_flat(&pixels);
        let size = (pixels.width(), pixels.height());
        let pixels = match part.map(|part| stored(part, facts.orientation, size)) {
            Some(Crop { x, y, w, h }) => pixels.crop_imm(x, y, w, h),
            None => pixels,
        };
        let size = fitted((pixels.width(), pixels.height()), fit.max_dimension);
        // Turned when it is small: what is large is held once.
        let mut picture = resized(pixels, size)?;
        picture.apply_orientation(facts.orientation);
        let mut picture = in_eight_bits(picture);
        loop {
            if let Some((format, data)) = encoded(&picture, is_flat, fit.max_bytes)? {
                return Ok(Written {
                    format,
                    width: picture.width(),
                    height: picture.height(),
                    data,
                });
            }
            let (width, height) = (picture.width(), picture.height());
            let smaller = fitted((width, height), width.max(height) * 3 / 4);
            picture = resized(picture, smaller)?;
        }
    })
}

fn resized(pixels: DynamicImage, size: (u32, u32)) -> Result<DynamicImage, ImageError> {
    if (pixels.width(), pixels.height()) == size {
        return Ok(pixels);
    }
    let mut small = DynamicImage::new(size.0, size.1, pixels.color());
    let is_weighted = pixels.as_bytes().len() as u64 <= MAX_WEIGHTED;
    let options = ResizeOptions::new().use_alpha(is_weighted);
    let done = Resizer::new().resize(&pixels, &mut small, Some(&options));
    done.map_err(|error| ImageError::IoError(std::io::Error::other(error)))?;
    Ok(small)
}

/// Eight bits a channel, without an alpha channel that hides nothing.
fn in_eight_bits(picture: DynamicImage) -> DynamicImage {
    let colour = picture.color();
    let is_gray = !colour.has_color();
    let hides = colour.has_alpha() && {
        let picture = &picture;
        let pixels = picture.pixels();
        pixels.into_iter().any(|(_, _, pixel)| pixel.0[3] < 255)
    };
    match (is_gray, hides) {
        (true, false) => DynamicImage::ImageLuma8(picture.into_luma8()),
        (false, false) => DynamicImage::ImageRgb8(picture.into_rgb8()),
        (_, true) => DynamicImage::ImageRgba8(picture.into_rgba8()),
    }
}

/// Whether it is drawn in few colours: such pictures are smaller as PNG, and sharp.
fn is_flat(pixels: &DynamicImage) -> bool {
    let (width, height) = (u64::from(pixels.width()), u64::from(pixels.height()));
    let all = width * height;
    let step = all.div_ceil(FLAT_SAMPLE).max(1);
    // A step that shares no factor with the width walks over all columns.
    let step = if step > 1 && width % step == 0 {
        step + 1
    } else {
        step
    };
    let mut colours = std::collections::HashSet::new();
    let mut at = 0;
    while at < all && colours.len() <= FLAT_COLOURS {
        colours.insert(pixels.get_pixel((at % width) as u32, (at / width) as u32).0);
        at += step;
    }
    colours.len() <= FLAT_COLOURS
}

/// The picture in at most so many bytes; `None` where it must be smaller for that. A single pixel
/// is given whatever it takes.
fn encoded(
    picture: &DynamicImage,
    is_flat: bool,
    max_bytes: usize,
) -> Result<Option<(Format, Vec<u8>)>, ImageError> {
    let is_last = picture.width().max(picture.height()) <= 1;
    let fits = |data: &Vec<u8>| data.len() <= max_bytes || is_last;
    let is_transparent = picture.color().has_alpha();
    if is_flat || is_transparent {
        let mut data = Vec::new();
        picture.write_with_encoder(PngEncoder::new(&mut data))?;
        if fits(&data) {
            return Ok(Some((Format::Png, data)));
        }
    }
    if is_transparent {
        return Ok(None);
    }
    for quality in QUALITIES {
        let mut data = Vec::new();
        picture.write_with_encoder(JpegEncoder::new_with_quality(&mut data, quality))?;
        if fits(&data) {
            return Ok(Some((Format::Jpeg, data)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_the_same_before_and_after_turning() {
        let (width, height) = (7, 5);
        let pixels =
            image::GrayImage::from_fn(width, height, |x, y| image::Luma([(y * width + x) as u8]));
        let pixels = DynamicImage::ImageLuma8(pixels);
        for exif in 1..=8 {
            let orientation = Orientation::from_exif(exif).expect("one of eight");
            let mut upright = pixels.clone();
            upright.apply_orientation(orientation);
            let part = Crop {
                x: 1,
                y: 2,
                w: 3,
                h: 2,
            };
            let expected = upright.crop_imm(part.x, part.y, part.w, part.h);
            let Crop { x, y, w, h } = stored(part, orientation, (width, height));
            let mut found = pixels.crop_imm(x, y, w, h);
            found.apply_orientation(orientation);
            assert_eq!(found, expected, "{orientation:?}");
        }
    }

    #[test]
    fn sizes_are_never_larger_and_keep_their_shape() {
        assert_eq!(fitted((4000, 3000), 2000), (2000, 1500));
        assert_eq!(fitted((40, 9000), 2000), (9, 2000));
        assert_eq!(fitted((1, 30_000), 2000), (1, 2000));
        assert_eq!(fitted((48, 32), 2000), (48, 32));
        assert_eq!(fitted((u32::MAX, 1), 1), (1, 1));
    }
}
