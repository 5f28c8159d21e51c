//! What is in force when, and what commands make of the file.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::region::Regions;

const SERVICES: [&str; 2] = ["www.gslb.example.com", "api.gslb.example.com"];
/// 2026-12-01T00:00:00Z.
const NOON_MS: i64 = 1_796_083_200_000;
const HOUR_MS: i64 = 3_600_000;

fn regions() -> Regions {
    Regions::new(["cn", "eu", "us"]).unwrap()
}

fn parse(text: &str) -> AdminFile {
    AdminFile::parse(text, Path::new("admin.toml"), &regions(), &SERVICES, NOON_MS).unwrap()
}

fn entry<'e>(region: &'e str, service: Option<&'e str>) -> NewEntry<'e> {
    NewEntry { region, service, from_ms: None, until_ms: None, reason: "maintenance" }
}

fn region(name: &str) -> RegionId {
    regions().find(name).unwrap()
}

#[test]
fn a_drain_holds_from_its_beginning_and_no_longer_at_its_end() {
    let file =
        parse("[[drain]]\nregion = \"cn\"\nfrom = 2026-12-01T01:00:00Z\nuntil = 2026-12-01T10:00:00+08:00\n");
    let at = |ms| file.in_force(region("cn"), SERVICES[0], ms);
    assert_eq!((at(NOON_MS).drained, at(NOON_MS).next_change_ms), (None, Some(NOON_MS + HOUR_MS)));
    assert!(at(NOON_MS + HOUR_MS).drained.is_some());
    assert_eq!(at(NOON_MS + HOUR_MS).next_change_ms, Some(NOON_MS + 2 * HOUR_MS));
    assert_eq!(at(NOON_MS + 2 * HOUR_MS), InForce::default());
    assert_eq!(file.in_force(region("eu"), SERVICES[0], NOON_MS + HOUR_MS), InForce::default());
}

#[test]
fn forced_down_goes_before_forced_up_and_a_drain_before_both() {
    let up = "[[force]]\nregion = \"cn\"\nstate = \"up\"\n";
    let down = "[[force]]\nregion = \"cn\"\nstate = \"down\"\nservice = \"WWW.*.\"\n";
    let drain = "[[drain]]\nregion = \"cn\"\n";
    let file = parse(&format!("{up}{down}{drain}"));
    let www = file.in_force(region("cn"), SERVICES[0], NOON_MS);
    assert_eq!((www.drained.is_some(), www.forced.map(|(_, forced)| forced)), (true, Some(Forced::Down)));
    let api = file.in_force(region("cn"), SERVICES[1], NOON_MS);
    assert_eq!(api.forced.map(|(entry, forced)| (entry.line, forced)), Some((1, Forced::Up)));
}

#[test]
fn an_entry_that_has_ended_is_inert_and_warned_about() {
    let file = parse("[[drain]]\nregion = \"cn\"\nuntil = 2026-11-30T00:00:00Z\n");
    assert_eq!(file.warnings.len(), 1);
    assert_eq!(file.in_force(region("cn"), SERVICES[0], NOON_MS), InForce::default());
}

#[test]
fn a_file_with_only_comments_clears_everything() {
    assert_eq!(parse("# nothing\n"), AdminFile::default());
}

#[test]
fn an_emergency_of_the_split_does_not_take_the_drains_along() {
    let file = parse("[[emergency]]\nreason = \"bad push\"\n[[drain]]\nregion = \"eu\"\n");
    assert_eq!((file.drains.len(), file.warnings.len()), (1, 1));
}

#[test]
fn a_file_of_nothing_but_mistakes_gets_the_first_hundred_and_the_number_of_the_others() {
    let text = "= = =\n".repeat(5_000);
    let found = AdminFile::parse(&text, Path::new("admin.toml"), &regions(), &SERVICES, NOON_MS).unwrap_err();
    assert_eq!(found.len(), 101);
    let last = found[100].one_line();
    assert!(last.starts_with("admin.toml: error: ") && last.ends_with("more are not shown"), "{last}");
    assert!(crate::config::render(&found, &text, false).contains("more are not shown"));
}

const COMMENTED: &str = "\
# Operators' file. Talk to the network team first.

# Ticket 17: the upgrade.
[[drain]]
region = \"cn\" # all of it
reason = \"upgrade\"

# About forces.

[[force]]
region = \"eu\"
state = \"up\"

# The end.
";

#[test]
fn a_drain_that_is_taken_out_takes_its_own_comments_along_and_no_others() {
    let removal = remove_drain(COMMENTED, "cn", None, NOON_MS).unwrap();
    let expected = "\
# Operators' file. Talk to the network team first.

# About forces.

[[force]]
region = \"eu\"
state = \"up\"

# The end.
";
    assert_eq!((removal.text.as_str(), removal.removed), (expected, 1));
    let removal = remove_force(COMMENTED, "eu", None, NOON_MS).unwrap();
    assert!(
        removal.text.contains("# About forces.\n") && removal.text.contains("# The end.\n"),
        "{}",
        removal.text
    );
    assert!(removal.text.contains("region = \"cn\" # all of it\n"));
}

#[test]
fn a_drain_is_added_behind_everything_else_and_comments_stay_above() {
    let text =
        add_drain("# Only comments.\n", NewEntry { until_ms: Some(NOON_MS), ..entry("cn", None) }).unwrap();
    let expected = "# Only comments.\n\n[[drain]]\nregion = \"cn\"\nuntil = 2026-12-01T00:00:00Z\nreason = \"maintenance\"\n";
    assert_eq!(text, expected);
    let text = add_force(&text, entry("us", Some("www.*")), Forced::Down).unwrap();
    let expected = format!(
        "{expected}\n[[force]]\nregion = \"us\"\nstate = \"down\"\nservice = \"www.*\"\nreason = \"maintenance\"\n"
    );
    assert_eq!(text, expected);
    let text = add_drain(COMMENTED, entry("us", None)).unwrap();
    assert!(text.starts_with(COMMENTED.trim_end()), "{text}");
    assert_eq!(parse(&text).drains.len(), 2);
}

#[test]
fn a_drain_neither_begins_nor_ends_before_it_was_said_to() {
    let (from_ms, until_ms) = (Some(NOON_MS + 1), Some(NOON_MS + 1_500));
    let text = add_drain("# Only comments.\n", NewEntry { from_ms, until_ms, ..entry("cn", None) }).unwrap();
    let drain = &parse(&text).drains[0];
    assert_eq!((drain.from_ms, drain.until_ms), (Some(NOON_MS + 1_000), Some(NOON_MS + 2_000)));
}

#[test]
fn a_drain_of_the_same_region_and_service_is_replaced() {
    let first = add_drain("", entry("cn", Some("www.gslb.example.com"))).unwrap();
    let again = NewEntry { reason: "longer", ..entry("cn", Some("WWW.gslb.example.com.")) };
    let text = add_drain(&first, again).unwrap();
    let file = parse(&text);
    assert_eq!(file.drains.iter().map(|drain| drain.reason.as_str()).collect::<Vec<_>>(), ["longer"]);
    let both = add_drain(&text, entry("cn", None)).unwrap();
    assert_eq!(parse(&both).drains.len(), 2);
}

#[test]
fn draining_and_undraining_again_and_again_does_not_make_the_file_longer() {
    let once = |text: &str| {
        let drained = add_drain(text, entry("cn", None)).unwrap();
        remove_drain(&drained, "cn", None, NOON_MS).unwrap().text
    };
    for text in ["# Nothing is drained or forced.\n", "# kept\n\n[[drain]]\nregion = \"eu\"\n"] {
        let second = once(&once(text));
        assert_eq!(once(&second), second);
    }
}

#[test]
fn undrain_names_the_wider_drain_that_still_holds() {
    let text = add_drain("", entry("cn", Some("*.gslb.example.com"))).unwrap();
    let removal = remove_drain(&text, "cn", Some("www.gslb.example.com"), NOON_MS).unwrap();
    assert_eq!((removal.removed, removal.text.as_str()), (0, text.as_str()));
    let wider = Wider { service: Some("*.gslb.example.com".into()), reason: "maintenance".into() };
    assert_eq!(removal.wider, [wider]);

    let over = NewEntry { until_ms: Some(NOON_MS), ..entry("cn", None) };
    let removal = remove_drain(&add_drain("", over).unwrap(), "cn", Some("www.*"), NOON_MS).unwrap();
    assert_eq!(removal.wider, [], "one that has ended holds nobody");
}

#[test]
fn the_last_entry_leaves_a_file_that_is_not_empty() {
    let text = add_drain("", entry("cn", None)).unwrap();
    let removal = remove_drain(&text, "cn", None, NOON_MS).unwrap();
    assert_eq!(parse(&removal.text), AdminFile::default());
}

#[test]
fn what_cannot_be_edited_is_said() {
    assert!(matches!(add_drain("[[drain\n", entry("cn", None)), Err(EditError::Syntax(1, _))));
    let inline = "drain = [{ region = \"cn\" }]\n";
    assert_eq!(add_drain(inline, entry("eu", None)), Err(EditError::Inline("drain")));
    assert_eq!(parse(inline).drains.len(), 1);
}

fn some_file() -> impl Strategy<Value = String> {
    let entry =
        ("cn|eu|us", any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(region, force, own, apart)| {
            let (kind, state) = if force { ("force", "state = \"up\"\n") } else { ("drain", "") };
            let apart = if apart { "# apart\n\n" } else { "" };
            let own = if own { "# own\n" } else { "" };
            format!("{apart}{own}[[{kind}]]\nregion = \"{region}\"\n{state}\n")
        });
    prop::collection::vec(entry, 0..5).prop_map(|entries| format!("# head\n\n{}", entries.concat()))
}

proptest! {
    #[test]
    fn an_edit_keeps_every_comment_that_is_not_the_entrys_own(text in some_file(), name in "cn|eu|us") {
        let count = |text: &str, word: &str| text.matches(word).count();
        let before = parse(&text);
        let removal = remove_drain(&text, &name, None, NOON_MS).unwrap();
        let after = parse(&removal.text);
        prop_assert_eq!(before.drains.len() - removal.removed, after.drains.len());
        prop_assert_eq!(before.forces.len(), after.forces.len());
        prop_assert!(after.drains.iter().all(|drain| drain.region != region(&name)));
        prop_assert_eq!(count(&text, "# apart"), count(&removal.text, "# apart"));
        prop_assert_eq!(count(&removal.text, "# head"), 1);

        let added = add_drain(&removal.text, entry(&name, None)).unwrap();
        prop_assert_eq!(count(&text, "# apart"), count(&added, "# apart"));
        prop_assert_eq!(parse(&added).drains.len(), after.drains.len() + 1);
        let back = remove_drain(&added, &name, None, NOON_MS).unwrap();
        prop_assert_eq!(parse(&back.text).drains.len(), after.drains.len());
    }

    #[test]
    fn no_text_upsets_the_reading_of_the_file(text in "\\PC{0,60}\n?") {
        let _ = AdminFile::parse(&text, Path::new("admin.toml"), &regions(), &SERVICES, NOON_MS);
        let _ = add_drain(&text, entry("cn", None));
    }
}
