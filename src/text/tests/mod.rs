//! What texts are made of, and files in every encoding.

mod body;
mod encodings;
