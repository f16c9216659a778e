//! What folds and what stays, on small texts; goldens of real-looking files are in `fixtures/outline`.
