//! Framing and transport over an LSP service; nothing in here knows a method.
