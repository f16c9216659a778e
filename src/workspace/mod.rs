//! Roots, path resolution and access; nothing else ever opens a path of the user's.
