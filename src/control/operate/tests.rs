//! Orders: previews, the guard, what makes no sense. Against a configuration with loads and capacities.

use super::*;
use crate::control::load::parse;
use crate::health::Mono;

const CONFIG: &str = r#"
version = 1
[routing]
fallback = ["cn", "eu", "us"]
[regions.cn]
load = 20000
capacity = 50000
[regions.eu]
load = 10000
capacity = 25000
[regions.us]
load = 30000
capacity = 60000
[[services]]
name = "www.gslb.example.com"
requires = []
[services.endpoints]
cn = ["192.0.2.11"]
eu = ["198.51.100.11"]
us = ["203.0.113.11"]
[[services]]
name = "api.gslb.example.com"
requires = []
[services.endpoints]
cn = ["192.0.2.12"]
eu = ["198.51.100.12"]
"#;

const NOW: Now = Now { mono: Mono(0), wall_ms: 1_796_000_000_000 };

fn give(base: &str, verb: Verb, order: &Order) -> Result<Prepared, Refusal> {
    let config = parse(CONFIG, Path::new("waypost.toml")).unwrap();
    let plan = Plan::of(&config);
    let path = Path::new("admin.toml");
    let orders =
        if base.is_empty() { AdminFile::default() } else { parse_orders(base, path, &config, 0).unwrap() };
    let inputs = Inputs::new(&plan, orders);
    prepare(verb, order, Ground { base, path, config: &config, plan: &plan, inputs: &inputs, now: NOW })
}

fn order(region: &str) -> Order {
    Order { region: region.to_owned(), reason: "test".to_owned(), ..Order::default() }
}

#[test]
fn a_drain_says_who_moves_where_and_what_each_region_then_carries() {
    let drained = give("", Verb::Drain, &order("eu")).unwrap();
    let moves: Vec<String> = drained
        .preview
        .moves
        .iter()
        .map(|m| format!("{} {}: {}>{}", m.service, m.home, m.from, m.to))
        .collect();
    assert!(moves.contains(&"www.gslb.example.com eu: eu>cn".to_owned()), "{moves:?}");
    assert_eq!(drained.preview.share_moved, Some(10_000.0 / 60_000.0));
    let cn = drained.preview.regions["cn"];
    // api has nothing in us: its users from there are cn's already, half of us's load.
    assert_eq!((cn.load, cn.capacity), (Some(45_000.0), Some(50_000)));
}

#[test]
fn a_drain_that_the_rest_cannot_carry_is_refused_and_can_be_insisted_on() {
    let refusal = give("", Verb::Drain, &order("cn")).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Guard);
    assert!(
        refusal.text.contains("eu would have to carry 45000 requests/s, and can carry 25000"),
        "{}",
        refusal.text
    );
    assert!(refusal.preview.is_some());
    let dry = Order { dry_run: true, ..order("cn") };
    assert_eq!(give("", Verb::Drain, &dry).unwrap_err().kind, RefusalKind::Guard, "a dry run says so, too");

    let insisted = give("", Verb::Drain, &Order { force: true, ..order("cn") }).unwrap();
    assert!(insisted.warnings.iter().any(|warning| warning.contains("eu would have to carry")));
}

#[test]
fn the_last_able_region_of_one_service_alone_is_reason_enough_to_refuse() {
    let eu_drained = "[[drain]]\nregion = \"eu\"\nservice = \"api.*\"\n";
    let refusal = give(eu_drained, Verb::Drain, &order("cn")).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Guard);
    assert!(refusal.text.contains("no region would be left that is able to serve api.gslb.example.com"));
    let forced = Order { state: Some("down".into()), ..order("cn") };
    assert_eq!(give(eu_drained, Verb::Force, &forced).unwrap_err().kind, RefusalKind::Guard);
}

#[test]
fn a_region_that_carries_too_much_already_is_no_reason_to_refuse_what_adds_nothing() {
    let cn_drained = "[[drain]]\nregion = \"cn\"\n";
    let again = give(cn_drained, Verb::Drain, &order("cn")).unwrap();
    assert_eq!((again.preview.moves.len(), again.preview.refusals.len()), (0, 0));
    assert_eq!(again.preview.regions["eu"].load, Some(45_000.0), "more than its capacity, as before");
}

#[test]
fn the_preview_of_a_scheduled_drain_is_of_the_moment_at_which_it_begins() {
    let later = Order { from: Some("2099-01-01T00:00:00Z".into()), ..order("eu") };
    let drained = give("", Verb::Drain, &later).unwrap();
    assert!(!drained.preview.moves.is_empty());
    assert!(drained.text.contains("from = 2099-01-01T00:00:00Z"), "{}", drained.text);
}

#[test]
fn a_drain_that_would_meet_a_scheduled_one_is_weighed_at_that_moment_too() {
    let later = "[[drain]]\nregion = \"cn\"\nservice = \"api.*\"\nfrom = 2099-01-01T00:00:00Z\n";
    let api = |order: Order| Order { service: Some("api.*".into()), ..order };
    // One that has ended by then does not meet it.
    let short = api(Order { lasting: Some("2h".into()), ..order("eu") });
    assert!(give(later, Verb::Drain, &short).is_ok());
    let refusal = give(later, Verb::Drain, &api(order("eu"))).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Guard);
    let text =
        "from 2099-01-01T00:00:00Z on no region would be left that is able to serve api.gslb.example.com";
    assert!(refusal.text.contains(text), "{}", refusal.text);
}

#[test]
fn an_order_has_an_end_when_it_is_to_last() {
    let drained = give("", Verb::Drain, &Order { lasting: Some("2h".into()), ..order("eu") }).unwrap();
    assert_eq!(drained.file.drains[0].until_ms, Some(NOW.wall_ms + 7_200_000));
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    let cases = [
        (Verb::Drain, order("ap"), "unknown region `ap`", "regions: cn, eu, us"),
        (
            Verb::Drain,
            Order { service: Some("shop.*".into()), ..order("cn") },
            "no service matches `shop.*`",
            "services: www.gslb.example.com, api.gslb.example.com",
        ),
        (
            Verb::Drain,
            Order { from: Some("tomorrow".into()), ..order("eu") },
            "`tomorrow` is not a moment",
            "write it with its offset: 2026-12-01T04:00:00Z",
        ),
        (
            Verb::Drain,
            Order { lasting: Some("2 hours".into()), ..order("eu") },
            "`2 hours` is not a duration",
            "write it like 2h or 90m",
        ),
        (
            Verb::Drain,
            Order { from: Some("2020-01-01T00:00:00Z".into()), lasting: Some("1h".into()), ..order("eu") },
            "it would have ended already",
            "`from` plus `for` must lie in the future",
        ),
        (Verb::Force, order("eu"), "a force needs a state", "up or down"),
    ];
    for (verb, order, text, hint) in cases {
        let refusal = give("", verb, &order).unwrap_err();
        assert_eq!((refusal.kind, &*refusal.text, &*refusal.hint), (RefusalKind::BadRequest, text, hint));
    }
}

#[test]
fn an_undrain_of_what_a_wider_drain_holds_says_which() {
    let wide = "[[drain]]\nregion = \"eu\"\n";
    let exact = Order { service: Some("www.*".into()), ..order("eu") };
    let refusal = give(wide, Verb::Undrain, &exact).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::NothingToDo);
    assert!(refusal.text.contains("a drain of eu for every service still holds"), "{}", refusal.text);
    let nothing = give("", Verb::Undrain, &order("eu")).unwrap_err();
    assert_eq!((nothing.kind, nothing.kind.exit_code()), (RefusalKind::NothingToDo, 1));
    let undone = give(wide, Verb::Undrain, &order("eu")).unwrap();
    assert!(undone.still.is_empty());

    let both = format!("{wide}[[drain]]\nregion = \"eu\"\nservice = \"www.*\"\n");
    let undone = give(&both, Verb::Undrain, &exact).unwrap();
    assert_eq!(undone.still, ["a drain of eu for every service still holds"]);
    assert_eq!(undone.file.drains.len(), 1, "what was named is taken out all the same");
    assert!(undone.preview.moves.is_empty(), "and moves nobody yet");
}

#[test]
fn a_reload_that_takes_most_services_away_is_refused() {
    let config = |text: &str| parse(text, Path::new("waypost.toml")).unwrap();
    let half = CONFIG.split("[[services]]\nname = \"api").next().unwrap().to_owned();
    let refusal = too_many_removed(&config(CONFIG), &config(&half)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Guard);
    assert!(too_many_removed(&config(CONFIG), &config(CONFIG)).is_ok());
}

#[test]
fn a_scheduled_drain_that_ends_the_one_in_force_says_so() {
    let now = "[[drain]]\nregion = \"eu\"\n";
    let later = Order { from: Some("2099-01-01T00:00:00Z".into()), ..order("eu") };
    let ended = |base: &str, order: &Order| {
        let warnings = give(base, Verb::Drain, order).unwrap().warnings;
        warnings.iter().any(|warning| warning.contains("that holds now, which ends at once"))
    };
    assert!(ended(now, &later));
    assert!(!ended(now, &order("eu")), "it is drained before and after");
    assert!(!ended("", &later));
    assert!(!ended(now, &Order { service: Some("api.*".into()), ..later }), "another entry");
}
