//! What a worker may no longer do once it has begun: open (but what it is for), connect, start or look at anything.
//!
//! Three walls, in this order, before the first byte of input. The process is made undumpable, so
//! that nobody of the same user looks into it and it leaves no core. Landlock refuses every file,
//! TCP port and signal outside by what they are; it binds the calling thread and those that it
//! starts, so it comes before any other thread. A seccomp filter allows what computing needs
//! (memory, threads, clocks, the socket that is open) and answers all else with `EPERM`, for all
//! threads; it never kills, since the next C library asks for something new. What the kernel
//! lacks is left out, and said in `agent/status`.
//!
//! A worker for files ([`Readable`]) may read these inodes: Landlock has a rule for each, and the
//! filter lets files be opened for reading, looked at and locked. A path that leads to another inode
//! by now has no rule. Where the kernel has no Landlock such a worker can read what its user can.

use crate::protocol::status::Landlock;

use super::Readable;

/// Walls that are left out, to see in tests what the others hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Without {
    /// As on a kernel that has no Landlock.
    pub landlock: bool,
    /// As on a kernel that has no seccomp.
    pub seccomp: bool,
}

/// The walls of the thread that calls and of all that it starts. To be called before it starts
/// any. Of files only those in `reads` can be opened from here on, and only for reading.
pub fn before_threads(without: Without, reads: &[Readable]) -> Landlock {
    platform::undumpable();
    match without.landlock {
        true => Landlock::None,
        false => platform::landlock(reads),
    }
}

/// The last wall, around all threads. Whether it stands.
pub fn all_threads(without: Without, reads_files: bool) -> bool {
    !without.seccomp && platform::seccomp(reads_files)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::os::unix::fs::OpenOptionsExt;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetError, RulesetStatus, Scope,
    };
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    use super::{Landlock, Readable};

    /// The newest Landlock whose rights are asked for; what the kernel lacks of it is left out.
    const LANDLOCK: ABI = ABI::V6;

    pub fn undumpable() {
        // Every process may do that to itself.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }

    /// Every right that the kernel knows is handled and none is given but to read those files.
    pub fn landlock(reads: &[Readable]) -> Landlock {
        let restrict = || -> Result<_, RulesetError> {
            let mut ruleset = Ruleset::default()
                .handle_access(AccessFs::from_all(LANDLOCK))?
                .handle_access(AccessNet::from_all(LANDLOCK))?
                .scope(Scope::from_all(LANDLOCK))?
                .create()?;
            for file in reads.iter().filter_map(place) {
                ruleset = ruleset.add_rule(PathBeneath::new(file, AccessFs::ReadFile))?;
            }
            ruleset.restrict_self()
        };
        match restrict().map(|status| status.ruleset) {
            Ok(RulesetStatus::FullyEnforced) => Landlock::Full,
            Ok(RulesetStatus::PartiallyEnforced) => Landlock::Partial,
            Ok(RulesetStatus::NotEnforced) | Err(_) => Landlock::None,
        }
    }

    /// The judged inode as a place, if the path still leads there.
    fn place(file: &Readable) -> Option<File> {
        let mut options = File::options();
        options.read(true);
        options.custom_flags(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let place = options.open(&file.path).ok()?;
        let is_it = place.metadata().is_ok_and(|now| file.is(&now));
        is_it.then_some(place)
    }

    pub fn seccomp(reads_files: bool) -> bool {
        let Ok(programs) = programs(reads_files) else {
            return false;
        };
        programs
            .iter()
            .all(|program| apply_filter_all_threads(program).is_ok())
    }

    /// What computing needs. Without `open` in any form, `socket`, `connect`, `execve`, `fork`,
    /// `kill`, `ptrace`, `process_vm_readv`, `ioctl`.
    const ALLOWED: &[libc::c_long] = &[
        // The socket, and waiting for it.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_close,
        libc::SYS_ppoll,
        // Memory.
        libc::SYS_brk,
        libc::SYS_madvise,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        // Threads of this process.
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_gettid,
        libc::SYS_membarrier,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_sigaltstack,
        // Clocks and numbers.
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_getrusage,
        libc::SYS_nanosleep,
        libc::SYS_setitimer,
    ];

    /// Calls that other architectures never had.
    #[cfg(target_arch = "x86_64")]
    const ALLOWED_HERE: &[libc::c_long] = &[libc::SYS_poll, libc::SYS_gettimeofday];
    #[cfg(not(target_arch = "x86_64"))]
    const ALLOWED_HERE: &[libc::c_long] = &[libc::SYS_gettimeofday];

    /// What reading a file by its path needs besides. Names and stamps can be looked at anywhere:
    /// Landlock does not keep them from being seen either.
    const READING: &[libc::c_long] = &[
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_fstat,
        libc::SYS_lseek,
        libc::SYS_newfstatat,
        libc::SYS_pread64,
        libc::SYS_readlinkat,
        libc::SYS_statx,
    ];

    /// The same for C libraries that take the older calls where they are.
    #[cfg(target_arch = "x86_64")]
    const READING_HERE: &[libc::c_long] = &[
        libc::SYS_access,
        libc::SYS_lstat,
        libc::SYS_readlink,
        libc::SYS_stat,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const READING_HERE: &[libc::c_long] = &[];

    /// Flags of `open` that do more than read a file.
    const MORE_THAN_READING: libc::c_int =
        libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_DIRECTORY | libc::O_TMPFILE;

    /// What `fcntl` may do: locks (which on a file that is open for reading can only be shared),
    /// and a descriptor's own flags.
    const FCNTL: &[libc::c_int] = &[
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_GETLK,
        libc::F_SETLK,
    ];

    fn allow_reading(
        rules: &mut BTreeMap<i64, Vec<SeccompRule>>,
    ) -> Result<(), seccompiler::Error> {
        for call in READING.iter().chain(READING_HERE) {
            rules.insert(*call, Vec::new());
        }
        let read_only = |argument| -> Result<SeccompRule, seccompiler::Error> {
            let operator = SeccompCmpOp::MaskedEq(MORE_THAN_READING as u64);
            let none = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, 0)?;
            Ok(SeccompRule::new(vec![none])?)
        };
        rules.insert(libc::SYS_openat, vec![read_only(2)?]);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, vec![read_only(1)?]);
        let commands = FCNTL.iter().map(|command| {
            let (length, value) = (SeccompCmpArgLen::Dword, *command as u64);
            let is_it = SeccompCondition::new(1, length, SeccompCmpOp::Eq, value)?;
            Ok(SeccompRule::new(vec![is_it])?)
        });
        let commands: Result<Vec<_>, seccompiler::Error> = commands.collect();
        rules.insert(libc::SYS_fcntl, commands?);
        Ok(())
    }

    /// The filters, to be applied in this order: the second no longer lets one be added. Where
    /// one refuses and the other does not, the refusal counts.
    fn programs(reads_files: bool) -> Result<[BpfProgram; 2], seccompiler::Error> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for call in ALLOWED.iter().chain(ALLOWED_HERE) {
            rules.insert(*call, Vec::new());
        }
        if reads_files {
            allow_reading(&mut rules)?;
        }
        let thread = flag(0, libc::CLONE_THREAD as u64)?;
        rules.insert(libc::SYS_clone, vec![thread]);
        let name = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            libc::PR_SET_NAME as u64,
        )?;
        rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![name])?]);
        // Its flags stand in memory, where no filter sees them: with `ENOSYS` the C library takes
        // `clone` instead.
        rules.insert(libc::SYS_clone3, Vec::new());
        let calls = filter(
            rules,
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
        )?;
        let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let unknown = filter(
            unknown,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS as u32),
        )?;
        Ok([unknown, calls])
    }

    /// That all bits of `bits` are set in an argument.
    fn flag(argument: u8, bits: u64) -> Result<SeccompRule, seccompiler::Error> {
        let operator = SeccompCmpOp::MaskedEq(bits);
        let set = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, bits)?;
        Ok(SeccompRule::new(vec![set])?)
    }

    fn filter(
        rules: BTreeMap<i64, Vec<SeccompRule>>,
        otherwise: SeccompAction,
        matched: SeccompAction,
    ) -> Result<BpfProgram, seccompiler::Error> {
        let arch = std::env::consts::ARCH.try_into()?;
        Ok(SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()?)
    }
}

/// Limits of memory and time are all that is known here.
#[cfg(not(target_os = "linux"))]
mod platform {
    use super::{Landlock, Readable};

    pub fn undumpable() {}

    pub fn landlock(_: &[Readable]) -> Landlock {
        Landlock::None
    }

    pub fn seccomp(_: bool) -> bool {
        false
    }
}
