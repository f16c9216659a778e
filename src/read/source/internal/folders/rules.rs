//! `rule://NAME`: what people tell agents of a project and of how they work, in the files that agents agreed on; `rule://?for=PATH`: which of them are for a path.

use std::path::Path;

use crate::protocol::settings::RootScheme;
use crate::protocol::{Refusal, Settings};
use crate::task::Work;
use crate::workspace::{FileType, InternalUrl, Scope, Seen, encoded};

use super::super::{
    Given, InternalAsk, InternalContext, Listing, Provider, ProviderFacts, one_line,
};
use super::Opening;
use super::named::{FoundThings, NamedThing};
use super::nested::{self, RuledPath};
use super::places::{self, Giver, LookupPlace, Sort};
use super::rule::{Applies, Rule};
use super::search::{Entered, MAX_DEPTH, Search};

/// The provider of the scheme.
pub static RULES: RuleProvider = RuleProvider;

/// See the module.
#[derive(Debug)]
pub struct RuleProvider;

/// What files in folders of rules end in, and what is left of a name. The longest goes first.
const ENDS: &[&str] = &[".instructions.md", ".mdc", ".md"];

/// The rules there are, but for those in folders on the way to a path; each giver's in the order of the tables.
pub type Rules = FoundThings<Rule>;

/// Looks through the files and folders of the tables.
pub fn search(scope: &Scope, work: &Work) -> Result<(Rules, Seen), Refusal> {
    let places = places::places(Sort::Rule, scope, scope.settings());
    let mut search = Search::new(scope, work);
    let mut list = Vec::new();
    for place in &places.places {
        let Some(entered) = search.enter(place)? else {
            continue;
        };
        match entered.is_folder() {
            true => walk(&mut search, &entered, (1, ""), &mut list)?,
            false => list.extend(of_file(&mut search, &entered, place)),
        }
    }
    name_seconds_by_their_paths(&mut list);
    Ok(FoundThings::new(list, places, search))
}

/// A file of the tables is called by its own name.
fn of_file(search: &mut Search, file: &Entered, place: &LookupPlace) -> Option<NamedThing<Rule>> {
    let name = place.path.file_name()?.to_str()?;
    let is_rule = NAMED_WHOLE.contains(&name) || place.giver == Giver::Settings;
    let name = match is_rule {
        true => name,
        false => without_end(name).unwrap_or(name),
    };
    match search.is_new(file) {
        true => NamedThing::<Rule>::of(search, file, name.to_owned()),
        false => None,
    }
}

/// Files that are called by their names with what those end in.
const NAMED_WHOLE: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

fn without_end(name: &str) -> Option<&str> {
    ENDS.iter().find_map(|end| name.strip_suffix(end))
}

fn walk(
    search: &mut Search,
    folder: &Entered,
    (depth, before): (usize, &str),
    list: &mut Vec<NamedThing<Rule>>,
) -> Result<(), Refusal> {
    for name in search.names(folder)? {
        let is_rule = without_end(&name.name).filter(|_| !name.is_folder);
        if is_rule.is_none() && !name.is_folder && !name.is_link {
            continue;
        }
        if is_rule.is_none() && !search.takes_folder(folder.giver, &folder.written) {
            return Ok(());
        }
        let Some(child) = search.child(folder, &name)? else {
            continue;
        };
        if child.is_folder() {
            if depth < MAX_DEPTH {
                let before = format!("{before}{}/", name.name);
                walk(search, &child, (depth + 1, &before), list)?;
            }
            continue;
        }
        let Some(called) = is_rule else {
            continue;
        };
        let called = format!("{before}{called}");
        if !is_rule_name(&called) {
            let what = "a rule's name has no ':', '?', '\\' and no characters that are not seen";
            search.problem(&child.written, what);
        } else if search.is_new(&child) {
            list.extend(NamedThing::<Rule>::of(search, &child, called));
        }
    }
    Ok(())
}

/// Whether a rule may be called so: a colon in front of a name comes from us alone.
fn is_rule_name(name: &str) -> bool {
    !name.contains([':', '?', '\\']) && one_line(name) == name && name.len() <= 200
}

/// Of two rules of one giver with one name the second is named by its path.
fn name_seconds_by_their_paths(list: &mut [NamedThing<Rule>]) {
    let mut taken = std::collections::HashSet::new();
    for rule in list {
        if !taken.insert((rule.giver, rule.name.clone())) {
            let path = rule
                .written
                .trim_start_matches("~/")
                .trim_start_matches('$');
            rule.name = path.to_owned();
            taken.insert((rule.giver, rule.name.clone()));
        }
    }
}

impl Rules {
    fn listing(&self) -> Given {
        if self.list.is_empty() {
            return Given::text(&format!("No rules in {}\n", self.places.join(", ")));
        }
        listing(&self.list.iter().collect::<Vec<_>>())
    }
}

fn listing(rules: &[&NamedThing<Rule>]) -> Given {
    let footer = "rule://NAME reads one, rule://?for=PATH lists those for a path";
    Given::List(Listing {
        rows: rules.iter().map(|rule| rule.row()).collect(),
        resources: rules.iter().map(|rule| rule.resource()).collect(),
        footer: Some(footer.to_owned()),
        ..Listing::default()
    })
}

/// The rules that are for a path, general before special.
fn for_path(rules: &Rules, path: &str, context: &InternalContext) -> Result<Given, Refusal> {
    let target = RuledPath::of(path, context.scope)?;
    let nested = nested::on_the_way(&target, context.scope, context.work)?;
    let is_known =
        |rule: &&NamedThing<Rule>| rules.list.iter().any(|it| it.thing.file == rule.thing.file);
    let of_target = |rule: &&NamedThing<Rule>| {
        let is_of_root = match rule.giver {
            Giver::Workspace => rule.thing.root.is_none_or(|root| root == target.root),
            Giver::Settings | Giver::User => true,
        };
        is_of_root && rule.thing.applies.is_for(&target.path)
    };
    let applying: Vec<&NamedThing<Rule>> = rules.list.iter().filter(of_target).collect();
    let (always, special): (Vec<&NamedThing<Rule>>, Vec<&NamedThing<Rule>>) = applying
        .into_iter()
        .partition(|rule| rule.thing.applies == Applies::Always);
    let nested = nested.iter().filter(|rule| !is_known(rule));
    let all: Vec<&NamedThing<Rule>> = always.into_iter().chain(special).chain(nested).collect();
    match all.is_empty() {
        true => Ok(Given::text(&format!(
            "No rules for {} in {}\n",
            one_line(&target.path),
            rules.places.join(", ")
        ))),
        false => Ok(listing(&all)),
    }
}

impl RuleProvider {
    fn opened(
        &self,
        rule: &NamedThing<Rule>,
        context: &InternalContext,
    ) -> Result<Option<Given>, Refusal> {
        let url = InternalUrl::new("rule", &encoded(&rule.address));
        let opening = Opening {
            giver: rule.giver,
            ground: &rule.ground,
            url: None,
            writable: false,
        };
        let scope = opening.scope(context.scope);
        let handle = opening.look(&scope, &rule.thing.file, url.as_str())?;
        let handle = handle.filter(|it| it.file_type() == FileType::Regular);
        Ok(handle.map(|it| opening.given(scope, it, url, context.scope)))
    }
}

impl Provider for RuleProvider {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "user",
            what: "a rule",
            parameters: &["for"],
            ..ProviderFacts::DEFAULT
        }
    }

    fn is_on(&self, settings: &Settings) -> bool {
        super::may_have(settings, RootScheme::Rule)
    }

    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal> {
        let rules = context
            .folders
            .rules
            .get(context.scope, context.work, search)?;
        if ask.name.is_empty() {
            return Ok(Some(rules.listing()));
        }
        if ask.written.starts_with("?for=") {
            let path = ask.name.strip_prefix("?for=").unwrap_or_default();
            return for_path(&rules, path, context).map(Some);
        }
        if let Some(rule) = rules.named(ask.name) {
            return self.opened(rule, context);
        }
        match nested::named(ask.name, context.scope, context.work)? {
            Some(rule) => self.opened(&rule, context),
            None => Ok(None),
        }
    }

    fn names(&self, context: &InternalContext) -> Vec<String> {
        let rules = context
            .folders
            .rules
            .get(context.scope, context.work, search);
        let rules = rules.unwrap_or_default();
        rules.addresses()
    }

    fn instead_of_change(&self, written: &str, scope: &Scope) -> String {
        let work = super::brief();
        let found = search(scope, &work).ok();
        let listed = found
            .as_ref()
            .and_then(|(rules, _)| rules.named(written).cloned());
        let nested = || nested::named(written, scope, &work).ok().flatten();
        match listed.or_else(nested) {
            Some(rule) => super::read_only(Path::new(&rule.written)),
            None => "is read-only here, as all rules are".to_owned(),
        }
    }
}
