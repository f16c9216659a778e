//! Functions of SQLite whose own form goes through one value for each part of another, in a form that takes no longer than both are long; none gives another answer than SQLite's.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use memchr::memmem::Finder;
use rusqlite::{Connection, Error, ffi};

/// A function as SQLite calls it.
type FunctionBody =
    unsafe extern "C" fn(*mut ffi::sqlite3_context, c_int, *mut *mut ffi::sqlite3_value);

/// Name, count of arguments, body. Those that nobody reads with, and that would take a form of ours
/// as well, say that they are not to be had.
const FUNCTIONS: &[(&CStr, c_int, FunctionBody)] = &[
    (c"instr", 2, body::<Instr>),
    (c"replace", 3, body::<Replace>),
    (c"trim", 2, body::<Trim<true, true>>),
    (c"ltrim", 2, body::<Trim<true, false>>),
    (c"rtrim", 2, body::<Trim<false, true>>),
    (c"unhex", 2, body::<Unavailable>),
    (c"json_patch", 2, body::<Unavailable>),
    (c"jsonb_patch", 2, body::<Unavailable>),
];

/// Different characters that are trimmed away at a time.
const MAX_TRIMMED: usize = 4096;

/// Puts these in the place of SQLite's own.
pub fn define(connection: &Connection) -> rusqlite::Result<()> {
    let flags = ffi::SQLITE_UTF8 | ffi::SQLITE_DETERMINISTIC | ffi::SQLITE_INNOCUOUS;
    for (name, count, body) in FUNCTIONS {
        // SAFETY: the connection is open as long as it is borrowed, the name ends in NUL, and a
        // body keeps nothing between its calls.
        let code = unsafe {
            ffi::sqlite3_create_function_v2(
                connection.handle(),
                name.as_ptr(),
                *count,
                flags,
                null_mut(),
                Some(*body),
                None,
                None,
                None,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(Error::SqliteFailure(ffi::Error::new(code), None));
        }
    }
    Ok(())
}

/// What a call gives; SQLite's `NULL` where there is none.
enum Given<'c> {
    Null,
    Number(i64),
    /// A part of an argument.
    Text(&'c [u8]),
    /// Made by SQLite's own allocator, which counts it.
    Made(Allocation),
    TooBig,
    NoMemory,
    Refused(&'static CStr),
}

/// The body of a function, in safe words.
trait Function {
    fn call<'c>(call: &'c FunctionCall) -> Given<'c>;
}

unsafe extern "C" fn body<F: Function>(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: SQLite gives `count` values that live as long as the call.
    let values = unsafe { std::slice::from_raw_parts(values, count as usize) };
    let call = FunctionCall { context, values };
    let given = F::call(&call);
    // SAFETY: the context is that of this call; texts are copied, or given away with their
    // destructor; no text is as long as a `c_int` can be.
    unsafe {
        match given {
            Given::Null => {}
            Given::Number(number) => ffi::sqlite3_result_int64(context, number),
            Given::Text(text) => ffi::sqlite3_result_text(
                context,
                text.as_ptr().cast::<c_char>(),
                text.len() as c_int,
                ffi::SQLITE_TRANSIENT(),
            ),
            Given::Made(made) => ffi::sqlite3_result_text(
                context,
                made.start.cast::<c_char>(),
                made.len as c_int,
                Some(ffi::sqlite3_free),
            ),
            Given::TooBig => ffi::sqlite3_result_error_toobig(context),
            Given::NoMemory => ffi::sqlite3_result_error_nomem(context),
            Given::Refused(why) => ffi::sqlite3_result_error(context, why.as_ptr(), -1),
        }
    }
}

/// The arguments of one call.
struct FunctionCall<'v> {
    context: *mut ffi::sqlite3_context,
    values: &'v [*mut ffi::sqlite3_value],
}

impl FunctionCall<'_> {
    fn kind(&self, index: usize) -> c_int {
        // SAFETY: the value lives as long as the call.
        unsafe { ffi::sqlite3_value_type(self.values[index]) }
    }

    /// As UTF-8, `None` for `NULL` and where there is no memory to convert it. The argument is a
    /// text from then on: to be asked once for each.
    fn text(&self, index: usize) -> Option<&[u8]> {
        // SAFETY: the value lives as long as the call, and nobody converts it again.
        unsafe { text_of(self.values[index]) }
    }

    fn blob(&self, index: usize) -> &[u8] {
        // SAFETY: as for `text`; bytes that are none may have no address.
        unsafe {
            let start = ffi::sqlite3_value_blob(self.values[index]).cast::<u8>();
            let len = ffi::sqlite3_value_bytes(self.values[index]) as usize;
            match start.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(start, len),
            }
        }
    }

    /// The longest value that is allowed, in bytes.
    fn longest(&self) -> usize {
        // SAFETY: the context is that of this call; a negative limit only asks.
        let limit = unsafe {
            let db = ffi::sqlite3_context_db_handle(self.context);
            ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_LENGTH, -1)
        };
        limit as usize
    }
}

/// # Safety
///
/// The value lives, and is not converted, as long as the text is used.
unsafe fn text_of<'v>(value: *mut ffi::sqlite3_value) -> Option<&'v [u8]> {
    // SAFETY: said above; the length is that of the text once it was asked for.
    unsafe {
        let start = ffi::sqlite3_value_text(value);
        if start.is_null() {
            return None;
        }
        let len = ffi::sqlite3_value_bytes(value) as usize;
        Some(std::slice::from_raw_parts(start, len))
    }
}

/// A copy of an argument, which may be converted while the argument stays what it is.
struct Copied(*mut ffi::sqlite3_value);

impl Copied {
    fn of(call: &FunctionCall, index: usize) -> Copied {
        // SAFETY: the value lives as long as the call.
        Copied(unsafe { ffi::sqlite3_value_dup(call.values[index]) })
    }

    fn text(&self) -> Option<&[u8]> {
        // SAFETY: the copy lives as long as this; SQLite takes a null pointer for `NULL`.
        unsafe { text_of(self.0) }
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // SAFETY: it is ours alone, and a null pointer is allowed.
        unsafe { ffi::sqlite3_value_free(self.0) };
    }
}

/// Bytes of SQLite's allocator.
struct Allocation {
    start: *mut c_void,
    len: usize,
}

impl Allocation {
    /// Of parts that are `len` bytes together.
    fn of<'p>(len: usize, parts: impl Iterator<Item = &'p [u8]>) -> Option<Allocation> {
        // SAFETY: it is one byte longer than what is written into it, and checked for null; parts
        // beyond `len` are left out.
        unsafe {
            let start = ffi::sqlite3_malloc64(len as u64 + 1);
            if start.is_null() {
                return None;
            }
            let mut at = 0;
            for part in parts {
                let count = part.len().min(len - at);
                std::ptr::copy_nonoverlapping(part.as_ptr(), start.cast::<u8>().add(at), count);
                at += count;
            }
            Some(Allocation { start, len: at })
        }
    }
}

/// Whether a byte goes on with a character of UTF-8.
fn goes_on(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// `instr(X,Y)`: where in X, counted from 1, Y begins; in characters unless both are blobs.
struct Instr;

impl Function for Instr {
    fn call<'c>(call: &'c FunctionCall) -> Given<'c> {
        let kinds = (call.kind(0), call.kind(1));
        if kinds.0 == ffi::SQLITE_NULL || kinds.1 == ffi::SQLITE_NULL {
            return Given::Null;
        }
        let is_blob = |kind| kind == ffi::SQLITE_BLOB;
        let found = match (is_blob(kinds.0), is_blob(kinds.1)) {
            (true, true) => Some(position(call.blob(0), call.blob(1), false)),
            (false, false) => call
                .text(0)
                .zip(call.text(1))
                .map(|(text, part)| position(text, part, true)),
            _ => {
                let (text, part) = (Copied::of(call, 0), Copied::of(call, 1));
                // A blob of no bytes has no text.
                let text = text.text().unwrap_or_default();
                match part.text().unwrap_or_default() {
                    // An odd byte is no text of UTF-16; SQLite then finds the first NUL, and be it
                    // that after the end.
                    [] if is_blob(kinds.1) && !call.blob(1).is_empty() => {
                        let end = memchr::memchr(0, text).unwrap_or(text.len());
                        Some(1 + characters(&text[..end]))
                    }
                    part => Some(position(text, part, true)),
                }
            }
        };
        found.map_or(Given::NoMemory, |at| Given::Number(at as i64))
    }
}

fn position(text: &[u8], part: &[u8], is_text: bool) -> usize {
    let Some(first) = part.first() else {
        return 1;
    };
    // Only at the beginning can a character begin in its middle.
    if is_text && goes_on(*first) {
        return usize::from(text.starts_with(part));
    }
    match Finder::new(part).find(text) {
        None => 0,
        Some(at) if is_text => 1 + characters(&text[..at]),
        Some(at) => at + 1,
    }
}

/// Steps from the beginning to the end, over one character each; the first byte begins one whatever
/// it is.
fn characters(text: &[u8]) -> usize {
    let after = text.get(1..).unwrap_or_default();
    usize::from(!text.is_empty()) + after.iter().filter(|byte| !goes_on(**byte)).count()
}

/// `replace(X,Y,Z)`: X with Z in the place of each Y.
struct Replace;

impl Function for Replace {
    fn call<'c>(call: &'c FunctionCall) -> Given<'c> {
        let Some(text) = call.text(0) else {
            return Given::Null;
        };
        let Some(part) = call.text(1) else {
            return Given::Null;
        };
        if part.first().is_none_or(|first| *first == 0) {
            return Given::Text(text);
        }
        let Some(other) = call.text(2) else {
            return Given::Null;
        };
        let finder = Finder::new(part);
        let count = finder.find_iter(text).count();
        let len = text.len() - count * part.len() + count * other.len();
        if len > call.longest() {
            return Given::TooBig;
        }
        let mut from = 0;
        let parts = finder.find_iter(text).flat_map(|at| {
            let before = &text[from..at];
            from = at + part.len();
            [before, other]
        });
        // What follows the last one is asked for when that is known.
        let last = finder
            .find_iter(text)
            .last()
            .map_or(0, |at| at + part.len());
        let made = Allocation::of(len, parts.chain(std::iter::once(&text[last..])));
        made.map_or(Given::NoMemory, Given::Made)
    }
}

/// `trim(X,Y)`, `ltrim(X,Y)`, `rtrim(X,Y)`: X without the characters of Y at its ends.
struct Trim<const LEFT: bool, const RIGHT: bool>;

impl<const LEFT: bool, const RIGHT: bool> Function for Trim<LEFT, RIGHT> {
    fn call<'c>(call: &'c FunctionCall) -> Given<'c> {
        let Some(mut text) = call.text(0) else {
            return Given::Null;
        };
        let Some(characters) = call.text(1) else {
            return Given::Null;
        };
        let Some(set) = Set::of(characters) else {
            return Given::Refused(c"too many characters to trim");
        };
        while let Some(count) = LEFT.then(|| set.count_at(|n| text.get(..n))).flatten() {
            text = &text[count..];
        }
        let from_end = |text: &'c [u8], n: usize| text.get(text.len().checked_sub(n)?..);
        while let Some(count) = RIGHT.then(|| set.count_at(|n| from_end(text, n))).flatten() {
            text = &text[..text.len() - count];
        }
        Given::Text(text)
    }
}

/// Bytes of a character of UTF-8.
const MAX_CHAR: usize = 4;

/// Characters, each with its place among them.
struct Set<'s>(HashMap<&'s [u8], usize>);

impl<'s> Set<'s> {
    /// The characters of a text up to its first NUL; `None` where there are too many, or where what
    /// stands for one is none.
    fn of(text: &'s [u8]) -> Option<Set<'s>> {
        let mut rest = &text[..memchr::memchr(0, text).unwrap_or(text.len())];
        let mut set = HashMap::new();
        while let Some((first, after)) = rest.split_first() {
            let more = match *first >= 0xC0 {
                true => after.iter().take_while(|byte| goes_on(**byte)).count(),
                false => 0,
            };
            let (character, others) = rest.split_at(1 + more);
            let place = set.len();
            set.entry(character).or_insert(place);
            if set.len() > MAX_TRIMMED || character.len() > MAX_CHAR {
                return None;
            }
            rest = others;
        }
        Some(Set(set))
    }

    /// How long the first character of these is that `part`, asked for so many bytes, is.
    fn count_at<'t>(&self, part: impl Fn(usize) -> Option<&'t [u8]>) -> Option<usize> {
        let known = |count| Some((*self.0.get(part(count)?)?, count));
        let found = (1..=MAX_CHAR).filter_map(known).min();
        found.map(|(_, count)| count)
    }
}

struct Unavailable;

impl Function for Unavailable {
    fn call<'c>(_: &'c FunctionCall) -> Given<'c> {
        Given::Refused(c"this function is not available here")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::types::Value;

    use super::*;

    /// Few different bytes, so that something is found; some of them make no UTF-8.
    fn value() -> impl Strategy<Value = Value> {
        let bytes = proptest::collection::vec(
            prop_oneof![Just(b'a'), Just(b'b'), Just(0xC3), Just(0xA9), Just(0)],
            0..12,
        );
        prop_oneof![
            1 => Just(Value::Null),
            1 => (-12i64..200).prop_map(Value::Integer),
            1 => (0u8..20).prop_map(|n| Value::Real(f64::from(n) / 8.0)),
            3 => bytes.prop_map(Value::Blob),
            6 => "[abé1.]{0,12}".prop_map(Value::Text),
        ]
    }

    /// What an expression gives, as bytes: a text need be no UTF-8; and its type.
    type SqlAnswer = (Option<Vec<u8>>, String);

    fn asked(connection: &Connection, call: &str, values: &[Value]) -> Result<SqlAnswer, String> {
        let sql = format!(
            "SELECT CAST({call} AS BLOB), typeof({call}) WHERE ?1 IS ?1 AND ?2 IS ?2 AND ?3 IS ?3"
        );
        let row = connection.query_row(&sql, rusqlite::params_from_iter(values), |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        row.map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn answers_are_those_of_sqlite(
            (a, b, c) in (value(), value(), value()),
            encoding in prop_oneof![Just("UTF-8"), Just("UTF-16le")],
        ) {
            let open = || {
                let connection = Connection::open_in_memory().expect("a database");
                let pragma = format!("PRAGMA encoding='{encoding}'; CREATE TABLE t (a)");
                connection.execute_batch(&pragma).expect("an encoding");
                connection
            };
            let (own, ours) = (open(), open());
            define(&ours).expect("defined");
            for call in [
                "instr(?1, ?2)",
                "instr(?2, ?1)",
                "replace(?1, ?2, ?3)",
                "trim(?1, ?2)",
                "ltrim(?1, ?2)",
                "rtrim(?1, ?2)",
            ] {
                let values = [a.clone(), b.clone(), c.clone()];
                let found = asked(&ours, call, &values);
                // What is no character is not looked for.
                if found != Err("too many characters to trim".to_owned()) {
                    prop_assert_eq!(asked(&own, call, &values), found, "{} of {:?}", call, values);
                }
            }
        }
    }

    #[test]
    fn long_values_take_no_longer_than_they_are_long() {
        let ours = Connection::open_in_memory().expect("a database");
        define(&ours).expect("defined");
        let sql = "WITH v(a, b) AS (
                SELECT replace(hex(zeroblob(2000000)), '0', 'a'), replace(hex(zeroblob(1000000)), '0', 'a')
            )
            SELECT instr(a, b || 'c') + instr(a, b) + length(replace(a, b || 'c', '')) + length(trim(a, b)) FROM v";
        let sum: i64 = ours.query_row(sql, [], |row| row.get(0)).expect(sql);
        assert_eq!(sum, 1 + 4_000_000);
    }
}
