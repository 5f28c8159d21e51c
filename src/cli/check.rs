//! What `waypost check` prints.

use std::fmt::Write as _;

use crate::region::Regions;

/// The fallback order written out for each home: who is tried, in order, when home can't serve. The declared list is
/// scanned from its start for everybody, which a short list lets people misread as a rotation.
pub fn fallback_table(regions: &Regions) -> String {
    let width =
        regions.iter().map(|region| regions.name(region).len()).max().unwrap_or_default().max("home".len());
    let mut out = format!("{:width$}  then, in this order\n", "home");
    for home in regions.iter() {
        let others: Vec<&str> = regions.fallback_of(home).map(|region| regions.name(region)).collect();
        let others = if others.is_empty() { "nobody".to_owned() } else { others.join(", ") };
        let _ = writeln!(out, "{:width$}  {others}", regions.name(home));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_that_every_home_scans_from_the_start() {
        let regions = Regions::new(["cn", "eu", "us"]).unwrap();
        let expected = "home  then, in this order\ncn    eu, us\neu    cn, us\nus    cn, eu\n";
        assert_eq!(fallback_table(&regions), expected);
    }

    #[test]
    fn a_lone_region_has_nobody() {
        let regions = Regions::new(["europe-west"]).unwrap();
        assert_eq!(fallback_table(&regions), "home         then, in this order\neurope-west  nobody\n");
    }
}
