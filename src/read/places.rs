//! Where a path string leads, for the order of reads and edits; nothing is loaded here and nothing is refused but edits.

use std::path::{Path, PathBuf};

use crate::buffer::{DocumentId, Overlays};
use crate::protocol::{Refusal, shortened};
use crate::task::Work;
use crate::view::{Guess, Selector, Target};
use crate::workspace::{ResourceId, Scope, decode_file_uri};

use super::ask::Ask;
use super::fragment::Fragment;
use super::scheme;
use super::source::internal::{self, Given, InternalContext};
use super::target::{
    Located, TargetKind, is_address, locate, refuse_longer_than_a_path, refuse_too_long,
};

/// As much as is known of where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// Somewhere below the mount point of a file system that may not answer soon.
    OnMount(PathBuf),
    At(ResourceId),
}

/// Makes the job of a read one of the mount that its path leads to, if it leads to one that may
/// hang. `found` hears of that before: the wait may be long. Refuses with `busy` while it hangs.
pub fn go_on_mount(ask: &Ask, scope: &Scope, found: &dyn Fn(Whereabouts)) -> Result<(), Refusal> {
    match scope.mount_on_way(ask.path()) {
        None => Ok(()),
        Some(mount) => {
            found(Whereabouts::OnMount(mount.point.clone()));
            scope.go_on_mount(&mount)
        }
    }
}

impl Located {
    /// Where it is; of a file that only the editor has, where it would be.
    pub fn place(&self, scope: &Scope) -> ResourceId {
        match &self.target_kind {
            TargetKind::OnDisk(found) => ResourceId::File(found.handle.real().clone()),
            TargetKind::InEditor(overlay, _) => match &overlay.key {
                DocumentId::File(path) => match scope.look_at(path) {
                    Ok(at) => ResourceId::File(at.real().clone()),
                    Err(_) => ResourceId::Document(overlay.key.to_string()),
                },
                DocumentId::Other(uri) => ResourceId::Document(uri.clone()),
            },
            TargetKind::Internal(target_kind) => match &target_kind.given {
                Given::File(file) => ResourceId::from(&file.handle),
                Given::Text(_) | Given::List(_) | Given::Lacks(_) => {
                    ResourceId::Internal(target_kind.url.clone())
                }
            },
            TargetKind::Web(address) => ResourceId::Url(address.url.to_string()),
        }
    }
}

/// Everything that a read may turn out to be of once the edits before it are done: where its
/// exact readings lead or would lead, and what it leads to now. A refusal is left to the read.
pub fn places_to_read(ask: &Ask, context: &InternalContext) -> Result<Vec<ResourceId>, Refusal> {
    let InternalContext {
        scope,
        overlays,
        work,
        ..
    } = *context;
    if ask.request.refusal.is_some() {
        return Ok(Vec::new());
    }
    let target = &ask.request.target;
    let written = target.as_written();
    let mut places = Vec::new();
    if scheme::is_internal(written, overlays) {
        let located = internal::locate::locate(target, context).ok().flatten();
        places.extend(located.map(|located| located.place(scope)));
        if scope.is_in_writable_folder(written) {
            // What an edit before it may make.
            let heads = Fragment::splits(written).map(|(head, _)| head);
            let made = heads.chain([written]);
            let made = made.filter_map(|name| scope.destination(name).ok());
            places.extend(made.map(ResourceId::File));
        }
        return Ok(places);
    }
    if scheme::web_address(target).is_ok_and(|address| address.is_some()) {
        // No edit is of a page.
        return Ok(places);
    }
    if refuse_too_long(written).is_err() {
        return Ok(places);
    }
    let mut add = |place: ResourceId| {
        if !places.contains(&place) {
            places.push(place);
        }
    };
    if let Some(place) = out_of_files(written, overlays) {
        add(place);
    }
    let decoded = decode_file_uri(written).ok().flatten();
    if let (Target::Literal(..), Some(address)) = (target, &decoded) {
        // Where nothing literally has that name, it is the address of a file.
        if let Ok(at) = scope.look_at(address) {
            add(ResourceId::File(at.real().clone()));
        }
    }
    let path = match target {
        Target::Literal(..) => Some(written),
        // What is not UTF-8 has no other reading than the one that is found below.
        Target::Spelled(_) => decoded.as_deref().map_or(Some(written), Path::to_str),
    };
    if let Some(path) = path {
        let splits = match target {
            Target::Literal(..) => Vec::new(),
            Target::Spelled(_) => Selector::splits(path),
        };
        let ends = std::iter::once(path.len()).chain(splits.iter().map(|(colon, _)| *colon));
        let heads = Some(path).filter(|_| matches!(target, Target::Spelled(_)));
        let heads = heads.into_iter().flat_map(Fragment::splits);
        let heads = heads.map(|(head, _)| head);
        for name in ends.map(|end| &path[..end]).chain(heads) {
            if let Ok(real) = scope.destination(name) {
                add(ResourceId::File(real));
            }
            // What is there is what is read; later edits of shorter readings do not matter.
            if matches!(scope.find_exact(name), Ok(Some(_))) {
                return Ok(places);
            }
        }
    }
    match locate(target, Some(ask.request.guess), scope, overlays, work) {
        Ok(located) => add(located.place(scope)),
        Err(_) => work.check()?,
    }
    Ok(places)
}

/// The one place that an edit changes under a name. With `creates` it is where the exact name
/// leads or would lead; without, what the name leads to as that of a read does, and where it
/// would lead when there is nothing.
pub fn place_to_edit(
    path: &str,
    creates: bool,
    scope: &Scope,
    overlays: &Overlays,
    work: &Work,
) -> Result<ResourceId, Refusal> {
    scheme::refuse_change(path, scope, overlays)?;
    refuse_longer_than_a_path(path)?;
    if creates {
        scheme::refuse_making(path, scope, overlays)?;
    }
    if let Some(place) = out_of_files(path, overlays) {
        return Ok(place);
    }
    if !creates {
        let target = match is_address(path)? {
            true => Target::Spelled(path.to_owned()),
            false => Target::Literal(path.to_owned(), Selector::default()),
        };
        match locate(&target, Some(Guess::Suffix), scope, overlays, work) {
            Err(Refusal::NotFound { .. }) => {}
            located => return Ok(located?.place(scope)),
        }
    }
    let decoded = decode_file_uri(path)?;
    let name = decoded.as_deref().map_or(Some(path), Path::to_str);
    let name = name.ok_or_else(|| Refusal::NotFound {
        path: shortened(path).into_owned(),
        suggestions: Vec::new(),
    })?;
    Ok(ResourceId::File(scope.destination(name)?))
}

/// The open document that is no file and has this URI.
fn out_of_files(path: &str, overlays: &Overlays) -> Option<ResourceId> {
    let overlay = overlays.called(path)?;
    Some(ResourceId::Document(overlay.key.to_string()))
}
