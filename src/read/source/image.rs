//! Images, told by their bytes: a note, and the picture in a size that fits; a file that does not decode whole is never shown.

use std::io::Read;
use std::sync::Arc;

use crate::convert;
use crate::picture::{
    self, Crop, Fit, Format, MAX_DECODED, MAX_PIXELS, MAX_WEIGHTED, PictureFacts, Written,
};
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::protocol::settings::Images;
use crate::task::LONG_FROM_BYTES;
use crate::text::Text;
use crate::view::selector::{Own, Selector};
use crate::view::size::file_size;
use crate::view::{Attachment, Document, Extras, Style, in_header};
use crate::worker::{Input, Stop};

use super::kind::{Asked, HEAD, Kind, Subject};
use super::{Opened, ReadContext, refuse_own};

pub static IMAGE: Image = Image;

/// Bytes of a file that is looked at as an image.
const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// Decoding pictures of more than this takes long.
const LONG_FROM_PIXELS: u64 = 1_000_000;

/// Pixels of more bytes are decoded in a child process: what they take is never taken here, and a
/// decoder that asks for too much ends another process.
const MAX_HERE: u64 = 16 * 1024 * 1024;

/// What names of images end in; others are known by their bytes once they are seen to be no text.
const EXTENSIONS: [&str; 15] = [
    "png", "apng", "jpg", "jpeg", "jpe", "jfif", "mpo", "gif", "webp", "bmp", "dib", "tif", "tiff",
    "ico", "cur",
];

#[derive(Debug)]
pub struct Image;

/// What was made of an image, for one part and one set of limits.
#[derive(Debug)]
struct ScaledImage {
    facts: PictureFacts,
    /// The part that is shown, if not the whole.
    part: Option<Crop>,
    shown: Option<Shown>,
    notices: Vec<String>,
}

#[derive(Debug)]
struct Shown {
    mime_type: &'static str,
    width: u32,
    height: u32,
    data: Arc<[u8]>,
    /// Whether these are the bytes of the file.
    is_file: bool,
}

/// What an image may take where it is shown: what the settings say; where they say nothing, so many
/// bytes as it is, or what is the default.
fn limits(settings: &Images, as_it_is: Option<usize>) -> Fit {
    let (dimension, bytes) = match as_it_is {
        Some(bytes) => (u32::MAX, bytes),
        None => (Images::MAX_DIMENSION, Images::MAX_INLINE_BYTES),
    };
    Fit {
        max_dimension: settings.max_dimension.unwrap_or(dimension),
        max_bytes: settings.max_inline_bytes.unwrap_or(bytes),
    }
}

impl Kind for Image {
    fn kind(&self) -> ResourceKind {
        ResourceKind::Image
    }

    fn claims(&self, name: &str, selector: &Selector) -> bool {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let is_named = extension.is_some_and(|found| {
            EXTENSIONS
                .iter()
                .any(|known| found.eq_ignore_ascii_case(known))
        });
        is_named || matches!(selector.own, Some(Own::Crop { .. }))
    }

    fn claims_bytes(&self, head: &[u8]) -> bool {
        Format::of(head).is_some()
    }

    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Refusal> {
        // Whoever names an encoding says that it is text.
        if asked.encoding.is_some() {
            return Ok(None);
        }
        let head = asked.subject.head(HEAD, asked.spelled)?;
        let Some(format) = Format::of(&head) else {
            return Ok(None);
        };
        let state = asked.subject.state(asked.spelled)?;
        let crop = crop(asked, format)?;
        let (handle, of) = asked.subject.warm_key();
        let settings = &asked.means.scope.settings().images;
        let most = limits(settings, asked.means.image_bytes);
        let key = format!("{of}\0{crop:?} {most:?} {}", settings.inline);
        let (made, cache) = match asked.means.warm.get::<ScaledImage>(&state, "image", &key) {
            Some(made) => (made, Cache::Hit),
            None if asked.subject.size() > LONG_FROM_BYTES && asked.means.work.takes_long()? => {
                return self.open(asked);
            }
            None => {
                let made = Arc::new(make(asked, format, crop, settings.inline.then_some(most))?);
                let bytes = made.shown.as_ref().map_or(0, |shown| shown.data.len());
                let (of, bytes) = ((&state, handle), bytes as u64 + 256);
                let warm = asked.means.warm;
                warm.keep(of, "image", &key, made.clone(), bytes);
                (made, Cache::Miss)
            }
        };
        Ok(Some(Opened::read_only(document(asked, &made, cache))))
    }
}

/// The part that is asked for. An image has no lines and no text.
fn crop(asked: &Asked, format: Format) -> Result<Option<Crop>, Refusal> {
    let selector = asked.selector;
    let refuse = |message: String| {
        Err(Refusal::BadSelector {
            path: Some(asked.spelled.to_owned()),
            message,
        })
    };
    if selector.raw {
        return Err(Refusal::Binary {
            path: asked.spelled.to_owned(),
            what: format.name().to_owned(),
            instead: "Read it without :raw to see it.".to_owned(),
        });
    }
    if selector.has_lines() {
        return refuse("An image has no lines. Leave the selector out, or use :crop=x,y,w,h to see a part of it in its own pixels.".to_owned());
    }
    match selector.own {
        Some(Own::Crop { x, y, w, h }) => Ok(Some(Crop { x, y, w, h })),
        _ => {
            refuse_own(selector, asked.spelled, "an image")?;
            Ok(None)
        }
    }
}

fn make(
    asked: &Asked,
    format: Format,
    crop: Option<Crop>,
    most: Option<Fit>,
) -> Result<ScaledImage, Refusal> {
    let means = asked.means;
    let bytes = asked.subject.bytes(MAX_BYTES, asked.spelled, means.work)?;
    let Some(bytes) = bytes else {
        return Err(too_large_file(asked));
    };
    let damaged = |what: String| {
        Refusal::Damaged {
            path: asked.spelled.to_owned(),
            what: format!("the {} does not decode ({what})", format.name()),
            instead: "Nothing of it can be shown; ask the user for a sound copy, or convert it to PNG with another program.".to_owned(),
        }
    };
    let facts = picture::facts(format, &bytes).map_err(damaged)?;
    refuse_large(&facts, asked.spelled)?;
    if facts.pixels() == 0 {
        return Err(damaged("it has no pixels".to_owned()));
    }
    if !is_plausible(&facts, bytes.len() as u64) {
        let PictureFacts { width, height, .. } = facts;
        let size = file_size(bytes.len() as u64);
        return Err(damaged(format!("{width}x{height} pixels in {size}")));
    }
    let (part, mut notices) = within(crop, &facts, asked.spelled)?;
    let Some(most) = most else {
        return Ok(ScaledImage {
            facts,
            part,
            shown: None,
            notices,
        });
    };
    if facts.pixels() > LONG_FROM_PIXELS {
        means.work.takes_long()?;
    }
    let left_out = format.left_out(&bytes);
    let shown = fit(&facts, bytes, part, most, &means)?.map_err(damaged)?;
    notices.extend(left_out.map(str::to_owned));
    Ok(ScaledImage {
        facts,
        part,
        shown: Some(shown),
        notices,
    })
}

/// Decodes an image and makes it fit; the inner error says in a few words why it cannot be.
fn fit(
    facts: &PictureFacts,
    bytes: Arc<[u8]>,
    part: Option<Crop>,
    fit: Fit,
    means: &ReadContext,
) -> Result<Result<Shown, String>, Refusal> {
    let format = facts.format;
    if !format.has_end(&bytes) {
        return Ok(Err("it ends before its end".to_owned()));
    }
    let fits = facts.width.max(facts.height) <= fit.max_dimension.max(1)
        && bytes.len() <= fit.max_bytes
        && part.is_none();
    // Not every reader of pictures heeds a note on how to turn one, and of a moving one it would be
    // shown something else than what is said: those are written anew.
    let is_as_it_is = facts.orientation == image::metadata::Orientation::NoTransforms
        && format.left_out(&bytes).is_none()
        && format.is_for_models();
    let anew = (!(fits && is_as_it_is)).then_some(fit);
    let made = match facts.decoded_bytes > MAX_HERE {
        true => made_elsewhere(format, &bytes, part, anew, means)?,
        false => made_here(facts, &bytes, part, anew, means)?,
    };
    Ok(made.map(|written| match written {
        None => Shown {
            mime_type: format.mime_type(),
            width: facts.width,
            height: facts.height,
            data: bytes,
            is_file: true,
        },
        Some(written) => Shown {
            mime_type: written.format.mime_type(),
            width: written.width,
            height: written.height,
            data: written.data.into(),
            is_file: false,
        },
    }))
}

/// What came of a picture: written anew, or only seen to decode; or why it does not, in a few words.
type PictureOutcome = Result<Option<Written>, String>;

fn made_here(
    facts: &PictureFacts,
    bytes: &[u8],
    part: Option<Crop>,
    anew: Option<Fit>,
    means: &ReadContext,
) -> Result<PictureOutcome, Refusal> {
    let _share = means.memory.take(in_memory(facts), means.work)?;
    let pixels = match picture::decode(facts.format, bytes) {
        Ok(pixels) => pixels,
        Err(what) => return Ok(Err(what)),
    };
    means.work.check()?;
    let made = anew.map(|fit| picture::make(pixels, facts, part, fit));
    Ok(made.transpose())
}

fn made_elsewhere(
    format: Format,
    bytes: &[u8],
    part: Option<Crop>,
    anew: Option<Fit>,
    means: &ReadContext,
) -> Result<PictureOutcome, Refusal> {
    let open = || Ok(Box::new(bytes) as Box<dyn Read + '_>);
    let input = Input {
        bytes: bytes.len() as u64,
        open: &open,
    };
    let wanted = convert::Picture {
        format,
        part,
        fit: anew,
    };
    match means.converters.picture(wanted, &input, means.work) {
        Ok(outcome) => Ok(outcome),
        Err(Stop::Stopped(stopped)) => Err(stopped.into()),
        Err(Stop::Busy) => Err(Refusal::Busy {
            message: "Other large files are being converted.".to_owned(),
        }),
        Err(stop @ (Stop::Start(_) | Stop::Input(_))) => Err(Refusal::Io {
            path: means.display.to_owned(),
            message: stop.to_string(),
        }),
        // The picture is at fault, as far as anybody can know.
        Err(Stop::Died(_)) => Ok(Err("its decoder needs too much memory".to_owned())),
        Err(stop @ (Stop::Cpu(_) | Stop::Wall(_))) => Ok(Err(stop.to_string())),
    }
}

/// The type and the bytes of a picture that is a part of something else.
type Embedded = (&'static str, Arc<[u8]>);

/// Makes such a picture fit; the inner error says in a few words why it cannot be shown.
pub fn embedded(
    bytes: Vec<u8>,
    settings: &Images,
    means: &ReadContext,
) -> Result<Result<Embedded, String>, Refusal> {
    let Some(format) = Format::of(&bytes) else {
        return Ok(Err("it is no image".to_owned()));
    };
    let facts = match picture::facts(format, &bytes) {
        Ok(facts) => facts,
        Err(what) => return Ok(Err(what)),
    };
    let is_large = facts.pixels() > MAX_PIXELS
        || facts.decoded_bytes > MAX_DECODED
        || bytes.len() as u64 > MAX_BYTES;
    if is_large || facts.pixels() == 0 || !is_plausible(&facts, bytes.len() as u64) {
        return Ok(Err(format!("it is {}x{}", facts.width, facts.height)));
    }
    let shown = fit(&facts, bytes.into(), None, limits(settings, None), means)?;
    Ok(shown.map(|shown| (shown.mime_type, shown.data)))
}

/// What decoding and shrinking take, about: decoders keep as much again beside the pixels, or the
/// copy in which transparent ones count for less does.
fn in_memory(facts: &PictureFacts) -> u64 {
    facts.decoded_bytes.saturating_mul(2)
}

/// Whether so many bytes can hold so many pixels: a few spoilt bytes in a header must not cost
/// hundreds of megabytes.
fn is_plausible(facts: &PictureFacts, bytes: u64) -> bool {
    let most = bytes.saturating_mul(facts.format.densest());
    facts.decoded_bytes <= MAX_WEIGHTED || facts.decoded_bytes <= most
}

fn too_large_file(asked: &Asked) -> Refusal {
    Refusal::TooLarge {
        path: asked.spelled.to_owned(),
        what: format!(
            "the image has {}, and at most {} are decoded",
            file_size(asked.subject.size()),
            file_size(MAX_BYTES)
        ),
        instead: "Make a smaller copy with another program and read that.".to_owned(),
    }
}

fn refuse_large(facts: &PictureFacts, spelled: &str) -> Result<(), Refusal> {
    let PictureFacts { width, height, .. } = facts;
    let what = if facts.pixels() > MAX_PIXELS {
        format!(
            "the image is {width}x{height}, and at most {} megapixels are decoded",
            MAX_PIXELS / 1_000_000
        )
    } else if facts.decoded_bytes > MAX_DECODED {
        format!(
            "decoded, the image takes {}, and at most {} are held",
            file_size(facts.decoded_bytes),
            file_size(MAX_DECODED)
        )
    } else {
        return Ok(());
    };
    Err(Refusal::TooLarge {
        path: spelled.to_owned(),
        what,
        instead: "Make a smaller copy with another program and read that; :crop cannot help, it is applied after decoding.".to_owned(),
    })
}

/// The part that is in the image; `None` for all of it.
fn within(
    crop: Option<Crop>,
    facts: &PictureFacts,
    spelled: &str,
) -> Result<(Option<Crop>, Vec<String>), Refusal> {
    let Some(Crop { x, y, w, h }) = crop else {
        return Ok((None, Vec::new()));
    };
    let PictureFacts { width, height, .. } = *facts;
    if x >= width || y >= height {
        return Err(Refusal::BadSelector {
            path: Some(spelled.to_owned()),
            message: format!(
                "The crop begins at {x},{y}, outside of the image, which is {width}x{height} pixels. Use :crop=x,y,w,h with x under {width} and y under {height}."
            ),
        });
    }
    let part = Crop {
        x,
        y,
        w: w.min(width - x),
        h: h.min(height - y),
    };
    let mut notices = Vec::new();
    if (part.w, part.h) != (w, h) {
        notices.push(format!(
            "The crop goes beyond the image ({width}x{height}); {}x{} of it are there",
            part.w, part.h
        ));
    }
    let is_all = (part.w, part.h) == (width, height);
    Ok(((!is_all).then_some(part), notices))
}

fn document(asked: &Asked, made: &ScaledImage, cache: Cache) -> Document {
    let name = match asked.subject {
        Subject::File(_) => asked.means.display,
        Subject::Member { name, .. } => name,
    };
    let attachments = made.shown.iter().map(|shown| Attachment {
        line: None,
        mime_type: shown.mime_type,
        data: shown.data.clone(),
        made_of: (!shown.is_file).then(|| made_of(shown, made, asked.subject.size())),
    });
    Document {
        kind: ResourceKind::Image,
        style: Style::Note,
        location: asked.subject.location(),
        text: Text::new(&note(name, asked.subject.size(), made)).into(),
        cache,
        details: MoreDetails {
            total_bytes: Some(asked.subject.size()),
            ..MoreDetails::default()
        },
        notices: made.notices.clone(),
        extras: Extras {
            attachments: attachments.collect(),
            footers: made.notices.clone(),
            ..Extras::default()
        },
    }
}

/// `Attached is image/jpeg, 2000x1500, 250.3KB, made of image/png, 4000x3000, 8.1MB`.
fn made_of(shown: &Shown, made: &ScaledImage, bytes: u64) -> String {
    let PictureFacts { width, height, .. } = made.facts;
    let part = made
        .part
        .map(|Crop { x, y, w, h }| format!("the part {x},{y},{w},{h} of "));
    format!(
        "Attached is {}, {}x{}, {}, made of {}{}, {width}x{height}, {}",
        shown.mime_type,
        shown.width,
        shown.height,
        file_size(shown.data.len() as u64),
        part.unwrap_or_default(),
        made.facts.format.mime_type(),
        file_size(bytes)
    )
}

/// `[photo.png: image/png, 4000x3000, 8.1MB; shown at 2000x1500]`.
fn note(name: &str, bytes: u64, made: &ScaledImage) -> String {
    let PictureFacts { width, height, .. } = made.facts;
    let mut parts = Vec::new();
    if let Some(Crop { x, y, w, h }) = made.part {
        parts.push(format!("part {x},{y},{w},{h}"));
    }
    let whole = made.part.map_or((width, height), |part| (part.w, part.h));
    match &made.shown {
        Some(shown) if (shown.width, shown.height) != whole => {
            parts.push(format!("shown at {}x{}", shown.width, shown.height));
        }
        Some(shown) if !made.facts.format.is_for_models() => {
            parts.push(format!("shown as {}", shown.mime_type));
        }
        Some(shown) if !shown.is_file && made.part.is_none() => {
            let size = file_size(shown.data.len() as u64);
            parts.push(format!("shown as {}, {size}", shown.mime_type));
        }
        Some(_) => {}
        None => parts.push(format!(
            "{}, {}; not shown (images.inline is off)",
            match made.facts.channels {
                1 => "1 channel".to_owned(),
                count => format!("{count} channels"),
            },
            match made.facts.has_alpha {
                true => "alpha",
                false => "no alpha",
            }
        )),
    }
    let tail = parts.iter().map(|part| format!("; {part}"));
    format!(
        "[{}: {}, {width}x{height}, {}{}]",
        in_header(name),
        made.facts.format.mime_type(),
        file_size(bytes),
        tail.collect::<String>()
    )
}
