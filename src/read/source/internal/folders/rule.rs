//! One rule: what its file says of it, and how it is listed.

use std::path::PathBuf;

use crate::protocol::read::NamedResource;
use crate::workspace::encoded;

use super::super::one_line;
use super::front_matter::FrontMatter;
use super::globs;
use super::named::NamedThing;
use super::provenance;
use super::search::{Entered, Search};

/// What some file tells agents.
#[derive(Debug, Clone)]
pub struct Rule {
    description: String,
    pub applies: Applies,
    pub file: PathBuf,
    /// Of which workspace folder, and for no other.
    pub root: Option<usize>,
    size: u64,
}

/// What a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applies {
    Always,
    /// Paths that one of these globs is for.
    To(Vec<String>),
    /// The folder that it lies in, and all below.
    Nested,
    /// Whoever asks for it.
    OnRequest,
}

impl Applies {
    fn of(matter: &FrontMatter) -> Applies {
        let mut globs = Vec::new();
        for key in ["globs", "applyTo", "paths", "fileMatchPattern"] {
            globs.extend(matter.list(key));
        }
        let said = matter.text("inclusion").or(matter.text("trigger"));
        match (matter.flag("alwaysApply"), said) {
            (Some(true), _) | (None, Some("always" | "always_on")) => Applies::Always,
            _ if !globs.is_empty() => Applies::To(globs),
            (Some(false), _) | (None, Some("manual" | "auto" | "model_decision")) => {
                Applies::OnRequest
            }
            (None, _) => Applies::Always,
        }
    }

    pub fn is_for(&self, path: &str) -> bool {
        match self {
            Applies::Always | Applies::Nested => true,
            Applies::To(globs) => globs::any_is_for(globs, path),
            Applies::OnRequest => false,
        }
    }

    fn written(&self) -> String {
        match self {
            Applies::Always => "always".to_owned(),
            Applies::To(globs) => one_line(&globs.join(", ")),
            Applies::Nested => "nested".to_owned(),
            Applies::OnRequest => "on request".to_owned(),
        }
    }
}

impl NamedThing<Rule> {
    /// That of a file, whatever is said in it.
    pub fn of(search: &mut Search, file: &Entered, name: String) -> Option<NamedThing<Rule>> {
        let head = search.head(file)?;
        let matter = FrontMatter::of(&head);
        if matter.is_none() && FrontMatter::is_endless(&head) {
            search.problem(&file.written, "its front matter does not end within 16 KiB");
        }
        let matter = matter.unwrap_or_default();
        let rule = Rule {
            description: one_line(matter.text("description").unwrap_or_default()),
            applies: Applies::of(&matter),
            file: file.path().to_owned(),
            root: file.root,
            size: file.size(),
        };
        Some(NamedThing::new(file, name, rule))
    }

    /// The same as one that lies in a folder on the way to a path.
    pub fn nested(mut self) -> NamedThing<Rule> {
        self.thing.applies = Applies::Nested;
        self
    }

    pub fn resource(&self) -> NamedResource {
        let globs = match &self.thing.applies {
            Applies::To(globs) => Some(globs.iter().map(|it| one_line(it)).collect()),
            Applies::Always | Applies::Nested | Applies::OnRequest => None,
        };
        NamedResource {
            uri: format!("rule://{}", encoded(&self.address)),
            name: self.name.clone(),
            description: (!self.thing.description.is_empty())
                .then(|| self.thing.description.clone()),
            mime_type: Some("text/markdown".to_owned()),
            size: Some(self.thing.size),
            provider: self.giver.name(),
            path: Some(self.thing.file.to_string_lossy().into_owned()),
            applies_to: globs,
            always: Some(self.thing.applies == Applies::Always),
            shadowed_by: self.winner(),
        }
    }

    fn winner(&self) -> Option<String> {
        self.is_shadowed
            .then(|| format!("rule://{}", encoded(&self.name)))
    }

    pub fn row(&self) -> Vec<String> {
        let written = one_line(&self.written);
        let provenance = match self.thing.applies {
            // Its name says where it is.
            Applies::Nested => String::new(),
            _ => provenance(self.giver, &written, self.winner().as_deref()),
        };
        let applies = self.thing.applies.written();
        let row = format!(
            "{}  {applies}  {provenance}{}",
            self.address, self.thing.description
        );
        vec![row]
    }
}
