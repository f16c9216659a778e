//! Which bytes count as a write that was cut short.

use proptest::prelude::*;

use super::is_half_written;

proptest! {
    #[test]
    fn a_write_cut_at_any_byte_is_known(
        old in proptest::collection::vec(any::<u8>(), 0..2000),
        new in proptest::collection::vec(any::<u8>(), 0..2000),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(new.len() + 1);
        let mut bytes = old.clone();
        bytes.resize(old.len().max(cut), 0);
        bytes[..cut].copy_from_slice(&new[..cut]);
        prop_assert!(is_half_written(&bytes, &old, &new));
    }

    #[test]
    fn any_sectors_of_both_are_known(
        old in proptest::collection::vec(any::<u8>(), 2000),
        new in proptest::collection::vec(any::<u8>(), 2000),
        choice in proptest::collection::vec(any::<bool>(), 4),
    ) {
        let mut bytes = old.clone();
        for (number, sector) in bytes.chunks_mut(512).enumerate() {
            if choice[number] {
                sector.copy_from_slice(&new[number * 512..][..sector.len()]);
            }
        }
        prop_assert!(is_half_written(&bytes, &old, &new));
    }

    #[test]
    fn what_somebody_added_or_changed_is_not(
        old in "[a-m]{20,1500}",
        new in "[n-z]{20,1500}",
        at in any::<prop::sample::Index>(),
    ) {
        let at = at.index(old.len());
        let (mut changed, mut longer) = (old.clone(), old.clone());
        changed.replace_range(at..=at, "!");
        longer.insert(at, '!');
        for bytes in [changed, longer] {
            prop_assert!(!is_half_written(bytes.as_bytes(), old.as_bytes(), new.as_bytes()));
        }
    }
}
