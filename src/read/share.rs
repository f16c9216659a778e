//! One budget for several reads; a read never gets more than it can use while another is cut.

use crate::view::Budget;
use crate::view::window::Spent;

/// What one read has of a budget shared with others, or of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub budget: Budget,
    /// Characters of the whole text of its answer.
    pub chars: Option<u64>,
}

/// Characters for what stands beside the rows of one read among `count`, of an answer of `chars`.
pub fn beside_rows(chars: u64, count: usize) -> u64 {
    (chars / 3 / count.max(1) as u64).clamp(200, 1300)
}

/// What is left for rows of a budget for `count` reads whose answer has at most so many characters:
/// up to eight of them stand before each row.
fn for_rows(budget: Budget, chars: Option<u64>, count: usize) -> Budget {
    let Some(chars) = chars else { return budget };
    let room = chars.saturating_sub(count as u64 * beside_rows(chars, count));
    let wanted = budget.bytes + 8 * budget.lines;
    if wanted <= room {
        return budget;
    }
    let part = |whole: u64| (whole * room / wanted).max(1);
    Budget {
        lines: part(budget.lines),
        bytes: part(budget.bytes),
    }
}

impl Share {
    /// Of one read among `count`.
    pub fn among(budget: Budget, chars: Option<u64>, count: usize) -> Share {
        let rows = budget.bytes + 8 * budget.lines;
        Share {
            budget,
            chars: chars.map(|chars| rows + beside_rows(chars, count)),
        }
    }
}

/// Shares a budget among reads that want so much, of an answer for `count` reads in all.
pub fn share_within(
    demands: &[Spent],
    budget: Budget,
    chars: Option<u64>,
    count: usize,
) -> Vec<Budget> {
    let shares = share(demands, budget);
    let rows: u64 = shares.iter().map(|it| it.bytes + 8 * it.lines).sum();
    let room = |chars: u64| chars.saturating_sub(count as u64 * beside_rows(chars, count));
    match chars.is_some_and(|chars| rows > room(chars)) {
        true => share(demands, for_rows(budget, chars, count)),
        false => shares,
    }
}

/// Splits `budget` fairly: whoever wants less than an even share gets it all, and what is left is
/// split evenly among the others (max-min fairness), for lines and bytes apart.
fn share(demands: &[Spent], budget: Budget) -> Vec<Budget> {
    let lines: Vec<u64> = demands.iter().map(|demand| demand.lines).collect();
    let bytes: Vec<u64> = demands.iter().map(|demand| demand.bytes).collect();
    let lines = fair(&lines, budget.lines);
    let bytes = fair(&bytes, budget.bytes);
    lines
        .into_iter()
        .zip(bytes)
        .map(|(lines, bytes)| Budget { lines, bytes })
        .collect()
}

fn fair(demands: &[u64], total: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|&index| demands[index]);
    let mut shares = vec![0; demands.len()];
    let mut left = total;
    for (done, &index) in order.iter().enumerate() {
        let even = left / (demands.len() - done) as u64;
        shares[index] = demands[index].min(even);
        left -= shares[index];
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_max_min_fair(demands in prop::collection::vec(0u64..1000, 1..20), total in 0u64..5000) {
            let shares = fair(&demands, total);
            prop_assert!(shares.iter().sum::<u64>() <= total);
            let largest = shares.iter().max().copied().unwrap_or(0);
            for (demand, share) in demands.iter().zip(&shares) {
                // Only those are cut that have as much as anyone, give or take the remainder.
                prop_assert!(share == demand || (share < demand && share + 1 >= largest));
            }
        }
    }
}
