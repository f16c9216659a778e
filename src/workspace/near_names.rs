//! Whether one name is near another: few steps apart, or one the beginning of what the other holds.

use super::spelling::fold;
use super::steps::Steps;

/// How many near names a `notFound` carries at most.
pub(super) const MAX_SUGGESTIONS: usize = 3;

/// A name as it is compared with others: folded, without case, and with what tells soon that two
/// are not near.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlainName {
    text: String,
    /// Characters.
    length: usize,
    /// Bytes before its last extension.
    stem: usize,
    /// A bit for each of the characters that it has; some share one.
    has: u64,
}

impl PlainName {
    pub(super) fn of(name: &str) -> PlainName {
        let text = fold(name).to_lowercase();
        PlainName {
            length: text.chars().count(),
            stem: stem(&text).len(),
            has: text.chars().fold(0, |has, c| has | 1 << bit_of(c)),
            text,
        }
    }

    fn stem(&self) -> &str {
        &self.text[..self.stem]
    }
}

/// A name that was asked for.
pub(super) struct MissingName<'a> {
    name: &'a PlainName,
    steps: Steps<'a>,
}

impl MissingName<'_> {
    pub(super) fn of(name: &PlainName) -> MissingName<'_> {
        MissingName {
            name,
            steps: Steps::from(&name.text),
        }
    }

    /// As [`measure`].
    pub(super) fn measure(&self, name: &PlainName) -> Option<(usize, usize)> {
        let asked = self.name;
        let limit = 2.max(asked.length / 3);
        let (lacks, exceeds) = (asked.has & !name.has, name.has & !asked.has);
        let alike = (asked.stem() == name.stem() && !asked.stem().is_empty())
            || (asked.length.min(name.length) >= 3
                && (exceeds == 0 && asked.text.contains(&name.text)
                    || lacks == 0 && name.text.contains(&asked.text)));
        // Each character that only one of them has takes a step of its own.
        let least = lacks.count_ones().max(exceeds.count_ones()) as usize;
        if !alike && asked.length.abs_diff(name.length).max(least) > limit {
            return None;
        }
        let distance = self.steps.to(&name.text);
        // Two names of a character or two are within the limit of everything.
        let near = distance <= limit && distance < asked.length.max(name.length);
        let pairs = asked.text.chars().zip(name.text.chars());
        let prefix = pairs.take_while(|(a, b)| a == b).count();
        (alike || near).then_some((distance, prefix))
    }
}

/// Its bit in [`PlainName::has`]: those that names are mostly made of have one of their own.
fn bit_of(c: char) -> u32 {
    match c {
        'a'..='z' => c as u32 - 'a' as u32,
        '0'..='9' => 26 + c as u32 - '0' as u32,
        '.' => 36,
        '_' => 37,
        '-' => 38,
        other => 39 + other as u32 % 25,
    }
}

/// The distance between two names and their common beginning, in characters; `None` when they are
/// not near.
pub fn measure(asked: &str, name: &str) -> Option<(usize, usize)> {
    MissingName::of(&PlainName::of(asked)).measure(&PlainName::of(name))
}

/// The name without its last extension.
fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What [`measure`] says, in as many words.
    fn plainly(asked: &str, name: &str) -> Option<(usize, usize)> {
        let asked = fold(asked).to_lowercase();
        let name = fold(name).to_lowercase();
        let (asked_length, name_length) = (asked.chars().count(), name.chars().count());
        let limit = 2.max(asked_length / 3);
        let alike = (stem(&asked) == stem(&name) && !stem(&asked).is_empty())
            || (asked_length.min(name_length) >= 3
                && (asked.contains(&name) || name.contains(&asked)));
        let distance = strsim::osa_distance(&asked, &name);
        let near = distance <= limit && distance < asked_length.max(name_length);
        let pairs = asked.chars().zip(name.chars());
        let prefix = pairs.take_while(|(a, b)| a == b).count();
        (alike || near).then_some((distance, prefix))
    }

    /// Names with few characters, so that many are near, and some that share a bit.
    fn a_name() -> impl Strategy<Value = String> {
        prop_oneof![
            "[aAb1._é\u{301}ǻÀ]{0,12}",
            "(main|mian|test_[ab]|x)(\\.(rs|py|tsx?))?",
            "[a-z0-9.\u{4e00}-\u{4e40}]{0,40}",
        ]
    }

    proptest! {
        #[test]
        fn what_is_ruled_out_soon_is_not_near(asked in a_name(), name in a_name()) {
            prop_assert_eq!(measure(&asked, &name), plainly(&asked, &name));
        }

        #[test]
        fn a_name_is_near_to_its_own_misspelling(
            name in "[a-z]{1,12}\\.[a-z]{2}", at in 0..12_usize, c in "[a-z1]",
        ) {
            let mut asked = name.clone();
            asked.insert_str(at.min(name.len()), &c);
            prop_assert_eq!(measure(&asked, &name), plainly(&asked, &name));
        }
    }

    #[test]
    fn what_is_near() {
        assert_eq!(measure("config.ts", "config.tsx"), Some((1, 9)));
        assert_eq!(measure("config.ts", "config.js"), Some((1, 7)));
        assert_eq!(measure("README.md", "readme.md"), Some((0, 9)));
        assert_eq!(measure("main.rs", "main.verylong"), Some((7, 5)));
        assert_eq!(measure("user", "user_service.py"), Some((11, 4)));
        assert_eq!(measure("maimn.rs", "main.rs"), Some((1, 3)));
        assert_eq!(measure("main.rs", "other.py"), None);
        assert_eq!(measure("ab", "zz"), None);
        assert_eq!(measure("ab", "abcdef"), None);
    }
}
