//! What somebody meant who mistyped a name.

/// The candidate that is nearest to `typed`, when it is near enough to be meant: at most a third of the letters off.
/// Letter case does not count.
pub(super) fn nearest<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let typed = typed.to_lowercase();
    let reach = (typed.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&typed, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= reach)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// ``did you mean `x`?`` when something is near, else the choice of what there is.
pub(super) fn suggest(typed: &str, what: &str, candidates: &[&str]) -> String {
    if let Some(meant) = nearest(typed, candidates.iter().copied()) {
        return format!("did you mean `{meant}`?");
    }
    match candidates {
        [] => format!("there are no {what}"),
        some if some.len() <= LISTED => format!("{what}: {}", some.join(", ")),
        some => format!("{what}: {}, …", some[..LISTED].join(", ")),
    }
}

/// So many candidates are listed in a hint.
const LISTED: usize = 20;

/// Letters to insert, drop, replace or swap with the neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_a_stranger_finds_none() {
        let keys = ["listen", "zones", "udp_workers"];
        assert_eq!(nearest("lisetn", keys), Some("listen"));
        assert_eq!(nearest("Zone", keys), Some("zones"));
        assert_eq!(nearest("upd_worker", keys), Some("udp_workers"));
        assert_eq!(nearest("database", keys), None);
    }

    #[test]
    fn neighbours_swapped_count_once() {
        assert_eq!(distance("eu", "ue"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
