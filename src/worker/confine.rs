//! What a worker may no longer do once it has begun: open, connect, start or look at anything.
//!
//! Three walls, in this order, before the first byte of input. The process is made undumpable, so
//! that nobody of the same user looks into it and it leaves no core. Landlock refuses every file,
//! TCP port and signal outside by what they are; it binds the calling thread and those that it
//! starts, so it comes before any other thread. A seccomp filter allows what computing needs
//! (memory, threads, clocks, the socket that is open) and answers all else with `EPERM`, for all
//! threads; it never kills, since the next C library asks for something new. What the kernel
//! lacks is left out, and said in `agent/status`.

use serde::{Deserialize, Serialize};

/// Which walls stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    pub landlock: Landlock,
    pub seccomp: bool,
}

/// How much of Landlock the kernel knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Landlock {
    /// All that is asked for: files, TCP, signals.
    Full,
    /// An older kernel's part of it.
    Partial,
    None,
}

/// Walls that are left out, to see in tests what the others hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Without {
    pub landlock: bool,
    pub seccomp: bool,
}

/// The walls of the thread that calls and of all that it starts. To be called before it starts
/// any.
pub fn before_threads(without: Without) -> Landlock {
    platform::undumpable();
    match without.landlock {
        true => Landlock::None,
        false => platform::landlock(),
    }
}

/// The last wall, around all threads. Whether it stands.
pub fn all_threads(without: Without) -> bool {
    !without.seccomp && platform::seccomp()
}

#[cfg(target_os = "linux")]
mod platform {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope,
    };
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    use super::Landlock;

    /// The newest Landlock whose rights are asked for; what the kernel lacks of it is left out.
    const LANDLOCK: ABI = ABI::V6;

    pub fn undumpable() {
        // Every process may do that to itself.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }

    /// An empty ruleset: every right that the kernel knows is handled and none is given.
    pub fn landlock() -> Landlock {
        let restrict = || -> Result<_, RulesetError> {
            Ruleset::default()
                .handle_access(AccessFs::from_all(LANDLOCK))?
                .handle_access(AccessNet::from_all(LANDLOCK))?
                .scope(Scope::from_all(LANDLOCK))?
                .create()?
                .restrict_self()
        };
        match restrict().map(|status| status.ruleset) {
            Ok(RulesetStatus::FullyEnforced) => Landlock::Full,
            Ok(RulesetStatus::PartiallyEnforced) => Landlock::Partial,
            Ok(RulesetStatus::NotEnforced) | Err(_) => Landlock::None,
        }
    }

    pub fn seccomp() -> bool {
        let Ok(programs) = programs() else {
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

    /// The filters, to be applied in this order: the second no longer lets one be added. Where
    /// one refuses and the other does not, the refusal counts.
    fn programs() -> Result<[BpfProgram; 2], seccompiler::Error> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for call in ALLOWED.iter().chain(ALLOWED_HERE) {
            rules.insert(*call, Vec::new());
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
    use super::Landlock;

    pub fn undumpable() {}

    pub fn landlock() -> Landlock {
        Landlock::None
    }

    pub fn seccomp() -> bool {
        false
    }
}
