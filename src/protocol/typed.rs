//! The parameters of a tool as one type: what its schema says and what is taken are never two things.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, Visitor};
use serde_json::Value;

use super::Refusal;
use super::params::Fields;
use super::settings::{nearest, type_name};

/// Parameters that every `agent/read` takes, in whatever dialect (`protocol.md`, agent/read): no
/// dialect sees them.
const ENVELOPE: &[&str] = &[
    "session",
    "dialect",
    "budget",
    "encoding",
    "want",
    "_meta",
    "workDoneToken",
];

/// A whole number of at least `MIN`, which may come as a string. What no `i64` holds is the nearest
/// that one does: no file has so many lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const MIN: i64>(pub i64);

/// No lower bound, for a tool that refuses such numbers in its own words.
pub const ANY: i64 = i64::MIN;

impl<const MIN: i64> Whole<MIN> {
    /// As a count; 0 for what is below.
    pub fn count(self) -> u64 {
        self.0.max(0) as u64
    }
}

impl<const MIN: i64> JsonSchema for Whole<MIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("WholeFrom{MIN}"))
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "integer" });
        if MIN != ANY {
            schema.insert("minimum".to_owned(), MIN.into());
        }
        schema
    }
}

impl<'de, const MIN: i64> Deserialize<'de> for Whole<MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole<MIN>, D::Error> {
        deserializer.deserialize_any(WholeVisitor::<MIN>)
    }
}

struct WholeVisitor<const MIN: i64>;

impl<const MIN: i64> WholeVisitor<MIN> {
    fn at_least_min<E: serde::de::Error>(number: i64) -> Result<Whole<MIN>, E> {
        match number >= MIN {
            true => Ok(Whole(number)),
            false => Err(E::custom(format!("must be >= {MIN}"))),
        }
    }
}

impl<const MIN: i64> Visitor<'_> for WholeVisitor<MIN> {
    type Value = Whole<MIN>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a whole number")
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Whole<MIN>, E> {
        Self::at_least_min(number)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Whole<MIN>, E> {
        Self::at_least_min(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// `1.0` is an integer to JSON Schema, and so is `1e300`; the cast takes the nearest.
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Whole<MIN>, E> {
        match number.fract() == 0.0 {
            true => Self::at_least_min(number as i64),
            false => Err(E::custom("must be a whole number")),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Whole<MIN>, E> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(E::custom("must be a whole number"));
        }
        let nearest = match text.starts_with('-') {
            // The pattern of a number that cannot be negative has no sign, not even before 0.
            true if MIN >= 0 => return Err(E::custom(format!("must be >= {MIN}"))),
            true => i64::MIN,
            false => i64::MAX,
        };
        Self::at_least_min(text.parse().unwrap_or(nearest))
    }
}

/// A path: anything but nothing, and without NUL, which no file system takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathText(pub String);

impl JsonSchema for PathText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("PathText")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PathText, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.is_empty() || text.contains('\0') {
            true => Err(D::Error::custom(
                "must be a path: not empty, and without NUL",
            )),
            false => Ok(PathText(text)),
        }
    }
}

/// The JSON Schema of such parameters, ready for a model's tool list: in the few words that every
/// model's provider knows. What is optional is not `required`, and takes `null` all the same.
pub fn schema<P: JsonSchema>() -> Value {
    let mut schema = whole_schema::<P>();
    if let Some(object) = schema.as_object_mut() {
        // What a type is called and for here is nothing to a model; the others are no words that
        // all providers know.
        for word in ["title", "description", "$schema", "additionalProperties"] {
            object.remove(word);
        }
    }
    let properties = schema["properties"].as_object_mut();
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        let types = property["type"].as_array().cloned().unwrap_or_default();
        if let [only, Value::String(null)] = &types[..]
            && null == "null"
        {
            property["type"] = only.clone();
        }
    }
    schema
}

fn whole_schema<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let schema = settings.into_generator().into_root_schema_for::<P>();
    schema.to_value()
}

/// Takes the parameters that are a dialect's own.
///
/// # Errors
///
/// `badParams`, naming the parameter at fault: one that is unknown (with the nearest that is
/// known), one that is missing, or one with a value that cannot be meant.
pub fn parse<P: DeserializeOwned + JsonSchema>(fields: Fields) -> Result<P, Refusal> {
    let own = || {
        let all = fields.entries().iter();
        all.filter(|(key, _)| !ENVELOPE.contains(&key.as_str()))
    };
    let at: Cell<Option<(&str, &Value)>> = Cell::new(None);
    let watched = own().map(|(key, value)| {
        at.set(Some((key, value)));
        (key.as_str(), value)
    });
    let error = match P::deserialize(MapDeserializer::<_, serde_json::Error>::new(watched)) {
        Ok(parameters) => return Ok(parameters),
        Err(error) => error,
    };
    let schema = whole_schema::<P>();
    let known: Vec<String> = match &schema["properties"] {
        Value::Object(properties) => properties.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let unknown = || own().map(|(key, _)| key).find(|key| !known.contains(key));
    if let (false, Some(unknown)) = (schema["additionalProperties"] != false, unknown()) {
        return Err(unknown_parameter(unknown, &known));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for key in required.filter_map(Value::as_str) {
        fields.required(key)?;
    }
    let (key, value) = at.get().unwrap_or(("params", &Value::Null));
    let message = format!("{key} {}.", in_words(&error.to_string(), value));
    Err(Refusal::bad_params(key, message))
}

/// Characters of a parameter's name that there is not; the rest of it is not looked at.
const MOST_NAME: usize = 100;

/// There is no such parameter; names the nearest of those that there are.
pub fn unknown_parameter(unknown: &str, known: &[String]) -> Refusal {
    let unknown = match unknown.char_indices().nth(MOST_NAME) {
        Some((end, _)) => &format!("{}…", &unknown[..end]),
        None => unknown,
    };
    let takes = match known {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    };
    let near = match close(unknown, known) {
        Some(near) => format!(" Did you mean '{near}'?"),
        None => {
            let distance = |name: &&String| strsim::levenshtein(unknown, name);
            let nearest = known.iter().min_by_key(distance);
            nearest.map_or(String::new(), |near| {
                format!(" The nearest one is '{near}'.")
            })
        }
    };
    let message = format!("There is no parameter '{unknown}'.{near} It takes {takes}.");
    Refusal::bad_params(unknown, message)
}

/// The parameter that is meant by a name that is not quite its: spelled alike, or a part of it.
pub fn close<'a>(unknown: &str, known: &'a [String]) -> Option<&'a String> {
    let letters = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let asked = letters(unknown);
    let part_of = |name: &&String| {
        let name = letters(name);
        asked.len() >= 3 && (name.contains(&asked) || asked.contains(&name))
    };
    nearest(unknown, known).or_else(|| known.iter().find(part_of))
}

/// The words of serde, or ours, as a sentence says them after the name of the parameter.
fn in_words(error: &str, value: &Value) -> String {
    match error.split_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}, not {}", type_name(value)),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the tests take.
    #[derive(Debug, PartialEq, JsonSchema, serde::Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Sample {
        /// Which file
        file_path: PathText,
        /// From where
        offset: Option<Whole<1>>,
        most: Option<Whole<ANY>>,
    }

    fn refused(params: Value) -> String {
        let fields = Fields::of(&params, "").expect("an object");
        match parse::<Sample>(fields).expect_err("a refusal") {
            Refusal::BadParams { key, message } => format!("{key}: {message}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_schema_is_plain() {
        assert_eq!(
            schema::<Sample>(),
            json!({
                "type": "object",
                "properties": {
                    "filePath": { "type": "string", "description": "Which file" },
                    "offset": { "type": "integer", "minimum": 1, "description": "From where" },
                    "most": { "type": "integer" },
                },
                "required": ["filePath"],
            })
        );
    }

    #[test]
    fn numbers_come_in_many_forms() {
        for (given, number) in [
            (json!(5), 5),
            (json!("5"), 5),
            (json!("005"), 5),
            (json!(5.0), 5),
            (json!(1e300), i64::MAX),
            (json!(u64::MAX), i64::MAX),
            (json!("99999999999999999999"), i64::MAX),
        ] {
            let params = json!({ "filePath": "a", "offset": given, "session": "s", "budget": {} });
            let fields = Fields::of(&params, "").expect("an object");
            let taken = parse::<Sample>(fields).expect("parameters");
            assert_eq!(taken.offset, Some(Whole(number)), "{given}");
        }
        let params = json!({ "filePath": "a", "offset": null, "most": "-3" });
        let fields = Fields::of(&params, "").expect("an object");
        let taken = parse::<Sample>(fields).expect("parameters");
        assert_eq!((taken.offset, taken.most), (None, Some(Whole(-3))));
    }

    #[test]
    fn a_refusal_names_the_parameter_at_fault() {
        let cases = [
            (
                json!({}),
                "filePath: 'filePath' is missing; it must be a string.",
            ),
            (
                json!({ "filePath": 5 }),
                "filePath: filePath must be a string, not this number.",
            ),
            (
                json!({ "filePath": "" }),
                "filePath: filePath must be a path: not empty, and without NUL.",
            ),
            (
                json!({ "filePath": "a", "offset": 0 }),
                "offset: offset must be >= 1.",
            ),
            (
                json!({ "filePath": "a", "offset": "x" }),
                "offset: offset must be a whole number.",
            ),
            (
                json!({ "filePath": "a", "offset": [1] }),
                "offset: offset must be a whole number, not this list.",
            ),
            (
                json!({ "path": "a" }),
                "path: There is no parameter 'path'. Did you mean 'filePath'? It takes filePath, most and offset.",
            ),
            (
                json!({ "filePath": "a", "ofset": 1 }),
                "ofset: There is no parameter 'ofset'. Did you mean 'offset'? It takes filePath, most and offset.",
            ),
            (
                json!({ "filePath": "a", "encodings": 1 }),
                "encodings: There is no parameter 'encodings'. The nearest one is 'most'. It takes filePath, most and offset.",
            ),
        ];
        for (params, message) in cases {
            assert_eq!(refused(params), message);
        }
    }
}
