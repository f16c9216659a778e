//! Reading request parameters leniently and naming the one at fault; nothing here knows a method.

use serde_json::{Map, Value};

use super::Refusal;
use super::settings::type_name;

/// The `params` object of a request, with typed access by key.
///
/// Numbers may come as strings, `null` is the same as absent, unknown keys are left alone.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    prefix: &'a str,
}

impl<'a> Fields<'a> {
    /// Errors with `badParams` when `value` is not an object; `prefix` names it in messages.
    pub fn of(value: &'a Value, prefix: &'a str) -> Result<Fields<'a>, Refusal> {
        match value {
            Value::Object(object) => Ok(Fields { object, prefix }),
            other => {
                let key = if prefix.is_empty() { "params" } else { prefix };
                Err(Refusal::bad_params(
                    key,
                    format!("'{key}' must be an object, not {}.", type_name(other)),
                ))
            }
        }
    }

    /// All that was sent, known or not.
    pub fn entries(&self) -> &'a Map<String, Value> {
        self.object
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn name(&self, key: &str) -> String {
        if self.prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.prefix)
        }
    }

    fn wrong(&self, key: &str, expected: &str, value: &Value) -> Refusal {
        let name = self.name(key);
        let message = format!("'{name}' must be {expected}, not {}.", type_name(value));
        Refusal::bad_params(name, message)
    }

    pub fn string(&self, key: &str) -> Result<Option<&'a str>, Refusal> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, "a string", other)),
        }
    }

    pub fn required_string(&self, key: &str) -> Result<&'a str, Refusal> {
        self.required(key)?;
        Ok(self.string(key)?.unwrap_or_default())
    }

    /// Errors where there is no such parameter, a string.
    pub fn required(&self, key: &str) -> Result<(), Refusal> {
        if self.get(key).is_some() {
            return Ok(());
        }
        let name = self.name(key);
        let message = format!("'{name}' is missing; it must be a string.");
        Err(Refusal::bad_params(name, message))
    }

    /// A whole number from 1 up.
    pub fn count(&self, key: &str) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if number >= 1 => Ok(Some(number)),
            _ => Err(self.wrong(key, "a whole number from 1 up", value)),
        }
    }

    pub fn object(&self, key: &'a str) -> Result<Option<Fields<'a>>, Refusal> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(Fields {
                object,
                prefix: key,
            })),
            Some(other) => Err(self.wrong(key, "an object", other)),
        }
    }

    pub fn list(&self, key: &str) -> Result<Option<&'a [Value]>, Refusal> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.wrong(key, "a list", other)),
        }
    }
}
