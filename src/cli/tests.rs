//! What may be typed, and what verbs say: against a real listener, and against files.

use std::path::Path;

use serde_json::Value;

use super::args::{Args, Verb};
use super::*;
use crate::control::operate::RefusalKind;
use crate::serve::admin::fixture::{self, Running};

/// Parses a line as a shell without expansions would.
fn parse(line: &str) -> Result<Args, clap::Error> {
    let mut words = Vec::new();
    let mut quoted = false;
    for part in line.split('\'') {
        if quoted {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
        quoted = !quoted;
    }
    Args::read(words)
}

/// What a line says, run as [`run`] runs it.
fn verb(line: &str) -> Result<Said, Failure> {
    let args = parse(line).unwrap_or_else(|error| panic!("{error}"));
    let context = Context { config: args.config, server: args.server, json: args.json };
    perform(&context, args.verb)
}

/// Runs a line against a listener, on a thread of its own: a verb brings its own runtime.
async fn ask(server: &Running, line: &str) -> Result<Said, Failure> {
    // As main does; the client does not start without a TLS provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let line = format!("{line} --server {}", server.addr);
    tokio::task::spawn_blocking(move || verb(&line)).await.unwrap()
}

#[test]
fn the_definition_is_sound_and_every_example_in_the_help_parses() {
    Args::definition().debug_assert();
    let mut command = Args::definition();
    command.build();
    let mut examples = 0;
    for command in command.get_subcommands().chain([&command]) {
        if command.get_name() == "help" {
            continue;
        }
        let help = command
            .get_after_help()
            .unwrap_or_else(|| panic!("{} has examples", command.get_name()))
            .to_string();
        for line in help.lines().filter_map(|line| line.strip_prefix("  waypost ")) {
            // Remarks stand behind several blanks; pipes and what follows them are the shell's.
            let line = line.split("   ").next().unwrap_or_default();
            let line = line.split([';', '|', '>', '&']).next().unwrap_or_default();
            if let Err(error) = parse(&format!("waypost {line}")) {
                panic!("{line}: {error}");
            }
            examples += 1;
        }
    }
    assert!(examples > 25, "{examples} examples");
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    for line in [
        "waypost",
        "waypost frobnicate",
        "waypost drain",
        "waypost drain cn",
        "waypost force eu sideways --reason x",
        "waypost explain www.example.com",
        "waypost explain www.example.com --client 192.0.2.1 --offline --server 127.0.0.1:1",
        "waypost demo --break cn --mend cn",
        "waypost completions sh",
        "waypost status --chekc",
    ] {
        let error = parse(line).unwrap_err();
        assert!(error.use_stderr(), "{line}");
    }
    for line in ["waypost --help", "waypost drain --help", "waypost --version", "waypost status --version"] {
        assert!(!parse(line).unwrap_err().use_stderr(), "{line} is no error");
    }
}

#[test]
fn a_usage_error_begins_as_every_other_error_of_this_program() {
    let text = usage_text(&parse("waypost drain").unwrap_err());
    assert!(text.starts_with("waypost: the following required arguments"), "{text}");
    assert!(text.contains("Usage: waypost drain"), "{text}");
}

#[test]
fn the_running_servers_address_is_in_the_help_of_verbs_that_ask_it_and_of_no_other() {
    for (verb, asks) in
        [("status", true), ("explain", true), ("demo", true), ("check", false), ("serve", false)]
    {
        let help = parse(&format!("waypost {verb} --help")).unwrap_err().to_string();
        assert_eq!(help.contains("--server"), asks, "{verb}: {help}");
        assert!(help.contains("--config"), "{verb}: {help}");
    }
    let args = parse("waypost status --server 192.0.2.1:80").unwrap();
    assert_eq!(args.server.as_deref(), Some("192.0.2.1:80"));
}

#[test]
fn options_for_all_verbs_may_stand_before_and_behind() {
    let before = parse("waypost --json --config a.toml status").unwrap();
    let behind = parse("waypost status --json --config a.toml").unwrap();
    for args in [before, behind] {
        assert!(args.json && args.config.as_deref() == Some(Path::new("a.toml")));
        assert!(matches!(args.verb, Verb::Status(_)));
    }
}

#[tokio::test]
async fn status_is_a_table_a_line_and_a_document() {
    let server = fixture::start().await;
    let text = ask(&server, "waypost status").await.unwrap().out;
    for part in
        ["ns1: answering", "us    cn → eu", "cn      www.gslb.example.com  healthy", "0 of 4 checks up"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let check = ask(&server, "waypost status --check").await.unwrap();
    assert_eq!((check.out.starts_with("OK: 3 regions healthy"), check.exit), (true, Exit::DONE));
    server.set_ready(false);
    let check = ask(&server, "waypost status --check").await.unwrap();
    assert_eq!((check.out.as_str(), check.exit), ("BAD: not answering yet\n", Exit::BAD));
    let document: Value =
        serde_json::from_str(&ask(&server, "waypost status --json").await.unwrap().out).unwrap();
    assert_eq!(document["node"], "ns1");
}

#[tokio::test]
async fn explain_reads_the_same_from_the_server_and_from_the_files() {
    let server = fixture::start().await;
    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("waypost.toml");
    std::fs::write(&config, fixture::config_text()).unwrap();
    let question = "waypost explain www.gslb.example.com --client 114.114.114.0/24 --down cn";
    let online = ask(&server, question).await.unwrap();
    let offline = verb(&format!("{question} --offline --config {}", config.display())).unwrap();
    assert_eq!(online.out, offline.out);
    assert!(online.out.contains("decision  eu (fallback)"), "{}", online.out);
    assert!(offline.notes[0].contains("no saved health"), "{:?}", offline.notes);
    assert!(!files.path().join("state").exists(), "nothing is written");

    let unserved = ask(&server, "waypost explain nope.example.org --client 192.0.2.1").await.unwrap_err();
    assert_eq!(unserved.exit, Exit::BAD);
    assert!(unserved.text.contains("no zone holds it"), "{unserved:?}");
    let no_name = ask(&server, "waypost explain nope.gslb.example.com --client 192.0.2.1").await.unwrap_err();
    assert!(no_name.text.contains("does not exist in the zone gslb.example.com"), "{no_name:?}");
    let nonsense = ask(&server, "waypost explain www.gslb.example.com --client hello").await.unwrap_err();
    assert_eq!(nonsense.exit, Exit::USAGE);
}

#[tokio::test]
async fn an_order_reaches_the_server_whole_and_says_what_it_did() {
    let server = fixture::start().await;
    let line = "waypost drain cn --service '*.shop.example.com' --from 2026-12-01T04:00:00Z --for 2h --reason 'a b' --force";
    let said = ask(&server, line).await.unwrap();
    assert_eq!(said.out, "drain cn\nlive from serial 7 on\nnobody moves\nwarning: so it is\n");
    let asked = server.operator.asked().remove(0);
    let want = r#"drain {"region":"cn","service":"*.shop.example.com","from":"2026-12-01T04:00:00Z","for":"2h","reason":"a b","dry_run":false,"force":true} by "#;
    assert!(asked.starts_with(want), "{asked}");
    for (line, want) in [
        ("waypost force eu down --reason x", r#"force {"region":"eu","reason":"x","state":"down""#),
        ("waypost undrain cn", r#"undrain {"region":"cn","#),
        ("waypost unforce cn", r#"unforce {"region":"cn","#),
        ("waypost release us", "release us by "),
        ("waypost reload --accept-geo", "reload true false by "),
    ] {
        ask(&server, line).await.unwrap();
        let asked = server.operator.asked();
        assert!(asked.last().unwrap().starts_with(want), "{asked:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_an_exit_code_with_what_would_have_moved() {
    let server = fixture::start().await;
    server.operator.refuse(RefusalKind::Guard, "no region would be left");
    let refused = ask(&server, "waypost drain cn --dry-run --json").await.unwrap_err();
    assert_eq!(refused.exit, Exit::GUARD);
    assert!(
        refused.text.contains("no region would be left") && refused.text.contains("cn → eu"),
        "{}",
        refused.text
    );
    assert_eq!(refused.hint, "think again");
    assert_eq!(refused.document.unwrap()["type"], "urn:waypost:guard");
    server.operator.refuse(RefusalKind::NothingToDo, "a wider drain still holds");
    assert_eq!(ask(&server, "waypost undrain cn").await.unwrap_err().exit, Exit::BAD);
}

#[tokio::test]
async fn a_probe_that_fails_is_exit_1() {
    let server = fixture::start().await;
    let good = ask(&server, "waypost probe web --region eu").await.unwrap();
    assert_eq!(good.exit, Exit::DONE);
    assert!(good.out.contains("eu") && good.out.contains("connect 3"), "{}", good.out);
    assert_eq!(ask(&server, "waypost probe bad").await.unwrap().exit, Exit::BAD);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_exit_3() {
    let server = fixture::start().await;
    server.stop.send(true).unwrap();
    let addr = server.addr;
    server.served.await.unwrap();
    for line in ["waypost status", "waypost drain cn --reason x", "waypost reload"] {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let line = format!("{line} --server {addr}");
        let failure = tokio::task::spawn_blocking(move || verb(&line)).await.unwrap().unwrap_err();
        assert_eq!(failure.exit, Exit::UNREACHABLE, "{}", failure.text);
        assert!(failure.text.contains(&addr.to_string()) && failure.hint.contains("--server"), "{failure:?}");
    }
}

#[test]
fn an_order_without_a_server_goes_into_the_admin_file_and_says_that_it_is_not_live() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("waypost.toml");
    // Orders need no DNS, and a geo file takes its time to compile.
    let text = fixture::config_text();
    let (before, rest) = text.split_once("[geo]").unwrap();
    let (_, after) = rest.split_once("[[probes]]").unwrap();
    std::fs::write(&config, format!("{before}[[probes]]{after}")).unwrap();
    let admin_file = || std::fs::read_to_string(files.path().join("admin.toml")).unwrap_or_default();
    let drain = |rest: &str| verb(&format!("waypost drain {rest} --config {}", config.display()));

    assert_eq!(drain("cn --dry-run").unwrap().exit, Exit::DONE);
    assert_eq!(admin_file(), "", "a dry run writes nothing");
    let said = drain("cn --reason 'no power'").unwrap();
    assert_eq!(said.exit, Exit::UNREACHABLE);
    assert!(said.notes.iter().any(|note| note.contains("not live yet")), "{:?}", said.notes);
    assert!(admin_file().contains("no power"));
    // api has no addresses in eu: cn and us both out leave nobody.
    let refused = drain("us --reason x").unwrap_err();
    assert_eq!(refused.exit, Exit::GUARD, "{refused:?}");
    assert_eq!(admin_file().matches("[[drain]]").count(), 1);

    // A server that was named is meant, and not the files of this machine.
    let elsewhere = drain("cn --reason 'elsewhere' --server 127.0.0.1:1").unwrap_err();
    assert_eq!(elsewhere.exit, Exit::UNREACHABLE);
    assert!(!admin_file().contains("elsewhere"));
}

#[test]
fn check_sums_up_what_it_read_and_tells_every_error_at_once() {
    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("waypost.toml");
    let zones = files.path().join("zones");
    std::fs::create_dir(&zones).unwrap();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/zones/gslb.example.com.zone");
    let zone = std::fs::read_to_string(shipped).unwrap() + "@ NS ns9\n$INCLUDE hosts.inc\n";
    std::fs::write(zones.join("gslb.example.com.zone"), zone).unwrap();
    std::fs::write(zones.join("hosts.inc"), "host9 300 A 192.0.2.9\n").unwrap();
    let own_zones = format!("{}\"", zones.display());
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/zones\"");
    std::fs::write(&config, fixture::config_text().replace(shipped, &own_zones)).unwrap();
    let check = format!("waypost check --config {}", config.display());
    let good = verb(&check).unwrap();
    assert_eq!(good.exit, Exit::DONE);
    for part in [
        "valid\n",
        "gslb.example.com  2026100601",
        "eu    cn → us",
        "checks             4",
        "decisions checked  192",
        "zones/hosts.inc\n",
    ] {
        assert!(good.out.contains(part), "{part:?} in\n{}", good.out);
    }
    let warning = format!("warning: {}/gslb.example.com.zone:", zones.display());
    assert_eq!((good.out.matches("warning").count(), good.out.contains(&warning)), (1, true), "{}", good.out);
    let document: Value = serde_json::from_str(&verb(&format!("{check} --json")).unwrap().out).unwrap();
    assert_eq!((&document["valid"], &document["fallback"]["us"][0]), (&true.into(), &"cn".into()));

    // The admin file's errors and those of what the configuration names come together.
    std::fs::write(files.path().join("admin.toml"), "[[drain]]\nregion = \"uk\"\nreason = \"x\"\n").unwrap();
    let wrong = fixture::config_text().replace("/zones\"", "/nowhere\"").replace(".mmdb\"", ".mdbm\"");
    std::fs::write(&config, &wrong).unwrap();
    let bad = verb(&format!("{check} --json")).unwrap();
    assert_eq!(bad.exit, Exit::BAD);
    let document: Value = serde_json::from_str(&bad.out).unwrap();
    assert_eq!((&document["valid"], document["errors"].as_array().map(Vec::len)), (&false.into(), Some(3)));
    assert!(bad.notes[0].contains("nowhere") && bad.notes[0].contains("uk"), "{:?}", bad.notes);
    for (key, wrong_name) in [("dns.zones", "nowhere"), ("geo.database", ".mdbm")] {
        let line = wrong.lines().position(|line| line.contains(wrong_name)).unwrap() + 1;
        let (place, remedy) = (format!("waypost.toml:{line}:"), "hint: is the name right?");
        let told = document["errors"].as_array().unwrap().iter().filter_map(Value::as_str);
        let mut of_key = told.filter(|told| told.contains(key));
        assert!(of_key.any(|told| told.contains(&place) && told.contains(remedy)), "{key}: {document:#}");
    }
    assert_eq!(bad.notes[1], "waypost: 3 errors");
    assert!(!files.path().join("state").exists(), "nothing is written");
}

#[test]
fn geo_says_what_places_an_address() {
    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("waypost.toml");
    std::fs::write(&config, fixture::config_text()).unwrap();
    let geo = |client: &str| verb(&format!("waypost geo {client} --json --config {}", config.display()));
    let document: Value = serde_json::from_str(&geo("114.114.114.114").unwrap().out).unwrap();
    assert_eq!((&document["home"], &document["by"]), (&"cn".into(), &"continent".into()));
    assert!(document["scope"].as_u64().unwrap() > 0, "an address has a block around it, too: {document}");
    assert_eq!(geo("hello").unwrap_err().exit, Exit::USAGE);
}

#[test]
fn a_configuration_that_is_not_there_is_named() {
    for line in ["check", "geo 192.0.2.1", "explain a.example --client ::1 --offline", "status"] {
        let failure = verb(&format!("waypost {line} --config /nowhere/at/all.toml")).unwrap_err();
        assert_eq!(failure.exit, Exit::BAD, "{line}");
        assert!(failure.text.contains("/nowhere/at/all.toml"), "{line}: {}", failure.text);
        assert!(failure.hint.contains("--config FILE"), "{line}: {failure:?}");
    }
}

#[test]
fn completions_know_the_verbs() {
    let script = verb("waypost completions bash").unwrap().out;
    for verb in ["drain", "explain", "replay", "completions"] {
        assert!(script.contains(verb));
    }
}
