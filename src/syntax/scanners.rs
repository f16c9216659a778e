//! The scanners that some text would make end the process, held to what they can bear; no other C code is called here.
//!
//! They still run in a worker alone, where a crash costs one structure; this keeps the structure right.
//! Between two tokens the parser has a scanner write its state into a buffer of 1024 bytes, and aborts
//! the process when it is told of more. Of all scanners of `grammars.rs` these do not stop in time:
//!
//! - YAML's writes 10 bytes and 4 for each open indentation while less than 1024 are full: 1026 at 254.
//! - Python's writes 2 bytes, one for each open string and 2 for each indentation, in the same way: 1025
//!   at 511 indentations around an odd number of strings.
//! - Ruby's writes 4 bytes and the word for each open heredoc, having asked for room for 2: up to 1025.
//!   Of a word over 255 bytes it writes the length modulo 256, and reading that aborts as well.
//!
//! So each writes into a larger buffer first. What does not fit, or could not be read again, becomes an
//! empty state, which is what the other scanners do: the tree has errors from there on.

use std::ffi::{c_char, c_uint, c_void};
use std::ptr;

use tree_sitter::Language;

/// `TREE_SITTER_SERIALIZATION_BUFFER_SIZE`
const ROOM: usize = 1024;
/// More than any of the three writes before it looks at the room again.
const ENOUGH: usize = ROOM + 64;

type Serialize = unsafe extern "C" fn(payload: *mut c_void, buffer: *mut c_char) -> c_uint;

unsafe extern "C" {
    fn tree_sitter_python_external_scanner_serialize(
        payload: *mut c_void,
        buffer: *mut c_char,
    ) -> c_uint;
    fn tree_sitter_ruby_external_scanner_serialize(
        payload: *mut c_void,
        buffer: *mut c_char,
    ) -> c_uint;
    fn tree_sitter_yaml_external_scanner_serialize(
        payload: *mut c_void,
        buffer: *mut c_char,
    ) -> c_uint;
}

pub(super) fn python() -> Language {
    with_serialize(tree_sitter_python::LANGUAGE.into(), python_state)
}

pub(super) fn ruby() -> Language {
    with_serialize(tree_sitter_ruby::LANGUAGE.into(), ruby_state)
}

pub(super) fn yaml() -> Language {
    with_serialize(tree_sitter_yaml::LANGUAGE.into(), yaml_state)
}

unsafe extern "C" fn python_state(payload: *mut c_void, buffer: *mut c_char) -> c_uint {
    // SAFETY: the parser gives the payload of this very scanner and a buffer of `ROOM` bytes.
    unsafe {
        held(
            tree_sitter_python_external_scanner_serialize,
            payload,
            buffer,
            |_| true,
        )
    }
}

unsafe extern "C" fn ruby_state(payload: *mut c_void, buffer: *mut c_char) -> c_uint {
    // SAFETY: as above.
    unsafe {
        held(
            tree_sitter_ruby_external_scanner_serialize,
            payload,
            buffer,
            ruby_can_read,
        )
    }
}

unsafe extern "C" fn yaml_state(payload: *mut c_void, buffer: *mut c_char) -> c_uint {
    // SAFETY: as above.
    unsafe {
        held(
            tree_sitter_yaml_external_scanner_serialize,
            payload,
            buffer,
            |_| true,
        )
    }
}

/// Has a scanner write its state where there is enough room, and passes on what fits and can be read.
///
/// # Safety
///
/// `payload` is of the scanner of `serialize`, which writes at most `ENOUGH` bytes; `buffer` has room
/// for `ROOM` bytes.
unsafe fn held(
    serialize: Serialize,
    payload: *mut c_void,
    buffer: *mut c_char,
    can_read: fn(&[u8]) -> bool,
) -> c_uint {
    let mut written = [0_u8; ENOUGH];
    // SAFETY: the caller's promise.
    let length = unsafe { serialize(payload, written.as_mut_ptr().cast()) };
    match written[..ROOM].get(..length as usize) {
        Some(state) if can_read(state) => {
            // SAFETY: `state` is at most `ROOM` bytes of our own stack.
            unsafe { ptr::copy_nonoverlapping(state.as_ptr(), buffer.cast(), state.len()) };
            length
        }
        _ => 0,
    }
}

/// Whether Ruby's scanner would find as many bytes as there are: a count and 5 bytes for each open
/// literal, a count and for each heredoc 3 bytes, the length of the word, and the word.
fn ruby_can_read(state: &[u8]) -> bool {
    let Some(&literals) = state.first() else {
        return true;
    };
    let mut at = 1 + 5 * usize::from(literals);
    let Some(&heredocs) = state.get(at) else {
        return false;
    };
    at += 1;
    for _ in 0..heredocs {
        let Some(&word) = state.get(at + 3) else {
            return false;
        };
        if word == 0 {
            // No heredoc has an empty word; its scanner aborts on one.
            return false;
        }
        at += 4 + usize::from(word);
    }
    at == state.len()
}

/// `struct TSLanguage` of tree-sitter's `parser.h`, as far as grammars of version 14 have it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Version14 {
    abi_version: u32,
    counts: [u32; 8],
    max_alias_sequence_length: u16,
    tables: [*const c_void; 13],
    lexers: [*const c_void; 2],
    keyword_capture_token: u16,
    scanner: Scanner,
    primary_state_ids: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Scanner {
    states: *const c_void,
    symbol_map: *const c_void,
    create: *const c_void,
    destroy: *const c_void,
    scan: *const c_void,
    serialize: Serialize,
    deserialize: *const c_void,
}

/// What version 15 has beyond that.
#[repr(C)]
#[derive(Clone, Copy)]
struct Version15 {
    begin: Version14,
    name: *const c_char,
    reserved_words: *const c_void,
    max_reserved_word_set_size: u16,
    supertype_count: u32,
    supertypes: [*const c_void; 3],
    metadata: [u8; 3],
}

/// The same grammar with another function to write the scanner's state. Leaks a few hundred bytes, so
/// it is to be called once for each grammar.
fn with_serialize(language: Language, serialize: Serialize) -> Language {
    let version = language.abi_version();
    let original = language.into_raw();
    match version {
        14 => {
            // SAFETY: a grammar of this version is such a struct, and static.
            let mut copy = unsafe { *original.cast::<Version14>() };
            copy.scanner.serialize = serialize;
            // SAFETY: it is leaked, so it lives as long as any grammar.
            unsafe { Language::from_raw(ptr::from_ref(Box::leak(Box::new(copy))).cast()) }
        }
        15 => {
            // SAFETY: a grammar of this version is such a struct, and static.
            let mut copy = unsafe { *original.cast::<Version15>() };
            copy.begin.scanner.serialize = serialize;
            // SAFETY: it is leaked, so it lives as long as any grammar.
            unsafe { Language::from_raw(ptr::from_ref(Box::leak(Box::new(copy))).cast()) }
        }
        // The crates are pinned, and a test parses with each of them.
        other => panic!("the struct of grammars of version {other} is not known here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The struct above is the C one only if the function that is replaced is where it is looked for.
    #[test]
    fn the_function_that_is_replaced_is_the_one_of_the_scanner() {
        let serialize_of = |language: Language| {
            // SAFETY: both versions begin with this.
            unsafe { (*language.into_raw().cast::<Version14>()).scanner.serialize }
        };
        let pairs: [(Language, Serialize, Language, Serialize); 3] = [
            (
                tree_sitter_python::LANGUAGE.into(),
                tree_sitter_python_external_scanner_serialize,
                python(),
                python_state,
            ),
            (
                tree_sitter_ruby::LANGUAGE.into(),
                tree_sitter_ruby_external_scanner_serialize,
                ruby(),
                ruby_state,
            ),
            (
                tree_sitter_yaml::LANGUAGE.into(),
                tree_sitter_yaml_external_scanner_serialize,
                yaml(),
                yaml_state,
            ),
        ];
        for (original, its_own, held, ours) in pairs {
            assert_eq!(original.name(), held.name());
            assert_eq!(original.parse_state_count(), held.parse_state_count());
            assert_eq!(serialize_of(original) as usize, its_own as usize);
            assert_eq!(serialize_of(held) as usize, ours as usize);
        }
    }

    #[test]
    fn a_state_of_ruby_is_read_as_its_scanner_reads_it() {
        assert!(ruby_can_read(&[]));
        assert!(ruby_can_read(&[0, 0]));
        assert!(ruby_can_read(&[
            1, 1, 2, 3, 4, 5, 1, 0, 0, 0, 2, b'A', b'B'
        ]));
        // A word of 257 bytes, which is written with a length of 1.
        assert!(!ruby_can_read(
            &[&[0, 1, 0, 0, 0, 1][..], &[b'A'; 257]].concat()
        ));
        assert!(!ruby_can_read(&[0, 1, 0, 0, 0, 0]));
        assert!(!ruby_can_read(&[9]));
    }
}
