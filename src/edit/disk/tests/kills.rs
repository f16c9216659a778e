//! Processes that die between two steps, and two that write at once; each is this test binary again.
