//! Every step of a write fails once, with each error; no report here is believed before the files were looked at.
