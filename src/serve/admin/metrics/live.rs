//! The running sockets' and workers' counters, as the metrics want them.

use std::sync::Arc;

use super::dns::{Counted, DnsCounts, DnsNumbers, DnstapNumbers, Durations};
use crate::dns::Transport;
use crate::dns::cookie::Standing;
use crate::dns::counters::{Counters, DURATION_BOUNDS_NS, Family, Limited, QueryType, sum};
use crate::dns::wire::{Rcode, Silence};
use crate::region::geo::By;
use crate::serve::{Stats, dnstap};

const PROTOS: [(Transport, &str); 2] = [(Transport::Udp, "udp"), (Transport::Tcp, "tcp")];
const FAMILIES: [(Family, &str); 2] = [(Family::V4, "ipv4"), (Family::V6, "ipv6")];

/// What every DNS thread counts.
#[derive(Debug)]
pub struct LiveCounts {
    /// One a thread.
    pub workers: Vec<Arc<Counters>>,
    /// What the sockets count.
    pub sockets: Arc<Stats>,
    /// What became of dnstap messages; absent: dnstap is off.
    pub dnstap: Option<Arc<dnstap::Counts>>,
}

impl LiveCounts {
    fn sum(&self, one: impl Fn(&Counters) -> u64) -> u64 {
        sum(self.workers.iter().map(|worker| &**worker), one)
    }

    fn queries(&self) -> Vec<Counted<3>> {
        let mut queries = Vec::new();
        for (transport, proto) in PROTOS {
            for (family, word) in FAMILIES {
                for qtype in QueryType::ALL {
                    let count = self.sum(|worker| worker.queries(transport, family, qtype));
                    queries.push(Counted { labels: [proto, word, qtype.word()], count });
                }
            }
        }
        queries
    }

    fn responses(&self) -> Vec<Counted<2>> {
        let each = PROTOS.iter().flat_map(|pair| Rcode::ALL.map(|rcode| (pair, rcode)));
        let counted = each.map(|((transport, proto), rcode)| Counted {
            labels: [proto, rcode.word()],
            count: self.sum(|worker| worker.responses(*transport, rcode)),
        });
        counted.collect()
    }

    fn durations(&self) -> Durations {
        let mut counts = vec![0; DURATION_BOUNDS_NS.len() + 1];
        for worker in &self.workers {
            counts.iter_mut().zip(worker.durations()).for_each(|(sum, more)| *sum += more);
        }
        Durations { bounds_ns: &DURATION_BOUNDS_NS, counts, sum_ns: self.sum(Counters::duration_sum_ns) }
    }
}

impl DnsCounts for LiveCounts {
    fn numbers(&self) -> DnsNumbers {
        let sockets = &self.sockets;
        let one = |label, count| Counted { labels: [label], count };
        DnsNumbers {
            queries: self.queries(),
            responses: self.responses(),
            dropped: vec![
                one("short", self.sum(|worker| worker.silences(Silence::Short))),
                one("response", self.sum(|worker| worker.silences(Silence::Response))),
                one("port_zero", sockets.udp_port_zero.get()),
                one("send_failed", sockets.udp_send_failed.get()),
                one("panic", sockets.panics.get()),
            ],
            rate_limited: Limited::ALL
                .map(|limited| one(limited.word(), self.sum(|worker| worker.limited(limited))))
                .to_vec(),
            cookies: Standing::ALL
                .map(|standing| one(standing.word(), self.sum(|worker| worker.cookies(standing))))
                .to_vec(),
            lookups: By::ALL.map(|by| one(by.word(), self.sum(|worker| worker.lookups(by)))).to_vec(),
            durations: self.durations(),
            tcp_connections: sockets.tcp_connections.get(),
            tcp_accepted: sockets.tcp_accepted.get(),
            tcp_closed: vec![
                one("evicted", sockets.tcp_evicted.get()),
                one("idle", sockets.tcp_idle.get()),
                one("slow_writer", sockets.tcp_slow_writers.get()),
                one("slow_reader", sockets.tcp_slow_readers.get()),
                one("memory", sockets.tcp_over_memory.get()),
            ],
            panics: sockets.panics.get(),
            dnstap: self.dnstap.as_ref().map(|counts| DnstapNumbers {
                sent: counts.sent(),
                dropped: counts.dropped(),
                is_connected: counts.is_connected(),
            }),
        }
    }

    fn decisions(&self, slot: u32) -> u64 {
        self.sum(|worker| worker.decisions(slot))
    }
}
