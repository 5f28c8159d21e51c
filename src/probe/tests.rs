//! Every probe against real sockets, files and processes, of which most misbehave on purpose.

pub(super) mod server;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::config::{Comparison, ComparisonOp, HttpProbe, JsonKey, JsonRule, Per, Scalar};
use crate::health::{Damping, Evidence, Impact, Verdict};
use server::{Manner, Server};

const PLAIN: Verdict = Verdict::Failed(Evidence::Plain);
/// Far beyond what anything on loopback takes, so that only what hangs meets it.
const AMPLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);

pub(super) fn spec(kind: ProbeKind, timeout: Duration) -> CheckSpec {
    let (interval, fast_interval) = (Duration::from_secs(5), Duration::from_secs(1));
    CheckSpec { id: 7, kind, timeout, interval, fast_interval }
}

pub(super) fn get(url: impl Into<String>) -> HttpProbe {
    HttpProbe {
        url: url.into(),
        host: None,
        method: "GET".to_owned(),
        headers: Vec::new(),
        status: vec![200],
        body: None,
        json: None,
    }
}

async fn ask(probe: HttpProbe, timeout: Duration) -> Observation {
    Runner::new().unwrap().run_once(&spec(ProbeKind::Http(probe), timeout)).await
}

async fn run(kind: ProbeKind, timeout: Duration) -> Observation {
    Runner::new().unwrap().run_once(&spec(kind, timeout)).await
}

fn steps(observation: &Observation) -> Vec<&'static str> {
    observation.steps.iter().map(|step| step.name).collect()
}

/// A name that no resolver is asked about: its label is too long.
fn unresolvable() -> String {
    format!("{}.test", "x".repeat(64))
}

fn reply(status: &str, body: &str) -> Manner {
    Manner::Say(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

mod http {
    use super::*;

    #[tokio::test]
    async fn a_server_that_answers_200_is_ok() {
        let server = Server::start(reply("200 OK", "hello")).await;
        let seen = ask(get(server.url("/healthz?deep=1")), AMPLE).await;
        assert_eq!((seen.verdict, seen.detail.as_str()), (Verdict::Ok, ""));
        assert_eq!(steps(&seen), ["request"]);
        assert!(seen.steps[0].took <= seen.took);
        let request = server.requests().remove(0);
        assert!(request.starts_with("GET /healthz?deep=1 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("user-agent: waypost/"), "{request}");
    }

    #[tokio::test]
    async fn a_wrong_status_is_a_plain_failure_and_a_listed_one_is_not() {
        let server = Server::start(reply("503 Service Unavailable", "")).await;
        let seen = ask(get(server.url("/")), AMPLE).await;
        assert_eq!((seen.verdict, seen.detail.as_str()), (PLAIN, "status 503"));
        let probe = HttpProbe { status: vec![200, 503], ..get(server.url("/")) };
        assert_eq!(ask(probe, AMPLE).await.verdict, Verdict::Ok);
    }

    #[tokio::test]
    async fn a_redirect_is_a_status_and_is_not_followed() {
        let away = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n";
        let server = Server::start(Manner::Say(away.to_owned())).await;
        assert_eq!(ask(get(server.url("/")), AMPLE).await.detail, "status 302");
        assert_eq!(server.requests().len(), 1);
    }

    #[tokio::test]
    async fn each_run_makes_a_connection_of_its_own() {
        let server =
            Server::start(Manner::SayAndHold("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned()))
                .await;
        let runner = Runner::new().unwrap();
        for _ in 0..3 {
            runner.run_once(&spec(ProbeKind::Http(get(server.url("/"))), AMPLE)).await;
        }
        assert_eq!(server.connections(), 3);
        server.until_all_closed().await;
    }

    #[tokio::test]
    async fn the_body_must_hold_the_expected_text() {
        let server = Server::start(reply("200 OK", "status: ready\n")).await;
        let expect = |text: &str| HttpProbe { body: Some(text.to_owned()), ..get(server.url("/")) };
        let seen = ask(expect("ready"), AMPLE).await;
        assert_eq!((seen.verdict, steps(&seen)), (Verdict::Ok, vec!["request", "body"]));
        assert_eq!(ask(expect(""), AMPLE).await.verdict, Verdict::Ok);
        let seen = ask(expect("on fire"), AMPLE).await;
        assert_eq!((seen.verdict, seen.detail.as_str()), (PLAIN, "the body does not hold the expected text"));
    }

    #[tokio::test]
    async fn only_the_first_64_kib_of_a_body_are_read() {
        let limit = 64 * 1024;
        for (at, verdict) in [(limit - 2, Verdict::Ok), (limit - 1, PLAIN)] {
            let body = format!("{}ok{}", "x".repeat(at), "y".repeat(1000));
            let server = Server::start(reply("200 OK", &body)).await;
            let probe = HttpProbe { body: Some("ok".to_owned()), ..get(server.url("/")) };
            assert_eq!(ask(probe, AMPLE).await.verdict, verdict, "at {at}");
        }
    }

    #[tokio::test]
    async fn a_body_without_end_is_cut_off_and_not_waited_for() {
        let server = Server::start(Manner::Forever("HTTP/1.1 200 OK\r\n\r\n".to_owned())).await;
        let probe = HttpProbe { body: Some("xx".to_owned()), ..get(server.url("/")) };
        assert_eq!(ask(probe, AMPLE).await.verdict, Verdict::Ok);
    }

    #[tokio::test]
    async fn a_json_value_beyond_its_limit_degrades_or_fails() {
        let over = |limit| Some(Comparison { op: ComparisonOp::Greater, value: Scalar::Number(limit) });
        let rule = JsonRule {
            path: vec![JsonKey::Name("lag_s".to_owned())],
            text: "$.lag_s".to_owned(),
            degraded: over(5.0),
            failed: over(30.0),
        };
        for (body, verdict) in [
            (r#"{"lag_s": 1}"#, Verdict::Ok),
            (r#"{"lag_s": 7.5}"#, Verdict::Degraded),
            (r#"{"lag_s": 31}"#, PLAIN),
            (r#"{"lag_s": null}"#, PLAIN),
            ("<html>", PLAIN),
        ] {
            let server = Server::start(reply("200 OK", body)).await;
            let probe = HttpProbe { json: Some(rule.clone()), ..get(server.url("/")) };
            assert_eq!(ask(probe, AMPLE).await.verdict, verdict, "{body}");
        }
        let server = Server::start(reply("200 OK", &" ".repeat(70_000))).await;
        let probe = HttpProbe { json: Some(rule), ..get(server.url("/")) };
        assert_eq!(ask(probe, AMPLE).await.detail, "the body is longer than 64 KiB");
    }

    #[tokio::test]
    async fn refused_reset_and_hung_up_are_plain_failures() {
        let nobody = ask(get(format!("http://{}/", server::nobody())), AMPLE).await;
        assert_eq!(nobody.verdict, PLAIN);
        assert!(nobody.detail.contains("refused"), "{}", nobody.detail);
        let gibberish = Manner::Say("gibberish\r\n\r\n".to_owned());
        for manner in [Manner::Reset, Manner::HangUp, Manner::HalfClose, gibberish] {
            let server = Server::start(manner.clone()).await;
            let seen = ask(get(server.url("/")), AMPLE).await;
            assert_eq!(seen.verdict, PLAIN, "{manner:?}: {}", seen.detail);
            assert!(!seen.detail.is_empty());
            assert_eq!(server.connections(), 1, "nothing is tried twice");
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_fails_only_who_asked_for_it() {
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nok";
        let server = Server::start(Manner::Say(half.to_owned())).await;
        assert_eq!(ask(get(server.url("/")), AMPLE).await.verdict, Verdict::Ok);
        let probe = HttpProbe { body: Some("ok".to_owned()), ..get(server.url("/")) };
        assert_eq!(ask(probe, AMPLE).await.verdict, PLAIN);
    }

    #[tokio::test]
    async fn silence_and_slowness_are_cut_off_at_the_timeout() {
        for manner in [Manner::Silent, Manner::Trickle("HTTP/1.1 200 OK\r\n\r\n".to_owned())] {
            let server = Server::start(manner.clone()).await;
            let seen = ask(get(server.url("/")), SHORT).await;
            assert_eq!((seen.verdict, seen.detail.as_str()), (PLAIN, "timed out after 150ms (request)"));
            assert_eq!(steps(&seen), ["request"]);
            assert!(seen.took >= SHORT && seen.took < AMPLE, "{manner:?}: {:?}", seen.took);
            server.until_all_closed().await;
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
        let server = Server::start(Manner::SayAndHold(head.to_owned())).await;
        let probe = HttpProbe { body: Some("ok".to_owned()), ..get(server.url("/")) };
        assert_eq!(ask(probe, SHORT).await.detail, "timed out after 150ms (body)");
    }

    #[tokio::test]
    async fn a_name_is_resolved_and_each_address_tried() {
        // `localhost` is ::1 first on many machines, where this server is not.
        let server = Server::start(reply("200 OK", "")).await;
        let seen = ask(get(format!("http://localhost:{}/", server.address.port())), AMPLE).await;
        assert_eq!((seen.verdict, seen.detail.as_str()), (Verdict::Ok, ""));
        assert_eq!(steps(&seen), ["resolve", "request"]);
        let request = server.requests().remove(0);
        assert!(request.contains(&format!("host: localhost:{}\r\n", server.address.port())), "{request}");
    }

    #[tokio::test]
    async fn what_cannot_be_asked_is_unknown() {
        let server = Server::start(reply("200 OK", "")).await;
        let good = get(server.url("/"));
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for probe in [
            get(format!("http://{}/", unresolvable())),
            get("not a URL"),
            get("http://"),
            get("http://127.0.0.1:99999/"),
            get("ftp://127.0.0.1/"),
            get("http://{address}/"),
            HttpProbe { method: "GE T".to_owned(), ..good.clone() },
            HttpProbe { headers: header("bad name", "x"), ..good.clone() },
            HttpProbe { headers: header("x-token", "a\nb"), ..good.clone() },
            HttpProbe { host: Some("a\nb".to_owned()), ..good.clone() },
        ] {
            let seen = ask(probe.clone(), AMPLE).await;
            assert_eq!(seen.verdict, Verdict::Unknown, "{probe:?}: {}", seen.detail);
            assert!(!seen.detail.is_empty());
        }
        assert_eq!(server.connections(), 0);
    }

    #[tokio::test]
    async fn host_headers_and_method_are_sent_as_written() {
        let server = Server::start(reply("200 OK", "")).await;
        let probe = HttpProbe {
            host: Some("www.example.com".to_owned()),
            method: "POST".to_owned(),
            headers: vec![("X-Token".to_owned(), "s3cret".to_owned())],
            ..get(server.url("/login"))
        };
        assert_eq!(ask(probe, AMPLE).await.verdict, Verdict::Ok);
        let request = server.requests().remove(0);
        assert!(request.starts_with("POST /login HTTP/1.1\r\n"), "{request}");
        assert_eq!(request.matches("host: ").count(), 1);
        assert!(
            request.contains("host: www.example.com\r\n") && request.contains("x-token: s3cret\r\n"),
            "{request}"
        );
    }

    #[tokio::test]
    async fn https_asks_the_probed_address_for_the_certificate_of_host() {
        let server = Server::start(Manner::Say("no TLS here".to_owned())).await;
        let url = format!("https://{}/", server.address);
        let probe = HttpProbe { host: Some("www.example.com".to_owned()), ..get(url) };
        let seen = ask(probe, AMPLE).await;
        assert_eq!(seen.verdict, PLAIN, "{}", seen.detail);
        assert_eq!(server.connections(), 1);
        let hello = server.heard_until(|heard| heard.contains("www.example.com")).await;
        assert!(hello.contains("www.example.com"), "the ClientHello names the host");
    }

    #[tokio::test]
    async fn no_secret_of_a_probe_is_ever_shown() {
        let server = Server::start(reply("401 Unauthorized", "")).await;
        let port = server.address.port();
        let secretive = |url: String| HttpProbe {
            headers: vec![("authorization".to_owned(), "Bearer s3cret".to_owned())],
            ..get(url)
        };
        for probe in [
            secretive(format!("http://user:s3cret@127.0.0.1:{port}/?key=s3cret#s3cret")),
            secretive(format!("http://user:s3cret@{}/?key=s3cret", server::nobody())),
            secretive(format!("http://user:s3cret@{}/?key=s3cret", unresolvable())),
            secretive(format!("https://user:s3cret@127.0.0.1:{port}/?key=s3cret")),
            secretive("http://user:s3cret@:bad:/".to_owned()),
            HttpProbe {
                headers: vec![("x-token".to_owned(), "s3cret\n".to_owned())],
                ..get(server.url("/"))
            },
        ] {
            let spec = spec(ProbeKind::Http(probe), SHORT);
            let seen = Runner::new().unwrap().run_once(&spec).await;
            assert_ne!(seen.verdict, Verdict::Ok);
            for shown in [seen.detail, spec.target(), format!("{spec:?}")] {
                assert!(!shown.contains("s3cret"), "{shown}");
            }
        }
        let user = get(format!("http://user:s3cret@127.0.0.1:{port}/"));
        ask(user, AMPLE).await;
        let request = server.requests().pop().unwrap();
        assert!(request.contains("authorization: Basic "), "but it is sent: {request}");
    }
}

mod tcp {
    use super::*;

    fn tcp(address: impl Into<String>) -> ProbeKind {
        ProbeKind::Tcp { address: address.into() }
    }

    #[tokio::test]
    async fn who_takes_the_call_is_ok_and_who_refuses_has_failed() {
        let server = Server::start(Manner::Silent).await;
        let seen = run(tcp(server.address.to_string()), AMPLE).await;
        assert_eq!((seen.verdict, steps(&seen)), (Verdict::Ok, vec!["connect"]));
        let seen = run(tcp(format!("localhost:{}", server.address.port())), AMPLE).await;
        assert_eq!((seen.verdict, steps(&seen)), (Verdict::Ok, vec!["resolve", "connect"]));
        let seen = run(tcp(server::nobody().to_string()), AMPLE).await;
        assert_eq!(seen.verdict, PLAIN);
        assert!(seen.detail.contains("refused"), "{}", seen.detail);
    }

    #[tokio::test]
    async fn what_cannot_be_called_is_unknown() {
        for address in [format!("{}:80", unresolvable()), "127.0.0.1".to_owned(), "{address}:80".to_owned()] {
            assert_eq!(run(tcp(address), AMPLE).await.verdict, Verdict::Unknown);
        }
    }
}

mod exec {
    use super::*;

    fn sh(script: &str) -> ProbeKind {
        ProbeKind::Exec { command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec() }
    }

    fn command(words: &[&str]) -> ProbeKind {
        ProbeKind::Exec { command: words.iter().map(|&word| word.to_owned()).collect() }
    }

    #[tokio::test]
    async fn the_exit_status_is_the_verdict_and_the_first_line_the_detail() {
        for (script, verdict, detail) in [
            ("echo fine", Verdict::Ok, ""),
            ("echo slow disk; echo more; exit 1", Verdict::Degraded, "slow disk"),
            ("echo dead; exit 2", PLAIN, "dead"),
            ("echo no route; exit 3", Verdict::Unknown, "no route"),
            ("exit 2", PLAIN, "exit status 2"),
            ("exit 127", Verdict::Unknown, "exit status 127"),
        ] {
            let seen = run(sh(script), AMPLE).await;
            assert_eq!((seen.verdict, seen.detail.as_str()), (verdict, detail), "{script}");
        }
        let seen = run(sh("kill -9 $$"), AMPLE).await;
        assert_eq!(seen.verdict, Verdict::Unknown);
        assert!(seen.detail.contains("signal: 9"), "{}", seen.detail);
    }

    #[tokio::test]
    async fn a_command_that_cannot_be_started_is_unknown() {
        for words in [&["/nonexistent/check"][..], &["/etc/passwd"], &[], &["a\0b"]] {
            let seen = run(command(words), AMPLE).await;
            assert_eq!(seen.verdict, Verdict::Unknown, "{words:?}");
        }
        let spec = spec(command(&["/nonexistent/check", "--password", "s3cret"]), AMPLE);
        let seen = Runner::new().unwrap().run_once(&spec).await;
        assert!(!format!("{seen:?} {spec:?} {}", spec.target()).contains("s3cret"));
    }

    #[tokio::test]
    async fn there_is_no_shell_and_the_environment_is_clean() {
        let literal = run(command(&["test", "$HOME;exit", "=", "$HOME;exit"]), AMPLE).await;
        assert_eq!(literal.verdict, Verdict::Ok);
        let seen = run(sh(r#"test -z "$HOME$USER$CARGO_PKG_NAME" && exit 0; exit 2"#), AMPLE).await;
        assert_eq!(seen.verdict, Verdict::Ok);
        let seen = run(sh(r#"read line && exit 2; exit 0"#), AMPLE).await;
        assert_eq!(seen.verdict, Verdict::Ok, "there is nothing to read");
    }

    #[tokio::test]
    async fn much_output_neither_blocks_nor_fills_the_memory() {
        let seen = run(sh("head -c 5000000 /dev/zero | tr '\\0' x; exit 1"), AMPLE).await;
        assert_eq!(seen.verdict, Verdict::Degraded);
        assert_eq!(seen.detail.chars().count(), 201);
    }

    #[tokio::test]
    async fn at_the_timeout_the_command_dies_with_all_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("sleep 1000 & echo $! $$ > {}; wait", pids.display());
        let seen = run(sh(&script), Duration::from_secs(1)).await;
        assert_eq!((seen.verdict, seen.detail.as_str()), (PLAIN, "timed out after 1s (run)"));
        for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
            wait_until_gone(pid).await;
        }
    }

    #[tokio::test]
    async fn a_child_left_behind_does_not_hold_up_the_run_and_is_killed() {
        let seen = run(sh("sleep 1000 & echo $!; exit 1"), AMPLE).await;
        assert_eq!(seen.verdict, Verdict::Degraded);
        assert!(seen.took < AMPLE / 2, "{:?}", seen.took);
        wait_until_gone(&seen.detail).await;
    }

    /// Waits until no process of that number runs (one that nobody has buried yet counts as gone).
    async fn wait_until_gone(pid: &str) {
        let stat = format!("/proc/{pid}/stat");
        let gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let all_gone = async {
            while !gone() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(AMPLE, all_gone).await.expect("the process still runs");
    }
}

mod file {
    use super::*;

    fn file(path: &Path) -> ProbeKind {
        ProbeKind::File { path: path.display().to_string(), max_age: Duration::from_secs(60) }
    }

    #[tokio::test]
    async fn a_file_says_how_it_is_while_it_is_fresh() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cn");
        let mut there = File::create(&path).unwrap();
        there.write_all(b"degraded late by 7 s\n").unwrap();
        let seen = run(file(&path), AMPLE).await;
        assert_eq!((seen.verdict, seen.detail.as_str()), (Verdict::Degraded, "late by 7 s"));
        assert_eq!(steps(&seen), ["read"]);

        let written = there.metadata().unwrap().modified().unwrap();
        there.set_modified(written - Duration::from_secs(100)).unwrap();
        assert_eq!(run(file(&path), AMPLE).await.verdict, Verdict::Unknown);
        there.set_modified(written + Duration::from_secs(100)).unwrap();
        assert_eq!(run(file(&path), AMPLE).await.verdict, Verdict::Degraded, "a clock ahead of ours");
    }

    #[tokio::test]
    async fn a_missing_file_a_folder_and_a_pipe_are_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [folder.path().join("missing"), folder.path().to_owned(), pipe] {
            let seen = run(file(&path), AMPLE).await;
            assert_eq!(seen.verdict, Verdict::Unknown, "{path:?}");
            assert!(seen.took < AMPLE / 2);
        }
    }
}

#[test]
fn a_check_is_its_probe_filled_in_for_a_region_and_an_address() {
    let regions = Regions::new(["cn", "eu"]).unwrap();
    let (cn, eu) = (regions.find("cn").unwrap(), regions.find("eu").unwrap());
    let damping = Damping {
        fall: 3,
        rise: 3,
        cooldown: Duration::from_secs(90),
        grace: Duration::ZERO,
        interval: Duration::from_secs(5),
        fast_interval: Duration::from_secs(1),
    };
    let probe = Probe {
        name: "web".to_owned(),
        kind: ProbeKind::Http(get("http://{address}:8080/{region}?key=s3cret")),
        per: Per::Endpoint,
        damping,
        timeout: Duration::from_secs(2),
        impact: Impact::Fail,
        targets: vec![(eu, "https://eu.example.com/healthz".to_owned())],
    };
    let at = |region, address: &str| CheckSpec::new(9, &probe, &regions, region, address.parse().ok());
    let check = at(cn, "2001:db8::1");
    assert_eq!(check.kind, ProbeKind::Http(get("http://[2001:db8::1]:8080/cn?key=s3cret")));
    assert_eq!(check.target(), "http://[2001:db8::1]:8080/cn");
    assert_eq!((check.id, check.timeout), (9, probe.timeout));
    assert_eq!((check.interval, check.fast_interval), (damping.interval, damping.fast_interval));
    assert_eq!(at(eu, "2001:db8::1").target(), "https://eu.example.com/healthz");
}
