//! Files with something wrong in them, each with the exact message that people see.
//!
//! `tests/config/NAME.toml` is read, and what is said about it has to be `NAME.txt`; `admin_*.toml` are admin files.
//! A new case is written by running with `UPDATE=1`, and then read by a person before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use waypost::config::admin::AdminFile;
use waypost::config::{Answers, Config, Diagnostic, Severity, render};
use waypost::region::Regions;

/// 2026-12-01T00:00:00Z.
const NOW_MS: i64 = 1_796_083_200_000;

/// At least so many files are refused.
const LEAST: usize = 60;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn parse(text: &str, path: &Path) -> Result<Config, Vec<Diagnostic>> {
    let env = |name: &str| (name == "TOKEN").then(|| "s3cr3t".to_owned());
    Config::parse(text, path, &env, "ns1.example.com")
}

#[allow(clippy::unwrap_used)] // The lint's exception for tests does not reach their helpers.
fn parse_admin(text: &str, path: &Path) -> Result<AdminFile, Vec<Diagnostic>> {
    let regions = Regions::new(["cn", "eu", "us"]).unwrap();
    AdminFile::parse(text, path, &regions, &["www.gslb.example.com", "api.gslb.example.com"], NOW_MS)
}

/// What is said about a file, and whether it is refused.
fn said_about(name: &str, text: &str) -> (bool, Vec<Diagnostic>) {
    if name.starts_with("admin_") {
        match parse_admin(text, Path::new("admin.toml")) {
            Ok(file) => (false, file.warnings),
            Err(found) => (true, found),
        }
    } else {
        match parse(text, Path::new("waypost.toml")) {
            Ok(config) => (false, config.warnings),
            Err(found) => (true, found),
        }
    }
}

#[test]
fn every_bad_file_gets_its_exact_message() {
    let mut refused = 0;
    let mut different = Vec::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(root("tests/config")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|ext| ext == "toml")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        let (bad, found) = said_about(name, &text);
        assert!(!found.is_empty(), "{name}: nothing is said");
        assert_eq!(bad, found.iter().any(|one| one.severity == Severity::Error), "{name}");
        refused += usize::from(bad);
        for one in &found {
            // An empty file has no line; everything else is where a person can go.
            assert!(one.place.line > 0 && one.place.column > 0 || name == "admin_empty", "{name}: {one:?}");
        }
        let said = render(&found, &text, false);
        let golden = path.with_extension("txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&golden, &said).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != said {
            different.push(format!("{name}:\n{said}"));
        }
    }
    assert!(different.is_empty(), "other messages than in the .txt files:\n{}", different.join("\n"));
    assert!(refused >= LEAST, "{refused} files are refused");
}

#[test]
fn the_shipped_files_are_valid_and_nothing_is_odd_about_them() {
    let text = fs::read_to_string(root("waypost.toml")).unwrap();
    let config = parse(&text, &root("waypost.toml"))
        .unwrap_or_else(|found| panic!("{}", render(&found, &text, false)));
    assert_eq!(config.warnings, []);
    assert_eq!(config.services.len(), 2);
    assert!(config.dns.unwrap().zones.ends_with("zones"));
    let text = fs::read_to_string(root("admin.toml")).unwrap();
    assert_eq!(parse_admin(&text, Path::new("admin.toml")).unwrap(), AdminFile::default());
}

#[test]
fn the_example_of_the_shipped_admin_file_is_valid_when_its_comment_signs_are_taken_off() {
    let text = fs::read_to_string(root("admin.toml")).unwrap();
    let example: String =
        text.lines().filter_map(|line| line.strip_prefix("#     ")).map(|line| format!("{line}\n")).collect();
    let file = parse_admin(&example, Path::new("admin.toml")).unwrap();
    assert_eq!((file.drains.len(), file.forces.len(), file.warnings.len()), (1, 1, 0));
}

/// The whole reference, but for what comes in later versions.
#[test]
fn the_whole_example_of_the_reference_is_read() {
    let text = fs::read_to_string(root("tests/config/reference.example")).unwrap();
    let config = parse(&text, Path::new("/etc/waypost/waypost.toml"))
        .unwrap_or_else(|found| panic!("{}", render(&found, &text, false)));
    let warnings: Vec<String> = config.warnings.iter().map(Diagnostic::one_line).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    let dns = config.dns.as_ref().unwrap();
    let limit = dns.rate_limit.as_ref().unwrap();
    assert_eq!((limit.per_second, limit.burst, limit.dry_run, limit.exempt.len()), (1000, 2500, false, 2));
    assert_eq!(dns.dnstap.as_ref().unwrap().socket, Path::new("/run/dnstap.sock"));
    assert_eq!(dns.chaos.id, "ns1");
    assert_eq!(config.state_dir, Path::new("/etc/waypost/state"));
    assert_eq!(config.region_rules[0].countries.len(), 4);
    assert_eq!(config.probes[0].damping.fall, 3);
    assert_eq!(config.services[0].requires, [0, 4]);
    assert_eq!(config.services[1].requires, [0, 1, 2, 3, 4]);
    let Answers::Endpoints(regions) = &config.services[0].answers else { panic!() };
    assert_eq!(regions[0].1[1].probe.to_string(), "192.0.2.11");
    assert_eq!(config.places.zones.map(|place| place.line), Some(36));
}

#[test]
fn the_environment_never_shows_in_a_message() {
    let text = "version = 1\nnode = \"${TOKEN}\"\n[log]\nlevel = \"${TOKEN}\"\n[geo]\ndatabase = \"x\"\nunmapped = \"${TOKEN}\"\n\
        [routing]\nfallback = [\"cn\", \"${TOKEN} \"]\n[[probes]]\nname = \"a\"\ntype = \"${TOKEN}\"\ninterval = \"${TOKEN}\"\n\
        url = \"${TOKEN}\"\n[[services]]\nname = \"${TOKEN}..\"\nrequires = [\"${TOKEN}\"]\n[services.endpoints]\ncn = [\"${TOKEN}\"]\n";
    let found = parse(text, Path::new("waypost.toml")).unwrap_err();
    assert!(found.len() > 6);
    assert!(!render(&found, text, false).contains("s3cr3t"));
    assert!(found.iter().all(|one| !one.one_line().contains("s3cr3t")));
}

#[test]
fn a_password_in_a_url_is_not_even_shown_with_its_line() {
    let text = fs::read_to_string(root("tests/config/url_password.toml")).unwrap();
    let found = parse(&text, Path::new("waypost.toml")).unwrap_err();
    assert_eq!(found.len(), 1);
    assert!(!render(&found, &text, false).contains("user:"));
    let expected = "waypost.toml:17:7: error: the URL has a user or a password in it \
        (send them as a header: headers = { authorization = \"Basic ${TOKEN}\" })";
    assert_eq!(found[0].one_line(), expected);
}

#[test]
fn ten_thousand_services_are_read_and_each_knows_its_line() {
    let mut text = fs::read_to_string(root("tests/config/reference.example")).unwrap();
    let lines = text.lines().count();
    for number in 0..10_000 {
        text += &format!(
            "[[services]]\nname = \"s{number}.example.com\"\nendpoints = {{ cn = [\"192.0.2.1\"], eu = [\"192.0.2.2\"] }}\n"
        );
    }
    let config = parse(&text, Path::new("waypost.toml")).unwrap();
    assert_eq!(config.services.len(), 10_003);
    assert_eq!(config.services[10_002].line, lines + 3 * 9_999 + 2);
    assert_eq!(config.places.services[10_002].line, config.services[10_002].line);
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let text = "version = 2\n";
    let found = parse(text, Path::new("waypost.toml")).unwrap_err();
    let coloured = render(&found, text, true);
    assert!(coloured.contains('\u{1b}'));
    assert!(render(&found, text, false).lines().all(|line| !line.contains('\u{1b}')));
}

fn mutate(text: &str, edits: &[(usize, String, usize)]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (at, insert, cut) in edits {
        let at = at % (letters.len() + 1);
        let end = (at + cut).min(letters.len());
        letters.splice(at..end, insert.chars());
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_upsets_the_parser(text in "[a-z\\[\\]{}=\"'.,#$0-9 \n\\PC]{0,200}") {
        if let Err(found) = parse(&text, Path::new("waypost.toml")) {
            render(&found, &text, false);
        }
    }

    #[test]
    fn no_change_of_a_valid_file_upsets_the_parser(
        edits in prop::collection::vec((any::<usize>(), "[\\[\\]{}=\"',.#a-z0-9\n${}ü]{0,4}", 0_usize..12), 1..6)
    ) {
        let text = mutate(&fs::read_to_string(root("tests/config/reference.example")).unwrap(), &edits);
        if let Err(found) = parse(&text, Path::new("waypost.toml")) {
            prop_assert!(found.iter().any(|one| one.severity == Severity::Error));
            render(&found, &text, false);
        }
    }
}
