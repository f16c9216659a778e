//! Encodings, line ends and the rope behind our own type; nothing here does I/O.
