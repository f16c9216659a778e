//! What was shown of a file that is moved: it counts under the new path, and everybody else hears of it.

use std::time::Instant;

use crate::hashline::Tag;

use super::super::notice::{Actor, Notice};
use super::super::versions::{Document, Version};
use super::{CarriedLines, Sessions};

impl Sessions {
    /// The file of one document is that of another now, which headers call `path`: versions, tags and
    /// what was shown go along. Tells as [`Sessions::record`] does.
    pub fn moved(&self, from: &Document, to: &Document, path: &str, actor: &Actor) -> Vec<Notice> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        inner.snapshots.move_all(from, to, Instant::now());
        let mut notices = Vec::new();
        for (name, session) in &mut inner.sessions {
            let of_it = session.shown.keys().filter(|(of, _)| of == from);
            let of_it: Vec<u128> = of_it.map(|(_, content)| *content).collect();
            for content in of_it {
                let lines = session.shown.remove(&(from.clone(), content));
                let shown = session.shown.entry((to.clone(), content)).or_default();
                shown.extend(lines.unwrap_or_default().spans());
            }
            let Some(carried) = session.carried.remove(from) else {
                continue;
            };
            let CarriedLines {
                content,
                tag,
                lines,
                path: before,
            } = carried;
            if !lines.is_empty() {
                notices.push(Notice {
                    session: name.clone(),
                    path: before,
                    tag,
                    new_tag: None,
                    moved_to: Some(path.to_owned()),
                    changed: lines.spans().to_vec(),
                    actor: actor.clone(),
                });
            }
            let Some(version) = inner.snapshots.holding(to, content) else {
                continue;
            };
            let carried = CarriedLines {
                content,
                tag: version.tag,
                lines,
                path: path.to_owned(),
            };
            session.carried.insert(to.clone(), carried);
        }
        notices
    }

    /// The held version of a document that has this text.
    pub fn holding(&self, document: &Document, content: u128) -> Option<Version> {
        let inner = self.inner.lock();
        inner.snapshots.holding(document, content).cloned()
    }

    /// The tag of what a document holds, as far as is known.
    pub fn newest_tag(&self, document: &Document) -> Option<Tag> {
        let inner = self.inner.lock();
        inner.snapshots.newest_tag(document)
    }

    /// Where a document was before, if what made the version of this tag is that its file was moved.
    pub fn moved_from(&self, document: &Document, tag: Tag) -> Option<Document> {
        let mut inner = self.inner.lock();
        let version = inner.snapshots.named(document, tag, Instant::now())?;
        inner
            .snapshots
            .moved_from(document, version.content)
            .cloned()
    }
}
