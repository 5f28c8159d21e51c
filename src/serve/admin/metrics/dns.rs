//! What the DNS sockets and workers have counted.

use super::text::{Family, Kind, Text};
use crate::control::slots::Slots;

/// The reading end of the sockets' and workers' counters, summed over workers.
pub trait DnsCounts: Send + Sync {
    /// Everything but decisions.
    fn numbers(&self) -> DnsNumbers;

    /// Decisions counted at a position of [`Slots`]; position 0 counts those that found no other.
    fn decisions(&self, slot: u32) -> u64;
}

/// One number under up to three labels, whose names are the family's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<const LABELS: usize> {
    /// The labels' values.
    pub labels: [&'static str; LABELS],
    /// The number.
    pub count: u64,
}

/// The counters at one moment. All but the connections only grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DnsNumbers {
    /// By `proto` (udp, tcp), `family` (ipv4, ipv6) and `qtype` (A, …, other).
    pub queries: Vec<Counted<3>>,
    /// By `proto` and `rcode`.
    pub responses: Vec<Counted<2>>,
    /// By `reason`.
    pub dropped: Vec<Counted<1>>,
    /// By `action`.
    pub rate_limited: Vec<Counted<1>>,
    /// Well-formed cookies, by what they say: `result`.
    pub cookies: Vec<Counted<1>>,
    /// By what placed the client: `by`.
    pub lookups: Vec<Counted<1>>,
    /// How long answers took.
    pub durations: Durations,
    /// Open TCP connections, now.
    pub tcp_connections: u64,
    /// TCP connections accepted.
    pub tcp_accepted: u64,
    /// TCP connections that the server closed, by `reason`.
    pub tcp_closed: Vec<Counted<1>>,
    /// Queries lost to a fault of the program.
    pub panics: u64,
    /// What became of dnstap messages; absent: dnstap is off.
    pub dnstap: Option<DnstapNumbers>,
}

/// dnstap's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DnstapNumbers {
    /// Messages handed to the collector.
    pub sent: u64,
    /// Messages dropped.
    pub dropped: u64,
    /// Whether a collector is connected, now.
    pub is_connected: bool,
}

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Durations {
    /// Upper bounds of the buckets in nanoseconds, ascending.
    pub bounds_ns: &'static [u64],
    /// Answers a bucket, each without those below it; one more than bounds, for the rest.
    pub counts: Vec<u64>,
    /// All of them together, in nanoseconds.
    pub sum_ns: u64,
}

pub(super) fn write(text: &mut Text, counts: &dyn DnsCounts, slots: &Slots) {
    let numbers = counts.numbers();
    let mut queries = text.family(
        "waypost_dns_queries_total",
        Kind::Counter,
        "Queries, by transport, client's family and type.",
    );
    put_all(&mut queries, ["proto", "family", "qtype"], &numbers.queries);
    let mut responses =
        text.family("waypost_dns_responses_total", Kind::Counter, "Answers, by transport and code.");
    put_all(&mut responses, ["proto", "rcode"], &numbers.responses);
    durations(text, &numbers.durations);
    let mut dropped =
        text.family("waypost_dns_dropped_total", Kind::Counter, "Messages that got no answer, by reason.");
    put_all(&mut dropped, ["reason"], &numbers.dropped);
    let mut limited = text.family(
        "waypost_dns_rate_limited_total",
        Kind::Counter,
        "Answers that the rate limit changed, by what it did.",
    );
    put_all(&mut limited, ["action"], &numbers.rate_limited);
    let mut cookies = text.family(
        "waypost_dns_cookies_total",
        Kind::Counter,
        "Queries with a well-formed DNS cookie, by whether its server half is missing, valid or invalid.",
    );
    put_all(&mut cookies, ["result"], &numbers.cookies);
    text.family("waypost_dns_tcp_connections", Kind::Gauge, "Open TCP connections.")
        .put(&[], numbers.tcp_connections);
    text.family("waypost_dns_tcp_accepted_total", Kind::Counter, "TCP connections accepted.")
        .put(&[], numbers.tcp_accepted);
    let mut closed = text.family(
        "waypost_dns_tcp_closed_total",
        Kind::Counter,
        "TCP connections that the server closed, by reason.",
    );
    put_all(&mut closed, ["reason"], &numbers.tcp_closed);
    text.family("waypost_dns_panics_total", Kind::Counter, "Queries lost to a fault of the program.")
        .put(&[], numbers.panics);
    if let Some(numbers) = numbers.dnstap {
        dnstap(text, numbers);
    }
    let mut lookups =
        text.family("waypost_geo_lookups_total", Kind::Counter, "Clients looked up, by what placed them.");
    put_all(&mut lookups, ["by"], &numbers.lookups);
    decisions(text, counts, slots);
}

fn dnstap(text: &mut Text, numbers: DnstapNumbers) {
    text.family("waypost_dns_dnstap_frames_total", Kind::Counter, "dnstap messages handed to the collector.")
        .put(&[], numbers.sent);
    text.family(
        "waypost_dns_dnstap_dropped_total",
        Kind::Counter,
        "dnstap messages dropped: the collector is gone, or slower than the queries.",
    )
    .put(&[], numbers.dropped);
    text.family("waypost_dns_dnstap_connected", Kind::Gauge, "Whether a dnstap collector is connected.")
        .put(&[], u8::from(numbers.is_connected));
}

fn put_all<const LABELS: usize>(family: &mut Family<'_>, names: [&str; LABELS], all: &[Counted<LABELS>]) {
    for counted in all {
        let mut labels = [("", ""); LABELS];
        for (label, (name, value)) in labels.iter_mut().zip(names.into_iter().zip(counted.labels)) {
            *label = (name, value);
        }
        family.put(&labels, counted.count);
    }
}

fn durations(text: &mut Text, durations: &Durations) {
    let mut family = text.family(
        "waypost_dns_response_duration_seconds",
        Kind::Histogram,
        "From a query's receipt to before its answer is sent; the mean of each batch.",
    );
    let mut below = 0;
    for (bound_ns, count) in durations.bounds_ns.iter().zip(&durations.counts) {
        below += count;
        let bound_s = (*bound_ns as f64 / 1e9).to_string();
        family.put_as("_bucket", &[("le", &bound_s)], below);
    }
    let all: u64 = durations.counts.iter().sum();
    family.put_as("_bucket", &[("le", "+Inf")], all);
    family.put_as("_sum", &[], durations.sum_ns as f64 / 1e9);
    family.put_as("_count", &[], all);
}

/// One series for each decision that has occurred in a published state, counted or not.
fn decisions(text: &mut Text, counts: &dyn DnsCounts, slots: &Slots) {
    let mut family = text.family(
        "waypost_decisions_total",
        Kind::Counter,
        "Answers of services, by the client's home region, the region answered, and the reason.",
    );
    for label in slots.labels() {
        let labels = [
            ("service", label.service),
            ("home", label.home),
            ("answer", label.answer),
            ("reason", label.reason),
        ];
        family.put(&labels, counts.decisions(label.slot));
    }
    let others = counts.decisions(0);
    if others > 0 {
        let labels = [("service", "other"), ("home", "other"), ("answer", "other"), ("reason", "other")];
        family.put(&labels, others);
    }
}
