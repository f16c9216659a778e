//! Limits that would take too long to come to in a test: in builds for tests the environment lowers them.

/// A limit, in builds for tests lowered by `PILCROW_INTERNAL`: a list such as
/// `readOnMs=200,obtainMs=1000,artifacts=20`.
#[cfg_attr(
    any(feature = "failpoints", debug_assertions),
    expect(clippy::disallowed_methods, reason = "for tests alone")
)]
pub fn lowered(key: &str, limit: u64) -> u64 {
    #[cfg(any(feature = "failpoints", debug_assertions))]
    if let Ok(list) = std::env::var("PILCROW_INTERNAL") {
        return lowered_by(&list, key, limit);
    }
    let _ = key;
    limit
}

#[cfg(any(feature = "failpoints", debug_assertions))]
fn lowered_by(list: &str, key: &str, limit: u64) -> u64 {
    let mut items = list.split(',').filter_map(|item| item.split_once('='));
    let named = items.find(|(name, _)| *name == key);
    let value = named.and_then(|(_, value)| value.parse().ok());
    limit.min(value.unwrap_or(limit))
}

#[cfg(all(test, any(feature = "failpoints", debug_assertions)))]
mod tests {
    use super::*;

    #[test]
    fn the_environment_only_lowers() {
        let list = "readOnMs=200,artifacts=99999,odd,obtainMs=x";
        assert_eq!(lowered_by(list, "readOnMs", 1000), 200);
        assert_eq!(lowered_by(list, "artifacts", 10_000), 10_000);
        assert_eq!(lowered_by(list, "obtainMs", 28_000), 28_000);
        assert_eq!(lowered_by(list, "other", 5), 5);
    }
}
