//! Change notices: which sessions must hear that lines shown to them are no longer so; a notice never holds content.

use crate::hashline::Tag;
use crate::protocol::read::LineSpan;
use crate::view::LineSet;

/// Who made a change, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    Editor,
    Disk,
    /// An edit of ours, for this session.
    Agent(String),
}

impl Actor {
    /// The name on the wire.
    pub fn name(&self) -> String {
        match self {
            Actor::Editor => "editor".to_owned(),
            Actor::Disk => "disk".to_owned(),
            Actor::Agent(session) => format!("agent:{session}"),
        }
    }
}

/// `agent/didChangeSnapshot`, for one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub session: String,
    /// The path as it was last shown to that session.
    pub path: String,
    /// The version whose lines changed.
    pub tag: Tag,
    /// What the document holds now; `None` when it is gone.
    pub new_tag: Option<Tag>,
    /// Where the file is now that had that path, as headers name it.
    pub moved_to: Option<String>,
    /// In the numbers of the new version, as an edit's reply has them; of a document that is gone,
    /// the lines that were shown.
    pub changed: Vec<LineSpan>,
    pub actor: Actor,
}

impl Notice {
    /// This notice without lines that were shown meanwhile; `None` when nothing is left of it.
    pub fn without(mut self, shown: &LineSet) -> Option<Notice> {
        let news = |line: &u64| !shown.contains(*line);
        let lines = self.changed.iter().flat_map(|span| span.lines());
        let left: LineSet = lines.filter(news).map(LineSpan::line).collect();
        self.changed = left.spans().to_vec();
        (!left.is_empty()).then_some(self)
    }
}
