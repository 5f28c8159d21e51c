//! The listener over real sockets.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::fixture::{Running, start};
use super::*;
use crate::control::desk::Message;
use crate::control::operate::RefusalKind;
use crate::control::status::Warning;

const CHANGES: [(&str, &str); 7] = [
    ("/api/v1/drain", r#"{"region":"cn","reason":"upgrade","for":"2h","dry_run":true}"#),
    ("/api/v1/undrain", r#"{"region":"cn"}"#),
    ("/api/v1/force", r#"{"region":"eu","state":"up","reason":"probe is wrong"}"#),
    ("/api/v1/unforce", r#"{"region":"eu"}"#),
    ("/api/v1/release", r#"{"region":"cn"}"#),
    ("/api/v1/reload", r#"{"accept_geo":true}"#),
    ("/api/v1/probe", r#"{"name":"web","region":"cn"}"#),
];

#[tokio::test]
async fn readiness_waits_for_answering_and_liveness_does_not() {
    let server = start().await;
    server.set_ready(false);
    assert_eq!(server.get("/livez").await.status, 200);
    assert_eq!(server.get("/readyz").await.status, 503);
    assert_eq!(server.get("/api/v1/status").await.json()["ready"], false);
    server.set_ready(true);
    assert_eq!(server.get("/readyz").await.status, 200);
    assert_eq!(server.get("/api/v1/status").await.json()["ready"], true);
}

#[tokio::test]
async fn status_shows_every_region_of_every_service_and_the_expanded_fallback() {
    let server = start().await;
    let status = server.get("/api/v1/status").await.json();
    assert_eq!(status["node"], "ns1");
    assert_eq!(status["fallback"]["us"], serde_json::json!(["cn", "eu"]));
    let www = &status["regions"]["cn"]["services"]["www.gslb.example.com"];
    assert_eq!(www["state"], "healthy");
    assert_eq!(www["probed"], Value::Null);
    assert_eq!(www["endpoints"][0]["state"], "unprobed");
    assert_eq!(status["regions"]["eu"]["services"].as_object().unwrap().len(), 1, "api is not in eu");
}

#[tokio::test]
async fn explain_says_what_a_client_of_cn_gets_and_what_if_cn_were_down() {
    let server = start().await;
    let target = "/api/v1/explain?name=WWW.gslb.example.com.&type=A&client=114.114.114.0%2F24";
    let as_is = server.get(target).await.json();
    assert_eq!(as_is["located"]["home"], "cn");
    assert_eq!(as_is["decision"]["region"], "cn");
    assert_eq!(as_is["source"], "ecs");
    assert_eq!(as_is["answers"].as_array().unwrap().len(), 2);
    let down = server.get(&format!("{target}&down=cn")).await.json();
    assert_eq!(down["decision"]["region"], "eu");
    assert_eq!(down["decision"]["reason"], "fallback");
    let both = server.get(&format!("{target}&down=cn&down=eu")).await.json();
    assert_eq!(both["decision"]["region"], "us");
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_a_problem_that_says_why() {
    let server = start().await;
    let cases = [
        ("name=nope.gslb.example.com&client=192.0.2.1", 404, "does not exist in the zone `gslb.example.com`"),
        ("name=example.org&client=192.0.2.1", 404, "not served"),
        ("client=192.0.2.1", 400, "`name` is missing"),
        ("name=www.gslb.example.com", 400, "`client` is missing"),
        ("name=www.gslb.example.com&client=hello", 400, "`hello` is not a client"),
        ("name=www.gslb.example.com&client=192.0.2.1/33", 400, "is not a client"),
        ("name=www.gslb.example.com&client=192.0.2.1&down=uk", 400, "the regions are cn, eu, us"),
        ("name=www.gslb.example.com&client=192.0.2.1&type=QUUX", 400, "not a record type"),
        ("name=www.gslb.example.com&clent=192.0.2.1", 400, "no parameter `clent`"),
    ];
    for (query, status, text) in cases {
        let reply = server.get(&format!("/api/v1/explain?{query}")).await;
        assert_eq!(reply.status, status, "{query}");
        assert!(reply.head.contains("content-type: application/problem+json"), "{query}");
        let problem = reply.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(text), "{query}: {problem}");
    }
}

#[tokio::test]
async fn each_change_reaches_the_operator_with_its_body_and_who_asked() {
    let server = start().await;
    let headers =
        "Host: localhost:8953\r\nContent-Type: application/json; charset=utf-8\r\nX-Waypost-User: alice\r\n";
    for (path, body) in CHANGES {
        let reply = server.post_with(path, headers, body).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    }
    let asked = server.operator.asked();
    let want = [
        r#"drain {"region":"cn","for":"2h","reason":"upgrade","dry_run":true,"force":false} by alice at 127.0.0.1"#,
        r#"undrain {"region":"cn","reason":"","dry_run":false,"force":false} by alice at 127.0.0.1"#,
        r#"force {"region":"eu","reason":"probe is wrong","state":"up","dry_run":false,"force":false} by alice at 127.0.0.1"#,
        r#"unforce {"region":"eu","reason":"","dry_run":false,"force":false} by alice at 127.0.0.1"#,
        "release cn by alice at 127.0.0.1",
        "reload true false by alice at 127.0.0.1",
        r#"probe web Some("cn")"#,
    ];
    assert_eq!(asked, want);
}

#[tokio::test]
async fn no_other_sites_page_can_change_anything() {
    let server = start().await;
    let json = "Content-Type: application/json\r\n";
    for (path, body) in CHANGES {
        for host in [
            "Host: evil.example\r\n",
            "Host: evil.example:8953\r\n",
            "",
            "Host: 127.0.0.1\r\nHost: evil.example\r\n",
        ] {
            let reply = server.post_with(path, &format!("{host}{json}"), body).await;
            assert!(matches!(reply.status, 400 | 403), "{path} {host:?}: {}", reply.status);
        }
        for kind in
            ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"]
        {
            let reply = server.post_with(path, &format!("Host: 127.0.0.1\r\n{kind}"), body).await;
            assert_eq!(reply.status, 415, "{path} {kind:?}");
        }
    }
    let absolute = server
        .post_with("http://evil.example/api/v1/drain", &format!("Host: 127.0.0.1\r\n{json}"), "{}")
        .await;
    assert_eq!(absolute.status, 403, "the target's own authority counts");
    assert_eq!(server.operator.asked(), Vec::<String>::new());
    for target in ["/", "/metrics", "/api/v1/status", "/nowhere"] {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: a\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n"
        );
        let reply = server.raw(request.as_bytes()).await;
        assert!(!reply.head.contains("access-control-"), "{target}");
        assert!(reply.head.contains("x-content-type-options: nosniff"), "{target}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_understood_changes_nothing() {
    let server = start().await;
    let cases = [
        ("/api/v1/drain", r#"{"region":"cn","serivce":"*"}"#, 400, "serivce"),
        ("/api/v1/drain", r#"{"region":"cn","region":"eu"}"#, 400, "duplicate"),
        ("/api/v1/drain", r#"{"reason":"no region"}"#, 400, "region"),
        ("/api/v1/drain", "", 400, "the body"),
        ("/api/v1/drain", r#"{"region":7}"#, 400, "the body"),
        ("/api/v1/reload", r#"{"accept":true}"#, 400, "accept"),
        ("/api/v1/probe", "{}", 400, "name"),
        ("/demo/break", "nonsense", 400, "the body"),
    ];
    for (path, body, status, text) in cases {
        let reply = server.post(path, body).await;
        assert_eq!(reply.status, status, "{path} {body}");
        assert!(reply.json()["detail"].as_str().unwrap().contains(text), "{}", reply.body);
    }
    let long = format!(r#"{{"region":"{}"}}"#, "x".repeat(MAX_BODY_BYTES));
    assert_eq!(server.post("/api/v1/drain", &long).await.status, 413);
    assert_eq!(server.operator.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_refusal_tells_the_rule_the_hint_and_what_would_have_moved() {
    let server = start().await;
    server.operator.refuse(RefusalKind::Guard, "no region would be left");
    let reply = server.post("/api/v1/drain", r#"{"region":"cn"}"#).await;
    assert_eq!(reply.status, 409);
    let problem = reply.json();
    assert_eq!(problem["type"], "urn:waypost:guard");
    assert_eq!(problem["detail"], "no region would be left");
    assert_eq!(problem["hint"], "think again");
    assert!(problem["rule"].as_str().unwrap().contains("last able region"));
    assert_eq!(problem["preview"]["moves"][0]["to"], "eu");
    server.operator.refuse(RefusalKind::Stopping, "bye");
    assert_eq!(server.post("/api/v1/reload", "{}").await.status, 503);
    let metrics = server.get("/metrics").await.body;
    assert!(metrics.contains("waypost_admin_actions_total{action=\"drain\",result=\"refused\"} 1\n"));
    assert!(metrics.contains("waypost_admin_actions_total{action=\"reload\",result=\"failed\"} 1\n"));
}

#[tokio::test]
async fn a_method_that_does_not_go_with_a_path_is_told_which_do() {
    let server = start().await;
    for path in ["/", "/livez", "/metrics", "/api/v1/status"] {
        let reply = server.post(path, "{}").await;
        assert_eq!(reply.status, 405, "{path}");
        assert!(reply.head.contains("allow: get, head"), "{path}");
    }
    for (path, _) in CHANGES {
        let reply = server.get(path).await;
        assert_eq!(reply.status, 405, "{path}");
        assert!(reply.head.contains("allow: post"), "{path}");
    }
    let head = server.raw(b"HEAD /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[tokio::test]
async fn what_is_not_built_yet_says_so() {
    let server = start().await;
    assert_eq!(server.post("/api/v1/emergency", "{}").await.status, 501);
    for path in ["/api/v1/events", "/api/v1/stream"] {
        let reply = server.get(path).await;
        assert_eq!(reply.status, 404);
        assert!(reply.body.contains("not built yet"));
    }
    for path in ["/nowhere", "/api/v1/", "/api/v1/status/", "//", "/demo/mend"] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_demos_own_routes_are_held_to_the_same_rules() {
    let server = start().await;
    let reply = server.post("/demo/break", r#"{"region":"cn"}"#).await;
    assert_eq!(reply.json(), serde_json::json!({ "path": "/demo/break", "body": { "region": "cn" } }));
    assert_eq!(server.get("/demo/break").await.status, 405);
    assert_eq!(server.post_with("/demo/break", "Host: evil.example\r\n", "{}").await.status, 403);
}

#[tokio::test]
async fn a_panic_in_one_request_costs_that_request_alone() {
    let server = start().await;
    let reply = server.post("/api/v1/drain", r#"{"region":"panic"}"#).await;
    assert_eq!(reply.status, 500);
    assert!(!reply.body.contains("a fault on purpose"), "the cause is for the log");
    assert_eq!(server.get("/livez").await.status, 200);
}

#[tokio::test]
async fn heads_are_bounded_in_bytes_and_in_number() {
    let server = start().await;
    let long = format!("GET /livez HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(2 * MAX_HEAD_BYTES));
    assert_eq!(server.raw(long.as_bytes()).await.status, 431);
    let many = format!("GET /livez HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(2 * MAX_HEADERS));
    assert_eq!(server.raw(many.as_bytes()).await.status, 431);
}

#[tokio::test]
async fn clients_that_dawdle_block_nobody_and_lose_their_places() {
    let server = start().await;
    let mut slow = Vec::new();
    for _ in 0..MAX_CONNECTIONS - 1 {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(b"GET /livez HT").await.unwrap();
        slow.push(stream);
    }
    assert_eq!(server.get("/livez").await.status, 200, "one place is left");
    let mut last = TcpStream::connect(server.addr).await.unwrap();
    last.write_all(b"GET /li").await.unwrap();
    until(&server, 0, "beyond the last place a connection is closed").await;
    for stream in &mut slow {
        let read = timeout(HEAD_DEADLINE * 3, stream.read_to_end(&mut Vec::new())).await;
        read.expect("half a head is cut off at the deadline").ok();
    }
    until(&server, 200, "the places are free again").await;
}

/// Asks until the answer has that status; 0: none comes.
async fn until(server: &Running, status: u16, what: &str) {
    let asking = async { while server.get("/livez").await.status != status {} };
    timeout(HEAD_DEADLINE * 3, asking).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn a_body_that_dawdles_is_cut_off() {
    let server = start().await;
    let head = "POST /api/v1/drain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Content-Length: 20\r\nConnection: close\r\n\r\n{\"region\":";
    assert_eq!(server.raw(head.as_bytes()).await.status, 408);
}

#[tokio::test]
async fn the_journal_is_handed_out_after_a_serial() {
    let server = start().await;
    let line = |serial: u64, cause: &str| format!("{{\"serial\":{serial},\"cause\":\"{cause}\"}}\n");
    let journal = [line(9, "probe"), line(1, "start"), line(2, "probe"), line(3, "order")].concat();
    std::fs::write(server.dir.path().join("journal.jsonl"), journal).unwrap();
    let reply = server.get("/api/v1/journal?since=1").await;
    assert_eq!(reply.body, line(2, "probe") + &line(3, "order"));
    assert!(reply.head.contains("x-waypost-more: false"));
    assert!(reply.head.contains("content-type: application/x-ndjson"));
    assert_eq!(server.get("/api/v1/journal?since=x").await.status, 400);
    assert_eq!(server.get("/api/v1/journal").await.body.lines().count(), 3);
}

#[tokio::test]
async fn the_page_runs_nothing_and_escapes_what_comes_from_elsewhere() {
    let server = start().await;
    let text = "probe said <script>alert(\"1\")</script> & 'more'".to_owned();
    server.handle.tell(Message::Warn(Warning { code: "odd", text, since: "now".into() }));
    let page = server.get("/").await;
    assert!(page.head.contains("content-security-policy: default-src 'none'"));
    assert!(page.head.contains("content-type: text/html; charset=utf-8"));
    assert!(page.body.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;"));
    assert!(!page.body.contains("<script"));
    assert!(page.body.contains("www.gslb.example.com"));
}

#[tokio::test]
async fn the_scrape_of_a_running_server_is_clean() {
    let server = start().await;
    let reply = server.get("/metrics").await;
    assert!(reply.head.contains("content-type: text/plain; version=0.0.4"));
    let samples = metrics::lint::check(&reply.body);
    for (series, value) in [
        ("waypost_dns_queries_total{proto=\"udp\",family=\"ipv4\",qtype=\"A\"}", "5"),
        ("waypost_dns_response_duration_seconds_bucket{le=\"0.000002\"}", "4"),
        ("waypost_dns_response_duration_seconds_count{}", "5"),
        ("waypost_region_state{service=\"www.gslb.example.com\",region=\"cn\",state=\"healthy\"}", "1"),
        ("waypost_region_state{service=\"www.gslb.example.com\",region=\"cn\",state=\"failed\"}", "0"),
        ("waypost_fail_open{service=\"api.gslb.example.com\"}", "0"),
        ("waypost_admin_file_valid{}", "0"),
        ("waypost_admin_file_error_line{}", "12"),
        ("waypost_config_last_reload_success{}", "1"),
    ] {
        assert_eq!(samples.get(series).map(String::as_str), Some(value), "{series} in\n{}", reply.body);
    }
}

#[tokio::test]
async fn it_ends_when_told_and_answers_what_is_in_hand() {
    let server = start().await;
    // A connection that is open and silent does not hold the end up.
    let mut idle = TcpStream::connect(server.addr).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    server.stop.send(true).unwrap();
    timeout(STOP_DEADLINE + Duration::from_secs(3), server.served).await.expect("it ends").unwrap();
    assert!(TcpStream::connect(server.addr).await.is_err(), "nobody listens any more");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bytes_of_any_kind_never_end_the_listener(bytes in prop::collection::vec(any::<u8>(), 0..512), path in "[ -~]{0,40}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = start().await;
            let mut stream = TcpStream::connect(server.addr).await.unwrap();
            let _ = stream.write_all(&bytes).await;
            drop(stream);
            let request = format!("GET /{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            server.raw(request.as_bytes()).await;
            assert_eq!(server.get("/livez").await.status, 200);
        });
    }
}
