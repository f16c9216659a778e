//! What a model gives a tool, mended where it can be meant, by the tool's own schema: the same that it was shown.

use serde_json::{Map, Value};

use crate::protocol::Refusal;
use crate::protocol::tools::Tool;
use crate::protocol::typed::unknown_parameter;

use super::list::ToolKind;

/// Names that other tools have for what ours call so.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filePath", "path"),
    ("filename", "path"),
    ("content", "text"),
];

/// Arguments as the tool takes them.
///
/// # Errors
///
/// `badParams` for what is no object, and for an argument that there is not.
pub fn mended(kind: ToolKind, tool: &Tool, given: Value) -> Result<Value, Refusal> {
    let given = match given {
        Value::Null => Map::new(),
        Value::Object(given) => given,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(given)) => given,
            _ => {
                return Err(bad_arguments(
                    "'arguments' must be an object, not a string.",
                ));
            }
        },
        _ => return Err(bad_arguments("'arguments' must be an object.")),
    };
    let properties = &tool.input_schema["properties"];
    let is_known = |key: &str| properties.get(key).is_some();
    let mut mended = Map::new();
    let mut aliased = Vec::new();
    for (key, value) in given {
        if is_known(&key) || (kind == ToolKind::ReadMany && key == "targets") {
            if !value.is_null() {
                let value = coerced(&properties[&key], value);
                mended.insert(key, value);
            }
            continue;
        }
        let alias = ALIASES
            .iter()
            .find(|(alias, name)| *alias == key && is_known(name));
        match alias {
            Some((_, name)) => aliased.push((*name, value)),
            None => return Err(unknown(&key, properties)),
        }
    }
    for (name, value) in aliased {
        if !value.is_null() {
            mended.entry(name).or_insert(value);
        }
    }
    if let (ToolKind::ReadMany, Some(path @ Value::String(_))) = (kind, mended.get("paths")) {
        let list = Value::Array(vec![path.clone()]);
        mended.insert("paths".to_owned(), list);
    }
    Ok(Value::Object(mended))
}

fn bad_arguments(message: &str) -> Refusal {
    Refusal::bad_params("arguments", message)
}

fn unknown(key: &str, properties: &Value) -> Refusal {
    let known = properties.as_object().into_iter().flat_map(Map::keys);
    let known: Vec<String> = known.cloned().collect();
    unknown_parameter(key, &known)
}

/// A value that came as text, as what the schema says it is, where that is so.
fn coerced(schema: &Value, value: Value) -> Value {
    let wanted = schema["type"].as_str().unwrap_or_default();
    let value = match &value {
        Value::String(text) if wanted != "string" => match serde_json::from_str(text.trim()) {
            Ok(parsed) if is_of(wanted, &parsed) => parsed,
            _ => value,
        },
        _ => value,
    };
    match value {
        Value::Array(items) => {
            let items = items
                .into_iter()
                .map(|item| coerced(&schema["items"], item));
            Value::Array(items.collect())
        }
        Value::Object(members) => {
            let members = members.into_iter().filter_map(|(key, member)| {
                let property = schema["properties"].get(&key);
                match (property, member.is_null()) {
                    (Some(_), true) => None,
                    (Some(property), false) => {
                        let member = coerced(property, member);
                        Some((key, member))
                    }
                    (None, _) => Some((key, member)),
                }
            });
            Value::Object(members.collect())
        }
        value => value,
    }
}

fn is_of(wanted: &str, value: &Value) -> bool {
    match wanted {
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" | "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::protocol::tools::{Edits, edit, read_many, write};

    use super::*;

    #[test]
    fn what_can_be_meant_is_taken() {
        let write = |given| mended(ToolKind::Write, &write(), given);
        assert_eq!(
            write(json!({ "filePath": "a", "content": "x", "expect": null })),
            Ok(json!({ "path": "a", "text": "x" }))
        );
        assert_eq!(
            write(json!(r#"{"path":"a","text":"{}"}"#)),
            Ok(json!({ "path": "a", "text": "{}" }))
        );
        let many = |given| mended(ToolKind::ReadMany, &read_many(), given);
        assert_eq!(many(json!({ "paths": "a" })), Ok(json!({ "paths": ["a"] })));
        assert_eq!(
            many(json!({ "paths": r#"["a","b"]"# })),
            Ok(json!({ "paths": ["a", "b"] }))
        );
        let edit = edit(Edits::ByText);
        let given = json!({ "files": r#"[{"path":"a","edits":"[{\"op\":\"replace_text\",\"old\":\"1\",\"new\":\"2\",\"all\":\"true\"}]"}]"# });
        let taken = json!({ "files": [{ "path": "a", "edits": [{ "op": "replace_text", "old": "1", "new": "2", "all": true }] }] });
        assert_eq!(mended(ToolKind::Edit, &edit, given), Ok(taken));
    }

    #[test]
    fn what_cannot_be_meant_names_the_nearest() {
        let refused = |given| {
            let refusal = mended(ToolKind::Write, &write(), given).expect_err("a refusal");
            refusal.to_string()
        };
        assert_eq!(
            refused(json!({ "pth": "a" })),
            "There is no parameter 'pth'. Did you mean 'path'? It takes expect, path and text."
        );
        assert!(refused(json!({ "session": "a" })).starts_with("There is no parameter 'session'."));
        assert_eq!(refused(json!([])), "'arguments' must be an object.");
    }
}
