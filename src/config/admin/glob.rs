//! Globs over service names.

/// A shell glob over service names: `*` crosses dots, `?` is one byte; letter case and a trailing dot do not matter.
///
/// Holds what was typed; two globs that mean the same are [`Glob::same_as`] each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(pub String);

impl Glob {
    /// Whether the service is meant.
    pub fn matches(&self, name: &str) -> bool {
        run(fold(&self.0).as_bytes(), fold(name).as_bytes(), |_| true)
    }

    /// Whether both are the same glob, letter case and trailing dot aside.
    pub fn same_as(&self, other: &Self) -> bool {
        fold(&self.0) == fold(&other.0)
    }

    /// Whether every name that `other` matches is one that this one matches, as far as their letters show it.
    pub fn covers(&self, other: &Self) -> bool {
        // A star of the other may stand for many bytes: only a star of ours stands in for it.
        run(fold(&self.0).as_bytes(), fold(&other.0).as_bytes(), |byte| byte != b'*')
    }
}

fn fold(text: &str) -> String {
    text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()
}

/// Matches with one point of return, the last star: linear in practice, never worse than the product of both lengths.
/// `one` says which bytes a `?` may stand for.
fn run(pattern: &[u8], text: &[u8], one: impl Fn(u8) -> bool) -> bool {
    let (mut at, mut done) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&byte) = text.get(done) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, done));
                at += 1;
            }
            Some(b'?') if one(byte) => (at, done) = (at + 1, done + 1),
            Some(&wanted) if wanted != b'?' && wanted == byte => (at, done) = (at + 1, done + 1),
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, done) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|&byte| byte == b'*'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(text: &str) -> Glob {
        Glob(text.to_owned())
    }

    #[test]
    fn a_star_crosses_dots_and_letter_case_and_the_last_dot_do_not_matter() {
        assert!(glob("*.gslb.example.com").matches("a.b.GSLB.example.com."));
        assert!(glob("*").matches("www.example.com"));
        assert!(glob("ww?.example.com.").matches("www.example.com"));
        assert!(glob("a*b*c").matches("aXbXbYc"));
        assert!(!glob("*.gslb.example.com").matches("gslb.example.com"));
        assert!(!glob("ww?.example.com").matches("ww.example.com"));
        assert!(!glob("").matches("www.example.com"));
    }

    #[test]
    fn a_glob_covers_another_when_it_is_at_least_as_wide() {
        assert!(glob("*").covers(&glob("*.example.com")));
        assert!(glob("*.example.com").covers(&glob("*.gslb.example.com")));
        assert!(glob("*.example.com").covers(&glob("www.example.com")));
        assert!(!glob("?.example.com").covers(&glob("*.example.com")));
        assert!(!glob("www.example.com").covers(&glob("*.example.com")));
    }

    proptest! {
        #[test]
        fn the_matcher_agrees_with_a_recursive_one(pattern in "[ab?*]{0,8}", text in "[ab]{0,10}") {
            fn slow(pattern: &[u8], text: &[u8]) -> bool {
                match (pattern, text) {
                    ([], []) => true,
                    ([b'*', rest @ ..], _) => slow(rest, text) || text.split_first().is_some_and(|(_, text)| slow(pattern, text)),
                    ([wanted, rest @ ..], [byte, text @ ..]) => (*wanted == b'?' || wanted == byte) && slow(rest, text),
                    _ => false,
                }
            }
            prop_assert_eq!(glob(&pattern).matches(&text), slow(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn what_a_covered_glob_matches_the_wider_one_matches(wide in "[ab?*]{0,6}", narrow in "[ab?*]{0,6}", text in "[ab]{0,8}") {
            let (wide, narrow) = (glob(&wide), glob(&narrow));
            prop_assert!(!(wide.covers(&narrow) && narrow.matches(&text)) || wide.matches(&text));
        }
    }
}
