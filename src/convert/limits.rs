//! What one conversion may take; nothing here is ever looser than what the house promises.

use std::time::Duration;

/// The limits of conversions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a document.
    pub input_bytes: u64,
    /// Bytes of Markdown that are made of one document.
    pub output_bytes: u64,
    /// Processor time of one job.
    pub cpu: Duration,
    /// Time of one job by the clock; less than the 30 s of a request, so that there is time left
    /// to say what happened.
    pub wall: Duration,
    /// How long a request waits for one of the children.
    pub wait: Duration,
    /// Address space of a child, in bytes.
    pub memory_bytes: u64,
    /// After so long without a job a child ends.
    pub idle: Duration,
    /// Whether a document can ask a child to misbehave; see [`Limits::from_environment`].
    pub misbehave: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            input_bytes: 100 * 1024 * 1024,
            output_bytes: 16 * 1024 * 1024,
            cpu: Duration::from_secs(20),
            wall: Duration::from_secs(25),
            wait: Duration::from_secs(10),
            memory_bytes: 1024 * 1024 * 1024,
            idle: Duration::from_secs(60),
            misbehave: false,
        }
    }
}

impl Limits {
    /// The limits; in builds for tests lowered by `PILCROW_CONVERT`, a list such as
    /// `inputBytes=1000,outputBytes=2000,cpuMs=200,wallMs=900,waitMs=100,idleMs=50,misbehave=1`.
    /// With `misbehave`, a document that holds `pilcrow:abort`, `pilcrow:spin` or `pilcrow:sleep`
    /// makes its child do that.
    pub fn from_environment() -> Limits {
        #[cfg(any(feature = "failpoints", debug_assertions))]
        if let Ok(text) = std::env::var("PILCROW_CONVERT") {
            return Limits::default().lowered(&text);
        }
        Limits::default()
    }

    #[cfg(any(feature = "failpoints", debug_assertions))]
    fn lowered(mut self, text: &str) -> Limits {
        for (key, value) in text.split(',').filter_map(|item| item.split_once('=')) {
            let Ok(value) = value.parse::<u64>() else {
                continue;
            };
            let time = Duration::from_millis(value);
            match key {
                "inputBytes" => self.input_bytes = self.input_bytes.min(value),
                "outputBytes" => self.output_bytes = self.output_bytes.min(value),
                "cpuMs" => self.cpu = self.cpu.min(time),
                "wallMs" => self.wall = self.wall.min(time),
                "waitMs" => self.wait = self.wait.min(time),
                "idleMs" => self.idle = self.idle.min(time),
                "misbehave" => self.misbehave = value == 1,
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
        let limits = Limits::default().lowered("cpuMs=200,inputBytes=99999999999,odd,wallMs=x");
        assert_eq!(limits.cpu, Duration::from_millis(200));
        assert_eq!(limits.input_bytes, Limits::default().input_bytes);
        assert_eq!(limits.wall, Limits::default().wall);
    }
}
