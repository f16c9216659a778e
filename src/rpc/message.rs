//! From a frame's body to a call or an answer; nothing is ever guessed from a message that is malformed.

use serde_json::{Map, Value};
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use super::surrogates;

/// A well-formed message from the client.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// A request or a notification.
    Call(Request),
    /// The client's answer to a request of ours.
    Answer(Response),
}

/// Parses a body. The error is the response it deserves.
pub fn parse(body: &[u8]) -> Result<Message, Response> {
    // Batches are no part of the LSP. They are not built in memory, where a hostile one would be
    // thirty times as large as its text; skipping needs no stack either, however deep it is.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(match serde_json::from_slice(body) {
            Ok(serde::de::IgnoredAny) => Response::from_error(Id::Null, Error::invalid_request()),
            Err(_) => Response::from_error(Id::Null, Error::parse_error()),
        });
    }
    // serde_json refuses what is nested more than 128 deep.
    if let Ok(message) = serde_json::from_slice(body) {
        return from_object(message);
    }
    let mended = surrogates::mend(body).and_then(|body| serde_json::from_slice(&body).ok());
    mended.map_or_else(
        || Err(Response::from_error(Id::Null, Error::parse_error())),
        from_object,
    )
}

fn from_object(mut message: Map<String, Value>) -> Result<Message, Response> {
    let id = message.remove("id");
    let usable = match &id {
        Some(Value::Number(number)) => number.as_i64().map(Id::Number),
        Some(Value::String(text)) => Some(Id::String(text.clone())),
        _ => None,
    };
    let invalid = || {
        let id = usable.clone().unwrap_or_default();
        Response::from_error(id, Error::invalid_request())
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid());
    }
    match message.remove("method") {
        Some(Value::String(method)) => {
            if id.is_some() && usable.is_none() {
                return Err(invalid());
            }
            let mut request = Request::build(method);
            if let Some(id) = usable {
                request = request.id(id);
            }
            if let Some(params) = message.remove("params") {
                request = request.params(params);
            }
            Ok(Message::Call(request.finish()))
        }
        Some(_) => Err(invalid()),
        None => {
            // A client reports what it could not understand with the id null.
            let answered = usable
                .clone()
                .or((id == Some(Value::Null)).then_some(Id::Null));
            match (answered, outcome(&mut message)) {
                (Some(id), Some(outcome)) => Ok(Message::Answer(Response::from_parts(id, outcome))),
                _ => Err(invalid()),
            }
        }
    }
}

/// An answer's result or error. Some clients send both, with null for the one not meant.
fn outcome(message: &mut Map<String, Value>) -> Option<Result<Value, Error>> {
    match (message.remove("result"), message.remove("error")) {
        // An error of another shape is one all the same: whoever asked must not wait for ever.
        (_, Some(error @ (Value::Object(_) | Value::String(_)))) => Some(Err(
            serde_json::from_value(error).unwrap_or_else(|_| Error::internal_error()),
        )),
        (Some(result), _) => Some(Ok(result)),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(body: &str) -> (i64, Id) {
        let response = parse(body.as_bytes()).expect_err(body);
        let (id, outcome) = response.into_parts();
        (outcome.expect_err(body).code.code(), id)
    }

    #[test]
    fn refuses_what_is_no_message() {
        for body in ["", "{", "nonsense", "{\"a\":}", "\u{feff}{}", "[1,"] {
            assert_eq!(refused(body), (-32700, Id::Null), "{body}");
        }
        for body in ["[]", "[{}]", "7", "null", "\"x\"", "{}", " [] "] {
            assert_eq!(refused(body), (-32600, Id::Null), "{body}");
        }
        let with_id = |rest: &str| format!("{{\"id\":3,{rest}}}");
        for rest in [
            r#""jsonrpc":"1.0","method":"m""#,
            r#""method":"m""#,
            r#""jsonrpc":"2.0","method":7"#,
            r#""jsonrpc":"2.0""#,
        ] {
            assert_eq!(refused(&with_id(rest)), (-32600, Id::Number(3)), "{rest}");
        }
        for id in ["1.5", "true", "{}", "[1]", "null", "9223372036854775808"] {
            let body = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":{id}}}");
            assert_eq!(refused(&body), (-32600, Id::Null), "{id}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        for depth in [200, 1_000_000] {
            let deep = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(refused(&deep), (-32600, Id::Null));
            let deep =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{deep}}}");
            assert_eq!(refused(&deep), (-32700, Id::Null));
        }
    }

    #[test]
    fn takes_calls_and_answers() {
        let parsed = parse(br#"{"jsonrpc":"2.0","id":"a","method":"m","params":[1]}"#);
        let request = Request::build("m").id("a").params(json!([1])).finish();
        assert_eq!(parsed, Ok(Message::Call(request)));
        let parsed = parse(br#"{"jsonrpc":"2.0","method":"m","other":1}"#);
        assert_eq!(parsed, Ok(Message::Call(Request::build("m").finish())));
        let parsed = parse(br#"{"jsonrpc":"2.0","id":-4,"result":null,"error":null}"#);
        let answer = Response::from_ok(Id::Number(-4), Value::Null);
        assert_eq!(parsed, Ok(Message::Answer(answer)));
        let parsed = parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#);
        assert!(matches!(parsed, Ok(Message::Answer(answer)) if answer.is_error()));
        let parsed = parse(br#"{"jsonrpc":"2.0","id":1,"error":{}}"#);
        assert!(matches!(parsed, Ok(Message::Answer(answer)) if answer.is_error()));
    }
}
