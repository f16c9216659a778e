//! What one job of a worker may take. Tests can lower the limits, never raise them.

use std::time::Duration;

use super::confine::Without;

/// The limits of jobs and of the processes that do them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Bytes of what a job is about: a document, a picture.
    pub input_bytes: u64,
    /// Bytes of what is made of it.
    pub output_bytes: u64,
    /// Processor time of one job, where it is the parent that counts it.
    pub cpu: Option<Duration>,
    /// Time of one job by the clock; less than the 30 s of a request, so that there is time left
    /// to say what happened.
    pub wall: Duration,
    /// How long a request waits for one of the workers.
    pub wait: Duration,
    /// Address space of a worker, in bytes.
    pub memory_bytes: u64,
    /// After so long without a job a worker ends.
    pub idle: Duration,
    /// Whether a text can ask a worker to misbehave; see [`WorkerLimits::lowered_by`].
    pub misbehave: bool,
    /// Walls of the confinement that are left out.
    pub without: Without,
}

impl Default for WorkerLimits {
    /// What all kinds share; nothing goes in or out.
    fn default() -> WorkerLimits {
        WorkerLimits {
            input_bytes: 0,
            output_bytes: 0,
            cpu: None,
            wall: Duration::ZERO,
            wait: Duration::ZERO,
            // Enough for the largest document, and little enough for several workers on a small machine.
            memory_bytes: 1024 * 1024 * 1024,
            idle: Duration::from_secs(300),
            misbehave: false,
            without: Without::default(),
        }
    }
}

impl WorkerLimits {
    /// For documents and pictures; in builds for tests lowered by `PILCROW_CONVERT`.
    pub fn of_convert() -> WorkerLimits {
        let limits = WorkerLimits {
            input_bytes: 100 * 1024 * 1024,
            output_bytes: 16 * 1024 * 1024,
            cpu: Some(Duration::from_secs(20)),
            wall: Duration::from_secs(25),
            wait: Duration::from_secs(10),
            ..WorkerLimits::default()
        };
        limits.lowered_by("PILCROW_CONVERT")
    }

    /// For source files; in builds for tests lowered by `PILCROW_SYNTAX`. The worker itself sees to
    /// its processor time, so that a busy machine gives the same answer as an idle one.
    pub fn of_syntax() -> WorkerLimits {
        let limits = WorkerLimits {
            input_bytes: 4 * 1024 * 1024,
            output_bytes: 4 * 1024 * 1024,
            wall: Duration::from_secs(2),
            wait: Duration::from_secs(2),
            ..WorkerLimits::default()
        };
        limits.lowered_by("PILCROW_SYNTAX")
    }

    /// For databases; in builds for tests lowered by `PILCROW_QUERY`. The worker itself sees to the
    /// 5 s of a query; what it is still at 2 s later is ended.
    pub fn of_query() -> WorkerLimits {
        let limits = WorkerLimits {
            output_bytes: 34 * 1024 * 1024,
            wall: Duration::from_secs(7),
            wait: Duration::from_secs(20),
            ..WorkerLimits::default()
        };
        limits.lowered_by("PILCROW_QUERY")
    }

    /// In builds for tests lowered by the environment, a list such as
    /// `inputBytes=1000,outputBytes=2000,cpuMs=200,wallMs=900,waitMs=100,idleMs=50,misbehave=1`.
    /// With `misbehave`, a text that holds `pilcrow:abort`, `pilcrow:spin`, `pilcrow:sleep` or
    /// `pilcrow:probe` makes its worker do that. `landlock=0` and `seccomp=0` leave out what an
    /// older kernel lacks.
    fn lowered_by(self, variable: &str) -> WorkerLimits {
        #[cfg(any(feature = "failpoints", debug_assertions))]
        if let Ok(text) = std::env::var(variable) {
            return self.lowered(&text);
        }
        let _ = variable;
        self
    }

    #[cfg(any(feature = "failpoints", debug_assertions))]
    fn lowered(mut self, text: &str) -> WorkerLimits {
        for (key, value) in text.split(',').filter_map(|item| item.split_once('=')) {
            let Ok(value) = value.parse::<u64>() else {
                continue;
            };
            let time = Duration::from_millis(value);
            match key {
                "inputBytes" => self.input_bytes = self.input_bytes.min(value),
                "outputBytes" => self.output_bytes = self.output_bytes.min(value),
                "cpuMs" => self.cpu = self.cpu.map(|cpu| cpu.min(time)),
                "wallMs" => self.wall = self.wall.min(time),
                "waitMs" => self.wait = self.wait.min(time),
                "idleMs" => self.idle = self.idle.min(time),
                "misbehave" => self.misbehave = value == 1,
                "landlock" => self.without.landlock = value == 0,
                "seccomp" => self.without.seccomp = value == 0,
                _ => {}
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_only_lowers() {
        let whole = WorkerLimits::of_convert();
        let limits =
            WorkerLimits::of_convert().lowered("cpuMs=200,inputBytes=99999999999,odd,wallMs=x");
        assert_eq!(limits.cpu, Some(Duration::from_millis(200)));
        assert_eq!(limits.input_bytes, whole.input_bytes);
        assert_eq!(limits.wall, whole.wall);
    }
}
