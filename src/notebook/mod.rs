//! Jupyter notebooks as editable text, and edits of that text as changes of the JSON; nothing here touches a file, and no byte of the JSON but what was edited is ever another.
//!
//! `json` finds values with their places, `model` the cells among them. `text` writes the cells
//! down and reads them back, `rewrite` turns a changed text into splices of the JSON, in the
//! spacing that `style` finds there. `outputs` shows what cells gave.

mod json;
mod model;
mod outputs;
mod rewrite;
mod style;
mod text;

#[cfg(test)]
mod tests;

pub use json::JsonError;
pub use model::{Cell, NotRead, Notebook, parse};
pub use outputs::{Picture, Shown, with_outputs};
pub use rewrite::{CannotWrite, Rewrite, Splice, rewrite};
pub use text::{Rendered, escape, is_marker, render, unescape};
