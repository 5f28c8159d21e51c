//! A bad example, and the nearest good one, for each rule: a check that can't fail is a defect.

use std::path::Path;

use super::Finding;
use super::pages;
use super::rules;
use super::source::Source;

const MANIFEST: &str = "[dependencies]\ntokio = \"1\" # everything\nserde_json = \"1\" # documents\n";

fn source(path: &str, text: &str) -> Source {
    Source::new(path, text)
}

/// The findings as `line what`, to compare with what was meant.
fn seen(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.line, finding.what)).collect()
}

fn ranks(path: &str, text: &str) -> Vec<String> {
    seen(&rules::ranks(&source(path, text)))
}

fn purity(path: &str, text: &str) -> Vec<String> {
    seen(&rules::purity(&source(path, text), MANIFEST))
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = r####"// a /* b
        /* c /* d */ e */ let f = "g \" h"; let i = r#"j " k"#; let l = 'm'; let n = '\''; fn o<'p>() { b'q'; r#type }
    "####;
    let code = source("src/x.rs", text);
    let words: Vec<&str> = code.tokens.iter().map(|token| token.text.as_str()).collect();
    assert_eq!(
        words.join(" "),
        r#"let f = "" ; let i = "" ; let l = "" ; let n = "" ; fn o < > ( ) { "" ; type }"#
    );
}

#[test]
fn groups_of_imports_are_read_path_by_path() {
    let code = source("src/x.rs", "use a::{b, c::{d as e, f}, g::*};\nlet x = h::i::<j>(k.l);");
    let paths: Vec<String> = code.paths().iter().map(|path| path.segments.join("::")).collect();
    assert_eq!(paths, ["use", "a::b", "a::c::d", "a::c::f", "a::g::*", "let", "x", "h::i", "j", "k"]);
}

#[test]
fn tests_are_told_from_shipped_code() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(all(test, unix))]\nmod d;\n\
                #[cfg(not(test))]\nfn e() {}\n#[test]\nfn f() {}\n";
    let code = source("src/x.rs", text);
    let is_name = |text: &str| text.len() == 1 && text.chars().all(|c| c.is_ascii_lowercase());
    let shipped = code.tokens.iter().filter(|token| !token.test && is_name(&token.text));
    let names: String = shipped.map(|token| token.text.as_str()).collect();
    assert_eq!(names, "ace");
    assert_eq!(code.test_modules, ["d"], "`mod tests` has its body here");
    assert_eq!(code.lines_without_tests(), 4);
}

#[test]
fn files_are_tests_when_their_parent_says_so() {
    let mut sources = [
        source("src/dns/mod.rs", "#[cfg(test)]\nmod fake;\nmod wire;\n#[cfg(test)]\nmod tests;\n"),
        source("src/dns/fake.rs", "unsafe {}"),
        source("src/dns/fake/deep.rs", "unsafe {}"),
        source("src/dns/tests.rs", "unsafe {}"),
        source("src/dns/wire.rs", "unsafe {}"),
    ];
    super::mark_test_files(&mut sources);
    let untidy: Vec<&str> = sources
        .iter()
        .filter(|file| !rules::unsafe_code(file).is_empty())
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(untidy, ["src/dns/wire.rs"]);
}

#[test]
fn a_higher_rank_is_found_however_it_is_named() {
    let upward = ["`dns` (rank 2) uses `crate::config` (rank 3)"].map(|what| format!("1 {what}"));
    assert_eq!(ranks("src/dns/mod.rs", "use crate::config::Dns;"), upward);
    assert_eq!(ranks("src/dns/mod.rs", "use crate::{config, region};"), upward);
    assert_eq!(ranks("src/dns/mod.rs", "fn f() -> crate::config::Dns { g() }"), upward);
    assert_eq!(ranks("src/dns/mod.rs", "use super::config::Dns;"), upward);
    assert_eq!(ranks("src/dns/wire.rs", "use super::super::config::Dns;"), upward);
    assert_eq!(ranks("src/dns/wire.rs", "mod inner { use super::super::super::config; }"), upward);
    assert_eq!(ranks("src/dns/mod.rs", "let d = Dns { a, ..crate::config::dns() };"), upward);
}

#[test]
fn equal_rank_the_root_and_unranked_modules_are_barred() {
    assert_eq!(
        ranks("src/dns/mod.rs", "use crate::split;"),
        ["1 `dns` (rank 2) uses `crate::split` (rank 2)"]
    );
    assert_eq!(ranks("src/dns/mod.rs", "use crate::*;"), ["1 `dns` (rank 2) uses `crate::*` (no rank)"]);
    assert_eq!(
        ranks("src/dns/mod.rs", "use crate::misc;"),
        ["1 `dns` (rank 2) uses `crate::misc` (no rank)"]
    );
    assert_eq!(ranks("src/misc.rs", ""), ["0 module `misc` has no rank"]);
}

#[test]
fn lower_ranks_the_own_folder_and_tests_are_free() {
    assert!(ranks("src/dns/wire.rs", "use crate::{health::Mono, region}; use super::edns;").is_empty());
    assert!(ranks("src/dns/mod.rs", "pub(crate) fn f() { self::wire::g(); crate::dns::h() }").is_empty());
    assert!(ranks("src/dns/mod.rs", "mod inner { use super::wire; }").is_empty());
    assert!(
        ranks("src/dns/mod.rs", "#[cfg(test)]\nmod tests { use crate::config; use super::*; }").is_empty()
    );
    assert!(ranks("src/dns/mod.rs", "// use crate::config;\nconst S: &str = \"crate::config\";").is_empty());
}

#[test]
fn what_reaches_outside_is_found_in_pure_modules() {
    assert_eq!(purity("src/dns/mod.rs", "use tokio::net;"), ["1 `tokio::net`: crate `tokio` is not pure"]);
    assert_eq!(purity("src/dns/mod.rs", "use rand;"), ["1 `rand`: crate `rand` is not pure"]);
    assert_eq!(purity("src/dns/mod.rs", "use std::{fmt, fs::File};"), ["1 `std::fs::File` reaches outside"]);
    assert_eq!(purity("src/dns/mod.rs", "use std::net::{IpAddr,\n UdpSocket};"), ["2 `std::net::UdpSocket`"]);
    assert_eq!(purity("src/dns/mod.rs", "let now = Instant::now();"), ["1 `Instant::now`"]);
    assert_eq!(purity("src/dns/mod.rs", "OffsetDateTime::now_utc()"), ["1 `OffsetDateTime::now_utc`"]);
    assert_eq!(purity("src/dns/mod.rs", "tracing::info!(x)").len(), 0, "not a dependency of this manifest");
    assert_eq!(purity("src/dns/mod.rs", "log::info!(x)"), ["1 `log::info`: crate `log` is not pure"]);
    assert_eq!(purity("src/dns/mod.rs", "println!(\"\")"), ["1 `println`"]);
    assert_eq!(purity("src/dns/mod.rs", "path.exists()"), ["1 `.exists()` looks at the disk"]);
}

#[test]
fn what_remembers_or_has_no_order_is_found_in_pure_modules() {
    assert_eq!(purity("src/split/mod.rs", "static TABLE: [u8; 2] = [0; 2];"), ["1 a static"]);
    assert_eq!(purity("src/split/mod.rs", "thread_local! { }"), ["1 `thread_local`"]);
    assert_eq!(
        purity("src/split/mod.rs", "std::collections::HashMap::new()"),
        ["1 `std::collections::HashMap::new`"]
    );
    assert_eq!(purity("src/control/model/mod.rs", "use std::env;"), ["1 `std::env` reaches outside"]);
}

#[test]
fn pure_code_shells_and_tests_are_free() {
    let pure = "use std::{net::IpAddr, time::Duration}; use serde_json::Value; fn f<'a>(x: &'static str) { log.level }";
    assert!(purity("src/config/mod.rs", pure).is_empty());
    assert!(purity("src/serve/mod.rs", "use tokio::net; static A: u8 = 0;").is_empty());
    assert!(purity("src/control/mod.rs", "use std::fs;").is_empty());
    assert!(
        purity("src/dns/mod.rs", "#[cfg(test)]\nmod tests { use std::fs; static A: u8 = 0; }").is_empty()
    );
}

#[test]
fn long_files_are_found_and_their_tests_do_not_count() {
    let long = "//\n".repeat(501);
    assert_eq!(
        seen(&rules::file_length(&source("src/a.rs", &long))),
        ["0 501 lines without tests, at most 500"]
    );
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(500), "//\n".repeat(900));
    assert!(rules::file_length(&source("src/a.rs", &tested)).is_empty());
}

#[test]
fn long_functions_are_found() {
    let function =
        |lines: usize| format!("type F = fn(u8);\nfn f(a: [u8; 2]) {{\n{}}}\n", "g();\n".repeat(lines - 2));
    let long = rules::function_length(&source("src/a.rs", &function(71)));
    assert_eq!(seen(&long), ["2 function `f` has 71 lines, at most 70"]);
    assert!(rules::function_length(&source("src/a.rs", &function(70))).is_empty());
    let declared = format!("trait T {{ fn f(&self); }}\nmod m {{\n{}}}", "const A: u8 = 0;\n".repeat(90));
    assert!(rules::function_length(&source("src/a.rs", &declared)).is_empty());
}

#[test]
fn unsafe_code_and_the_seam_are_found_outside_their_places() {
    let text = "fn f() {\n    unsafe { g() }\n}\nuse arc_swap::ArcSwap;";
    assert_eq!(seen(&rules::unsafe_code(&source("src/serve/tcp.rs", text))), ["2 unsafe code"]);
    assert!(rules::unsafe_code(&source("src/serve/udp.rs", text)).is_empty());
    assert!(
        rules::unsafe_code(&source("src/lib.rs", "#![deny(unsafe_op_in_unsafe_fn)] // unsafe")).is_empty()
    );
    assert_eq!(seen(&rules::the_seam(&source("src/serve/udp.rs", text))), ["4 `arc_swap`"]);
    assert!(rules::the_seam(&source("src/control/snapshot.rs", text)).is_empty());
}

#[test]
fn statics_that_can_change_are_found() {
    let changing = [
        "static mut A: u8 = 0;",
        "static B: AtomicU64 = AtomicU64::new(0);",
        "static C: std::sync::OnceLock<u8> = std::sync::OnceLock::new();",
        "thread_local! { static D: u8 = 0; }",
    ];
    for text in changing {
        let found = seen(&rules::mutable_statics(&source("src/serve/mod.rs", text)));
        assert_eq!(found, ["1 a static that can change"], "{text}");
    }
    let fixed =
        "static E: &str = \"mut\"; fn f(x: &'static Mutex<u8>) {}\n#[cfg(test)]\nstatic mut G: u8 = 0;";
    assert!(rules::mutable_statics(&source("src/serve/mod.rs", fixed)).is_empty());
}

#[test]
fn unfinished_work_is_found_in_code_and_comments() {
    let text =
        "fn f() { todo!() }\nfn g() { unimplemented!() }\n// FIXME: later\n// XXX\nlet a = 1; /* HACK */\n";
    let found = seen(&rules::unfinished(&source("benches/a.rs", text)));
    assert_eq!(found, ["1 `todo!`", "2 `unimplemented!`", "3 `FIXME`", "4 `XXX`", "5 `HACK`"]);
    assert!(rules::unfinished(&source("src/a.rs", "let todo = 1; // HACKED XXXL")).is_empty());
}

#[test]
fn ignored_tests_are_found() {
    let found = rules::ignored_tests(&source("tests/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}"));
    assert_eq!(seen(&found), ["2 an ignored test"]);
    assert!(rules::ignored_tests(&source("tests/a.rs", "// #[ignore]\n#[test]\nfn ignore() {}")).is_empty());
}

#[test]
fn paths_of_one_machine_are_found() {
    let text = "url = \"http://example.com/home/\"\npath = \"/home/me/zones\"\ncd /work/x\n(/root/.cargo)\n";
    let found = seen(&rules::machine_paths("docs/a.md", text));
    assert_eq!(found, ["2 `/home/`", "3 `/work/`", "4 `/root/`"]);
}

#[test]
fn unexplained_dependencies_are_found_in_every_form() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na = \"1\" # why\nb = \"1\"\nc = { features = [\n  \"d\",\n] }\n\
                    e = { features = [\n  \"f\",\n] } # why\n[dev-dependencies]\ng = { path = \"#\" }\n\
                    [dependencies.h]\nversion = \"1\"\n[target.'cfg(unix)'.dependencies]\ni = \"1\"\n[features]\nj = []\n";
    let found = seen(&rules::dependency_reasons("Cargo.toml", manifest));
    let names = ["5 b", "6 c", "13 g", "14 h", "17 i"].map(|entry| {
        let (line, name) = entry.split_once(' ').unwrap();
        format!("{line} dependency `{name}` has no reason")
    });
    assert_eq!(found, names);
}

#[test]
fn a_requirement_without_row_status_or_test_is_found() {
    let page = "| S0-1 | gist | shown by `there`, `gone` |\n| S0-2 | gist | soon |\n| S0-3 | gist | not yet: split |\n";
    let found = seen(&pages::requirements("r.md", page, &["there".to_owned()]));
    assert_eq!(found[..2], ["1 S0-1: no test is called `gone`", "2 S0-2 stands as `soon`"]);
    assert!(found.contains(&"0 S0-4 has no row".to_owned()));
    assert!(found.contains(&"0 trap l has no row".to_owned()));
    assert!(!found.contains(&"0 S0-3 has no row".to_owned()));
}

#[test]
fn a_test_that_the_conformance_page_makes_up_and_an_rfc_file_that_it_forgets_are_found() {
    let page = "`a_test_that_is_there` `short_word` `a_test_that_is_gone`\n[r](../tests/rfc/rfc1.rs)\n";
    let tests = ["a_test_that_is_there".to_owned()];
    let files = ["tests/rfc/rfc1.rs", "tests/rfc/rfc2.rs", "tests/rfc/ask.rs"].map(str::to_owned);
    let found = seen(&pages::conformance("c.md", page, &tests, &files));
    assert_eq!(
        found,
        ["1 no test is called `a_test_that_is_gone`", "0 tests/rfc/rfc2.rs is not on the page"]
    );
}

#[test]
fn only_functions_that_are_run_as_tests_count_as_tests() {
    let text = "#[test]\nfn a() {}\n#[tokio::test(start_paused = true)]\nasync fn b() {}\n#[cfg(test)]\nmod t { fn c() {} }";
    assert_eq!(pages::test_names(&source("tests/a.rs", text)), ["a", "b"]);
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let is_there = |path: &Path| path == Path::new("docs/a.md") || path == Path::new("README.md");
    let text = "[a](a.md) [b](../README.md#there) [c](https://example.com/x) [d](#here)\n[e](b.md)\n";
    assert_eq!(seen(&pages::links("docs/c.md", text, &is_there)), ["2 `b.md` is not there"]);
    assert!(pages::links("src/c.rs", text, &is_there).is_empty());
}
