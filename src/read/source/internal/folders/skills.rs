//! `skill://NAME`: Agent Skills, folders with a `SKILL.md` whose front matter says what they are for.

use std::path::{Path, PathBuf};

use crate::protocol::read::NamedResource;
use crate::protocol::settings::RootScheme;
use crate::protocol::{Refusal, Settings};
use crate::task::Work;
use crate::workspace::{InternalUrl, Scope, Seen, decoded_file_part, encoded};

use super::super::{
    Given, InternalAsk, InternalContext, Listing, Provider, ProviderFacts, one_line,
};
use super::front_matter::FrontMatter;
use super::named::{FoundThings, NamedThing};
use super::places::{self, Sort, is_plain_name};
use super::search::{Entered, MAX_DEPTH, Name, Search};
use super::{Opening, parted, provenance};

/// The provider of the scheme.
pub static SKILLS: SkillProvider = SkillProvider;

/// See the module.
#[derive(Debug)]
pub struct SkillProvider;

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The skills there are, each giver's in the order of the alphabet.
pub type Skills = FoundThings<Skill>;

/// What one is, besides its name.
#[derive(Debug)]
pub struct Skill {
    description: String,
    folder: PathBuf,
    size: u64,
}

impl NamedThing<Skill> {
    fn file(&self) -> PathBuf {
        self.thing.folder.join(SKILL_FILE)
    }

    fn resource(&self) -> NamedResource {
        NamedResource {
            uri: format!("skill://{}", self.address),
            name: self.name.clone(),
            description: Some(self.thing.description.clone()),
            mime_type: Some("text/markdown".to_owned()),
            size: Some(self.thing.size),
            provider: self.giver.name(),
            path: Some(self.file().to_string_lossy().into_owned()),
            shadowed_by: self.winner(),
            ..NamedResource::default()
        }
    }

    /// The address of the skill that goes by this one's name.
    fn winner(&self) -> Option<String> {
        self.is_shadowed.then(|| format!("skill://{}", self.name))
    }
}

/// Looks through the folders of the tables.
pub fn search(scope: &Scope, work: &Work) -> Result<(Skills, Seen), Refusal> {
    let settings: &Settings = scope.settings();
    let places = places::places(Sort::Skill, scope, settings);
    let mut search = Search::new(scope, work);
    let mut list = Vec::new();
    for place in &places.places {
        if let Some(folder) = search.enter(place)?.filter(Entered::is_folder) {
            walk(&mut search, &folder, 1, &mut list)?;
        }
    }
    // Of one name the first that was found goes first.
    list.sort_by(|a, b| (a.giver, &a.name).cmp(&(b.giver, &b.name)));
    Ok(FoundThings::new(list, places, search))
}

fn walk(
    search: &mut Search,
    folder: &Entered,
    depth: usize,
    list: &mut Vec<NamedThing<Skill>>,
) -> Result<(), Refusal> {
    for name in search.names(folder)? {
        if !name.is_folder && !name.is_link {
            continue;
        }
        if !search.takes_folder(folder.giver, &folder.written) {
            return Ok(());
        }
        let Some(child) = search.child(folder, &name)?.filter(Entered::is_folder) else {
            continue;
        };
        let child = search.alone(child);
        let file = Name {
            name: SKILL_FILE.to_owned(),
            is_folder: false,
            is_link: false,
        };
        match search.child(&child, &file)? {
            Some(file) => list.extend(skill(search, &child, &file, &name.name)),
            None if depth < MAX_DEPTH => walk(search, &child, depth + 1, list)?,
            None => {}
        }
    }
    Ok(())
}

/// The skill that a file says it is; what is wrong with it otherwise is a problem.
fn skill(
    search: &mut Search,
    folder: &Entered,
    file: &Entered,
    called: &str,
) -> Option<NamedThing<Skill>> {
    let head = search.head(file)?;
    if !search.is_new(file) {
        return None;
    }
    let matter = FrontMatter::of(&head);
    if matter.is_none() && FrontMatter::is_endless(&head) {
        search.problem(&file.written, "its front matter does not end within 16 KiB");
        return None;
    }
    let matter = matter.unwrap_or_default();
    let name = matter.text("name").unwrap_or(called);
    if !is_plain_name(name) {
        let what = format!(
            "the name '{name}' is not 1 to 64 letters, digits, '.', '_', '-'; give it one in its front matter"
        );
        search.problem(&file.written, &what);
        return None;
    }
    let description = one_line(matter.text("description").unwrap_or_default());
    if description.is_empty() {
        search.problem(&file.written, "it has no description in its front matter");
        return None;
    }
    let skill = Skill {
        description,
        folder: folder.path().to_owned(),
        size: file.size(),
    };
    Some(NamedThing::new(folder, name.to_owned(), skill))
}

impl Skills {
    fn listing(&self) -> Given {
        if self.list.is_empty() {
            return Given::text(&format!("No skills in {}\n", self.places.join(", ")));
        }
        let row = |skill: &NamedThing<Skill>| {
            let written = one_line(&skill.written);
            let provenance = provenance(skill.giver, &written, skill.winner().as_deref());
            vec![
                skill.address.clone(),
                format!("{provenance}{}", skill.thing.description),
            ]
        };
        Given::List(Listing {
            rows: self.list.iter().map(row).collect(),
            resources: self
                .list
                .iter()
                .map(NamedThing::<Skill>::resource)
                .collect(),
            footer: Some("skill://NAME reads one, skill://NAME/ lists its files".to_owned()),
            ..Listing::default()
        })
    }
}

impl SkillProvider {
    fn opened(
        &self,
        skill: &NamedThing<Skill>,
        file: Option<&str>,
        context: &InternalContext,
    ) -> Result<Option<Given>, Refusal> {
        let below = match file {
            None => SKILL_FILE.to_owned(),
            Some(file) => decoded_file_part(file)?,
        };
        let base = format!("skill://{}/", skill.address);
        let opening = Opening {
            giver: skill.giver,
            ground: &skill.ground,
            url: None,
            writable: false,
        };
        let scope = opening.scope(context.scope);
        let path = match below.is_empty() {
            true => skill.thing.folder.clone(),
            false => skill.thing.folder.join(&below),
        };
        let spelled = format!("{base}{below}");
        let Some(handle) = opening.look(&scope, &path, &spelled)? else {
            return Ok(None);
        };
        let url = InternalUrl::new("skill", &format!("{}/{}", skill.address, encoded(&below)));
        Ok(Some(opening.given(scope, handle, url, context.scope)))
    }
}

impl Provider for SkillProvider {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "user",
            what: "a skill",
            is_shown_whole: true,
            ..ProviderFacts::DEFAULT
        }
    }

    fn is_on(&self, settings: &Settings) -> bool {
        super::may_have(settings, RootScheme::Skill)
    }

    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal> {
        let skills = context
            .folders
            .skills
            .get(context.scope, context.work, search)?;
        if ask.written.is_empty() {
            return Ok(Some(skills.listing()));
        }
        let (_, file) = parted(ask.written);
        let (name, _) = parted(ask.name);
        match skills.named(name) {
            Some(skill) => self.opened(skill, file, context),
            None => Ok(None),
        }
    }

    fn names_like(&self, asked: &str, context: &InternalContext) -> Vec<String> {
        let Ok(skills) = context
            .folders
            .skills
            .get(context.scope, context.work, search)
        else {
            return Vec::new();
        };
        let (name, file) = parted(asked);
        match (skills.named(name), file) {
            (Some(skill), Some(file)) => {
                let scope = skill.ground.scope(context.scope, "", false);
                let files = super::names_beside(&scope, &skill.thing.folder, file, context.work);
                let file = |it: String| format!("{}/{it}", skill.address);
                files.into_iter().map(file).collect()
            }
            _ => skills.addresses(),
        }
    }

    fn instead_of_change(&self, written: &str, scope: &Scope) -> String {
        let (name, file) = parted(written);
        let found = search(scope, &super::brief()).ok();
        let skill = found.as_ref().and_then(|(skills, _)| skills.named(name));
        match skill {
            Some(skill) => {
                let file = file.filter(|file| !file.is_empty()).unwrap_or(SKILL_FILE);
                super::read_only(&Path::new(&skill.written).join(file))
            }
            None => "is read-only here, as all skills are".to_owned(),
        }
    }
}
