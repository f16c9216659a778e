//! What the allocator keeps of what was freed.

/// Gives back to the system what the allocator holds for later. It goes through all that is free:
/// after something large, or before a rest, not after each thing.
pub fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
