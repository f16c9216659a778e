//! Things that were found under names, and who goes by a name where several have it.
//!
//! Of things with one name the first goes by it, and the first of each other giver by its giver and
//! it (`user:NAME`). Those that nobody could ask for are left out.

use std::collections::{HashMap, HashSet};

use crate::workspace::Seen;

use super::places::{Giver, Places};
use super::search::{Entered, Ground, Search};

/// All of one kind, in the order of their givers.
#[derive(Debug)]
pub struct FoundThings<T> {
    pub list: Vec<NamedThing<T>>,
    pub problems: Vec<String>,
    /// How many have a name that another goes by.
    pub shadowed: usize,
    /// Where they were looked for.
    pub places: Vec<String>,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct NamedThing<T> {
    pub giver: Giver,
    pub name: String,
    /// By which it is asked for.
    pub address: String,
    /// How messages name the file or folder.
    pub written: String,
    pub ground: Ground,
    pub thing: T,
    /// Another goes by its name.
    pub is_shadowed: bool,
}

impl<T> NamedThing<T> {
    /// What was found in a file or folder.
    pub fn new(found: &Entered, name: String, thing: T) -> NamedThing<T> {
        NamedThing {
            giver: found.giver,
            address: name.clone(),
            name,
            written: found.written.clone(),
            ground: found.ground.clone(),
            thing,
            is_shadowed: false,
        }
    }
}

impl<T> Default for FoundThings<T> {
    fn default() -> FoundThings<T> {
        FoundThings {
            list: Vec::new(),
            problems: Vec::new(),
            shadowed: 0,
            places: Vec::new(),
        }
    }
}

impl<T> FoundThings<T> {
    /// Of what was found, each giver's in the order in which its names are to win.
    pub fn new(
        mut found: Vec<NamedThing<T>>,
        places: Places,
        search: Search,
    ) -> (FoundThings<T>, Seen) {
        found.sort_by_key(|it| it.giver);
        let all = found.len();
        let mut first = HashMap::new();
        let mut taken = HashSet::new();
        let mut list: Vec<NamedThing<T>> = Vec::with_capacity(all);
        for mut it in found {
            let winner = *first.entry(it.name.clone()).or_insert(it.giver);
            if !taken.insert((it.giver, it.name.clone())) {
                continue;
            }
            it.is_shadowed = winner != it.giver;
            it.address = match it.is_shadowed {
                true => format!("{}:{}", it.giver.name(), it.name),
                false => it.name.clone(),
            };
            list.push(it);
        }
        let plain = list.iter().filter(|it| !it.is_shadowed).count();
        let (mut problems, seen) = search.end();
        problems.extend(places.problems);
        let found = FoundThings {
            list,
            problems,
            shadowed: all - plain,
            places: places.places.into_iter().map(|it| it.written).collect(),
        };
        (found, seen)
    }

    /// What goes by a name, which may begin with a giver's.
    pub fn named(&self, name: &str) -> Option<&NamedThing<T>> {
        let (giver, name) = Giver::parted(name);
        let mut list = self.list.iter();
        list.find(|it| match giver {
            Some(giver) => it.giver == giver && it.name == name,
            None => !it.is_shadowed && it.name == name,
        })
    }

    /// The names that there are to ask for.
    pub fn addresses(&self) -> Vec<String> {
        self.list.iter().map(|it| it.address.clone()).collect()
    }
}
