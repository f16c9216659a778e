//! Getting a document converted, warm where its file proves unchanged; pages are asked for one by one and only as many as are needed.

use std::io::{self, Read};
use std::sync::Arc;

use crate::buffer::FileState;
use crate::convert::{Conversion, ConvertAnswer, Damage, Format, PageState, Pages, PartKind, Why};
use crate::protocol::Refusal;
use crate::protocol::read::Cache;
use crate::text::Text;
use crate::view::Selector;
use crate::worker::{Input, Stop};
use crate::workspace::{Handle, Stamp};

use super::super::ReadContext;
use super::super::kind::{Asked, Subject};
use super::cannot_read;
use super::made::{Converted, Growing, Made, Need};

/// The names under which things are kept warm.
const MAKER: &str = "document";
const TABLE_MAKER: &str = "table";

/// Attempts to hand over a file that does not change meanwhile.
const STEADY_ATTEMPTS: usize = 3;

/// Pages of one request on which a converter may die.
const MAX_DEATHS: usize = 3;

/// What the document gives, at least as far as is asked for.
pub fn made(
    asked: &Asked,
    name: &str,
    format: Format,
    selector: &Selector,
) -> Result<(Arc<Made>, Cache), Refusal> {
    let means = asked.means;
    let (handle, part) = asked.subject.warm_key();
    let need = Need::of(selector, &means.limits);
    let state = asked.subject.state(asked.spelled)?;
    let warm = means.warm.get::<Made>(&state, MAKER, part);
    let begun = match warm.as_deref() {
        Some(Made::Text(made)) if !need.is_met_by(made) => Some(made),
        _ => None,
    };
    if let (Some(made), None) = (&warm, begun) {
        return Ok((made.clone(), Cache::Hit));
    }
    if means.work.takes_long()? {
        return self::made(asked, name, format, selector);
    }
    let mut errand = Errand::new(asked, name);
    let made = match format {
        Format::Pdf => errand.pdf(begun.map(Growing::from), &need)?,
        format => errand.at_once(format)?,
    };
    let made = Arc::new(made);
    if errand.keep {
        let of = (&state, handle);
        means.warm.keep(of, MAKER, part, made.clone(), made.bytes());
    }
    match errand.unfinished {
        Some(refusal) => Err(refusal),
        None => Ok((made, Cache::Miss)),
    }
}

/// The Markdown table of a CSV text; kept warm where it is that of a file.
pub fn table(
    asked: &Asked,
    name: &str,
    text: &Text,
    of: Option<(&FileState, &Handle)>,
) -> Result<(Arc<Made>, Cache), Refusal> {
    let ReadContext { warm, work, .. } = asked.means;
    let kept = of.and_then(|(state, _)| warm.get(state, TABLE_MAKER, ""));
    if let Some(made) = kept {
        return Ok((made, Cache::Hit));
    }
    if work.takes_long()? {
        return table(asked, name, text, of);
    }
    let bytes = text.len_bytes() as u64;
    let open = || Ok(Box::new(text.reader()) as Box<dyn Read + '_>);
    let input = Input { bytes, open: &open };
    let mut errand = Errand::new(asked, name);
    let answer = asked.means.converters.open(Format::Csv, &input, work);
    let made = Arc::new(errand.note_or(answer.map(|(_, answer)| answer))?);
    if let (Some(of), true) = (of, errand.keep) {
        warm.keep(of, TABLE_MAKER, "", made.clone(), made.bytes());
    }
    Ok((made, Cache::Miss))
}

/// One document on its way.
struct Errand<'a> {
    asked: &'a Asked<'a>,
    name: &'a str,
    /// Whether what comes of it would come of it again.
    keep: bool,
    /// Why a page could not be read, in the words of what ended its conversion.
    because: Option<String>,
    /// Set where time ran out before everything that was needed was there.
    unfinished: Option<Refusal>,
}

impl<'a> Errand<'a> {
    fn new(asked: &'a Asked<'a>, name: &'a str) -> Errand<'a> {
        Errand {
            asked,
            name,
            keep: true,
            because: None,
            unfinished: None,
        }
    }

    /// Hands the document over, as it is at one moment.
    fn open(&self, format: Format) -> Result<(Conversion, ConvertAnswer), Stop> {
        let Asked { subject, means, .. } = *self.asked;
        let converters = means.converters;
        let handle = match subject {
            Subject::Member { bytes, .. } => {
                let open = || Ok(Box::new(&bytes[..]) as Box<dyn Read + '_>);
                let input = Input {
                    bytes: bytes.len() as u64,
                    open: &open,
                };
                return converters.open(format, &input, means.work);
            }
            Subject::File(handle) => handle,
        };
        for _ in 0..STEADY_ATTEMPTS {
            let before = stamp(handle)?;
            let open = || Ok(Box::new(handle.open_read()?) as Box<dyn Read + '_>);
            let input = Input {
                bytes: before.size,
                open: &open,
            };
            let opened = converters.open(format, &input, means.work);
            if stamp(handle)? == before {
                return opened;
            }
        }
        Err(Stop::Input(io::Error::other(
            "it is being changed all the time",
        )))
    }

    /// Everything but PDF.
    fn at_once(&mut self, format: Format) -> Result<Made, Refusal> {
        let answer = self.open(format).map(|(_, answer)| answer);
        self.note_or(answer)
    }

    fn note_or(&mut self, answer: Result<ConvertAnswer, Stop>) -> Result<Made, Refusal> {
        match answer {
            Ok(ConvertAnswer::Whole(whole, markdown)) => {
                Ok(Made::Text(Converted::whole(whole, &markdown)))
            }
            Ok(ConvertAnswer::Failed(why)) => Ok(Made::Note(self.why(why))),
            Ok(ConvertAnswer::Pages(..)) => Err(Refusal::Internal),
            Err(stop) => self.stopped(stop).map(Made::Note),
        }
    }

    fn why(&self, why: Why) -> String {
        match why {
            Why::Encrypted => cannot_read(self.name, "encrypted"),
            Why::Unreadable(why) => cannot_read(self.name, &one_line(&why)),
            Why::Empty => format!("[No extractable text in {}]", self.name),
        }
    }

    /// A note where the document is at fault, else a refusal.
    fn stopped(&mut self, stop: Stop) -> Result<String, Refusal> {
        let spelled = self.asked.spelled;
        match stop {
            Stop::Stopped(stopped) => Err(stopped.into()),
            Stop::Busy => Err(Refusal::Busy {
                message: "all converters of documents are at work.".to_owned(),
            }),
            Stop::Input(error) => Err(Refusal::io(spelled, &error)),
            stop @ Stop::Start(_) => Err(Refusal::Io {
                path: spelled.to_owned(),
                message: stop.to_string(),
            }),
            stop @ (Stop::Died(_) | Stop::Cpu(_)) => Ok(cannot_read(self.name, &stop.to_string())),
            stop @ Stop::Wall(_) => {
                // On a machine with less to do it may fit.
                self.keep = false;
                Ok(cannot_read(self.name, &stop.to_string()))
            }
        }
    }

    /// As many pages of a PDF as are needed, after those that are there.
    fn pdf(&mut self, begun: Option<Growing>, need: &Need) -> Result<Made, Refusal> {
        let (mut job, pages) = match self.open(Format::Pdf) {
            Ok((job, ConvertAnswer::Pages(pages))) => (job, pages),
            Ok((_, answer)) => return self.note_or(Ok(answer)),
            Err(stop) => return self.stopped(stop).map(Made::Note),
        };
        let cap = self.asked.means.converters.limits().output_bytes as usize;
        let mut growing = begun.unwrap_or_else(|| Growing::from(&Converted::default()));
        growing.made.part = Some(PartKind::Page);
        growing.made.total = pages.count;
        if let (Some(damage), true) = (pages.damage, growing.made.footers.is_empty()) {
            growing.made.footers.push(damage.sentence().to_owned());
        }
        let total = pages.count;
        let (before, mut deaths) = (growing.pages(), 0);
        while growing.pages() < total && growing.len() <= cap && !need.is_met(&growing) {
            match job.page(growing.pages() + 1) {
                Ok((state, markdown)) => growing.push(state, &markdown),
                Err(stop @ Stop::Died(_)) if deaths < MAX_DEATHS => {
                    deaths += 1;
                    self.because = Some(stop.to_string());
                    growing.push(PageState::Failed, "");
                    drop(job);
                    job = match self.open(Format::Pdf) {
                        Ok((job, ConvertAnswer::Pages(..))) => job,
                        Ok((_, answer)) => return self.note_or(Ok(answer)),
                        Err(stop) => return self.stopped(stop).map(Made::Note),
                    };
                }
                Err(stop @ (Stop::Died(_) | Stop::Cpu(_) | Stop::Wall(_))) => {
                    if growing.pages() == before {
                        growing.push(PageState::Failed, "");
                        self.because = Some(stop.to_string());
                        self.keep &= total > 1 || !matches!(stop, Stop::Wall(_));
                    }
                    self.unfinished = self.is_short(&growing, need, total, &stop);
                    break;
                }
                Err(Stop::Stopped(stopped)) => {
                    self.unfinished = Some(stopped.into());
                    break;
                }
                Err(stop) => return self.stopped(stop).map(Made::Note),
            }
        }
        Ok(self.grown(growing, &pages, cap))
    }

    /// What to say where a request ends before it has what it needs.
    fn is_short(&self, growing: &Growing, need: &Need, total: u32, stop: &Stop) -> Option<Refusal> {
        let pages = growing.pages();
        if pages == total || need.is_met(growing) {
            return None;
        }
        Some(Refusal::Timeout {
            path: Some(self.asked.spelled.to_owned()),
            message: format!(
                "Converting '{}' was ended at page {pages} of {total}: {stop}. Send the request again to go on from there.",
                self.asked.spelled
            ),
        })
    }

    fn grown(&self, mut growing: Growing, found: &Pages, cap: usize) -> Made {
        let (pages, total) = (growing.pages(), growing.made.total);
        let fields = &found.fields;
        growing.made.is_all = pages == total;
        if growing.made.is_all && !fields.is_empty() {
            growing.push_fields(fields);
        }
        if !growing.made.is_all && growing.len() > cap {
            growing.made.is_all = true;
            growing.made.footers.push(format!(
                "The text ends here after page {pages} of {total}, at {cap} bytes; the rest of the document is not shown"
            ));
        }
        let made = growing.finish();
        let (empty, failed) = (made.empty.len() as u32, made.failed.len() as u32);
        if !made.is_all || empty + failed < total || !fields.is_empty() {
            return Made::Text(made);
        }
        let plural = if total == 1 { "" } else { "s" };
        let none = format!(
            "No extractable text in {} ({total} page{plural})",
            self.name
        );
        // What is missing may be their text.
        let is_lost = matches!(found.damage, Some(Damage::Tree | Damage::Parts));
        Made::Note(match failed {
            0 if found.has_xfa => {
                cannot_read(self.name, "an XFA form, which is on none of its pages")
            }
            _ if is_lost && failed == 0 => {
                let none = format!("damaged: no text is left on its {total} page{plural}");
                cannot_read(self.name, &none)
            }
            0 if made.blank == total => format!("[{none}: blank, or lines alone]"),
            0 if made.blank + made.drawn == total => {
                format!("[{none}: drawings, or letters that are only drawn]")
            }
            0 => format!("[{none}: probably scanned images]"),
            _ => {
                let none = format!("damaged: nothing of its {total} page{plural} could be read");
                cannot_read(self.name, self.because.as_deref().unwrap_or(&none))
            }
        })
    }
}

fn stamp(handle: &Handle) -> Result<Stamp, Stop> {
    handle.restamp().map_err(Stop::Input)
}

/// The words of a parser, which may quote a file at length.
fn one_line(words: &str) -> String {
    const MAX_CHARS: usize = 200;
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
