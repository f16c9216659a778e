//! How many steps lead from one text to another: a character more, one less, another one, or two neighbours exchanged (optimal string alignment); of a short text, all of its characters are compared at once.

/// A text that is compared with many.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    from: &'a str,
    /// Characters.
    length: usize,
    /// Where each character stands, a bit for each place. The places of ASCII are by its code.
    ascii: [u64; 128],
    others: Vec<(char, u64)>,
}

impl<'a> Steps<'a> {
    pub(super) fn from(from: &'a str) -> Steps<'a> {
        let mut steps = Steps {
            from,
            length: 0,
            ascii: [0; 128],
            others: Vec::new(),
        };
        for c in from.chars() {
            let place = 1_u64.checked_shl(steps.length as u32).unwrap_or(0);
            steps.length += 1;
            match steps.others.iter_mut().find(|(other, _)| *other == c) {
                _ if c.is_ascii() => steps.ascii[c as usize] |= place,
                Some((_, places)) => *places |= place,
                None if place != 0 => steps.others.push((c, place)),
                None => {}
            }
        }
        steps
    }

    fn places(&self, c: char) -> u64 {
        match c.is_ascii() {
            true => self.ascii[c as usize],
            false => {
                let mut others = self.others.iter();
                others.find(|(other, _)| *other == c).map_or(0, |it| it.1)
            }
        }
    }

    /// The least number of steps to `to`.
    pub(super) fn to(&self, to: &str) -> usize {
        match self.length {
            0 => to.chars().count(),
            1..=64 => self.in_one_word(to),
            _ => strsim::osa_distance(self.from, to),
        }
    }

    /// Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances" (2003):
    /// a column of the table of distances is a word, which holds by how much each differs from the
    /// one above it.
    fn in_one_word(&self, to: &str) -> usize {
        let last = 1 << (self.length - 1);
        let (mut more, mut less) = (u64::MAX, 0);
        let (mut level, mut places_before) = (0_u64, 0);
        let mut distance = self.length;
        for c in to.chars() {
            let places = self.places(c);
            let exchanged = ((!level & places) << 1) & places_before;
            let carried = (places & more).wrapping_add(more) ^ more;
            level = carried | places | less | exchanged;
            let right_more = less | !(level | more);
            let right_less = level & more;
            distance += usize::from(right_more & last != 0);
            distance -= usize::from(right_less & last != 0);
            let right_more = right_more << 1 | 1;
            more = right_less << 1 | !(level | right_more);
            less = right_more & level;
            places_before = places;
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_those_of_the_table(from in "[abcé\u{301}]{0,80}", to in "[abcé\u{301}]{0,80}") {
            prop_assert_eq!(Steps::from(&from).to(&to), strsim::osa_distance(&from, &to));
        }

        #[test]
        fn of_short_texts_too(from in "[ab.é]{0,7}", to in "[ab.é]{0,7}") {
            prop_assert_eq!(Steps::from(&from).to(&to), strsim::osa_distance(&from, &to));
        }
    }
}
