//! The dialect `example`, for tests and as a model of one: what one more costs is this file and one line of the registry; it is in no build that is given away.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::params::Fields;
use crate::protocol::tools::Tool;
use crate::protocol::typed::{self, PathText, Whole};
use crate::protocol::{Refusal, Settings};

use super::{Asked, Dialect, Request, Said, View, Written, counted};

#[derive(Debug)]
pub struct Example;

#[derive(Debug, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleParameters {
    /// The file to read
    file: PathText,
    /// The first line, counted from 1
    from: Option<Whole<1>>,
}

impl Dialect for Example {
    fn name(&self) -> &'static str {
        "example"
    }

    fn path_parameter(&self) -> &'static str {
        "file"
    }

    fn request(&self, fields: Fields, _: &Settings) -> Result<Request, Refusal> {
        let ExampleParameters { file, from } = typed::parse(fields)?;
        Ok(counted::request(file.0, from.map(Whole::count), None))
    }

    fn write(&self, view: &View) -> Result<Written, Refusal> {
        if let Some(engine) = counted::as_engine(view) {
            return Ok(engine);
        }
        let mut text = counted::understood(view);
        text.push_str(&counted::rows(view, " [cut]", |out, number, row| {
            out.push_str(&format!("{number}. {row}"));
        }));
        if let Some((_, last)) = counted::shown(view).filter(|_| counted::goes_on(view)) {
            text.push_str(&format!("(go on from {})\n", last + 1));
        }
        Ok(Written {
            content: counted::text(text),
            next: counted::next(view, 1),
            native: None,
        })
    }

    fn refuse(&self, refusal: &Refusal, asked: &Asked) -> Said {
        Said::Result(format!("Cannot read {}: {refusal}", asked.path))
    }

    fn read_tool(&self) -> Tool {
        Tool::new(
            "read",
            "Reads a file, or the lines of it from a line on.",
            typed::schema::<ExampleParameters>(),
        )
    }
}
