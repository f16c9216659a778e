//! Memory that is held and not needed: what the allocator keeps of what was freed, and the program's own pages.

/// Gives back to the system what the allocator holds for later. It goes through all that is free:
/// after something large, or before a rest, not after each thing.
pub fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets go of the pages of the program that were ever touched: the system has them still, as long as
/// it has no better use for them, and gives them again as they are touched. Around each page that is
/// touched Linux hands out fifteen more, and all of them count as this process's: 15 MB after a start. For a rest.
pub(super) fn let_go_of_program() {
    #[cfg(target_os = "linux")]
    // SAFETY: the callback has the signature it must have, and is given no data.
    unsafe {
        libc::dl_iterate_phdr(Some(let_go_of_segments), std::ptr::null_mut());
    }
}

/// Lets go of what is only read of the first thing loaded, which is the program, and looks at no other.
///
/// # Safety
///
/// `info` is what `dl_iterate_phdr` gives.
#[cfg(target_os = "linux")]
unsafe extern "C" fn let_go_of_segments(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    _: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: it is valid for this call, and so are its headers.
    let (base, headers) = unsafe {
        let info = &*info;
        let count = usize::from(info.dlpi_phnum);
        (
            info.dlpi_addr,
            std::slice::from_raw_parts(info.dlpi_phdr, count),
        )
    };
    let page = rustix::param::page_size() as u64;
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        // Whole pages alone: at its ends it may share one with what is written.
        let start = (base + header.p_vaddr).next_multiple_of(page);
        let end = (base + header.p_vaddr + header.p_filesz) / page * page;
        if start < end {
            // SAFETY: the pages are the program's file, mapped and never written (PF_W): dropped, they
            // are read from it again.
            unsafe {
                libc::madvise(start as *mut _, (end - start) as usize, libc::MADV_DONTNEED);
            }
        }
    }
    1
}
