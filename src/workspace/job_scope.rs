//! The scope of one job: what it looks at makes it a job of the mounts that it is led to.

use crate::protocol::Refusal;
use crate::task::Work;

use super::mounts::{Crossing, Mount};
use super::resolve::Scope;
use super::spelling::{decode_file_uri, is_too_long};

/// Places in a path string at which its path may end that are looked at.
const MAX_ENDS: usize = 8;

impl Scope {
    /// The same for one job. Where a path leads it to a mount that may hang, it becomes a job of
    /// that mount before it touches anything there ([`Work::on_mount`]); what nobody asked for by its
    /// name, such as a near name, is passed over where it is on such a mount.
    pub fn of_job(&self, work: &Work) -> Scope {
        self.with(self.access.crossing.of_job(work))
    }

    /// The same for who is never to wait for a file system: what is on a mount that may hang is
    /// refused.
    pub fn of_nobody(&self) -> Scope {
        self.with(self.access.crossing.of_nobody())
    }

    fn with(&self, crossing: Crossing) -> Scope {
        let mut scope = self.clone();
        scope.access.crossing = crossing;
        scope
    }

    /// The mount that a look for a path string would first come to and that this scope's job is
    /// none of. Nothing of it is touched.
    pub fn mount_on_way(&self, path: &str) -> Option<Mount> {
        let crossing = &self.access.crossing;
        if !crossing.has_mounts() {
            return None;
        }
        let decoded = decode_file_uri(path).ok().flatten();
        let path = decoded
            .as_deref()
            .map_or(Some(path), |path| path.to_str())?;
        let parted = path.rmatch_indices([':', '#', '?']).map(|(at, _)| at);
        let ends = std::iter::once(path.len()).chain(parted.take(MAX_ENDS));
        for name in ends.map(|end| &path[..end]) {
            if name.is_empty() || name.contains('\0') || is_too_long(name) {
                continue;
            }
            for reading in self.readings(name) {
                let place = reading.path();
                let mount = crossing.led_to(&place);
                // What is there before is what is meant.
                if mount.is_some() || place.symlink_metadata().is_ok() {
                    return mount;
                }
            }
        }
        None
    }

    /// Makes the job one of that mount. Refuses with `busy` while the mount hangs.
    pub fn go_on_mount(&self, mount: &Mount) -> Result<(), Refusal> {
        self.access.crossing.go_on(mount)
    }
}
