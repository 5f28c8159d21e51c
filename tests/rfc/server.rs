//! A server without sockets: zones as text, at wish a service in them.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use waypost::dns::answer::{AnswerTable, HomeReply, Records, ServiceAnswers, Slot, TtlRule};
use waypost::dns::zone::{BoundService, Notice, ZoneFile, Zones};
use waypost::dns::{MAX_TCP_SIZE, Query, Settings, Transport, View, Worker, respond};
use waypost::health::Mono;
use waypost::region::RegionId;
use waypost::region::geo::{GeoTable, Network, Rules};

use crate::ask::{Answer, Ask};

/// Who asks, unless a test says otherwise; nothing places it.
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 99));

/// What the server tells of itself (RFC 5001).
pub(crate) const NSID: &[u8] = b"ns1";

/// Largest answer over UDP.
pub(crate) const MAX_UDP_SIZE: u16 = 1232;

/// How a zone begins.
const HEAD: &str = "@ 3600 SOA ns hostmaster 1 7200 900 1209600 300\n@ 3600 NS ns\nns 3600 A 192.0.2.53\n";

/// Everything that answers depend on, and what a worker has of its own.
pub(crate) struct Server {
    view: View,
    worker: RefCell<(Worker, Vec<u8>)>,
}

impl Server {
    /// A server with one zone. The SOA record is `apex 3600 SOA ns.apex … minimum 300`, its NS record `apex 3600 NS
    /// ns.apex` with an address; the text has the rest, relative to the apex.
    pub(crate) fn zone(apex: &str, text: &str) -> Self {
        Self::zones(&[(apex, text)])
    }

    pub(crate) fn zones(zones: &[(&str, &str)]) -> Self {
        let zones: Vec<_> = zones.iter().map(|(apex, text)| (*apex, format!("{HEAD}{text}\n"))).collect();
        Self::build(&zones, &[]).unwrap_or_else(|notices| panic!("{notices:?}"))
    }

    /// A zone that is all in its text, SOA and NS records too.
    pub(crate) fn bare(apex: &str, text: &str) -> Self {
        Self::build(&[(apex, text.to_owned())], &[]).unwrap_or_else(|notices| panic!("{notices:?}"))
    }

    /// The zone with the service `www` in it: A and AAAA records by region. The clients of 198.18.0.0/15 and 2001:db8::/32
    /// have their home in the first region, everybody else in the second.
    pub(crate) fn with_service(apex: &str, text: &str) -> Self {
        Self::with_service_at("www", apex, text)
    }

    /// The same with the service at this name of the zone.
    pub(crate) fn with_service_at(name: &str, apex: &str, text: &str) -> Self {
        let service = BoundService {
            name: format!("{name}.{}", apex.trim_end_matches('.')),
            line: 1,
            a: true,
            aaaa: true,
            cname: false,
        };
        Self::build(&[(apex, format!("{HEAD}{text}\n"))], &[service])
            .unwrap_or_else(|notices| panic!("{notices:?}"))
    }

    /// What a zone is refused for.
    pub(crate) fn refusal(apex: &str, text: &str) -> String {
        let refused = Self::build(&[(apex, format!("{HEAD}{text}\n"))], &[]).err().expect("it is refused");
        refused.iter().map(Notice::to_string).collect::<Vec<_>>().join("\n")
    }

    fn build(zones: &[(&str, String)], services: &[BoundService]) -> Result<Self, Vec<Notice>> {
        let files: Vec<ZoneFile> = zones
            .iter()
            .map(|(apex, text)| ZoneFile {
                path: format!("{apex}zone").into(),
                text: format!("$ORIGIN {apex}\n$TTL 600\n{text}\n"),
            })
            .collect();
        let (zones, _) = Zones::build(&files, services)?;
        let view = View {
            zones: Arc::new(zones),
            geo: Arc::new(GeoTable::build(&rules(), None)),
            answers: AnswerTable::new(services.iter().map(|_| Arc::new(answers())).collect()),
            settings: Arc::new(Settings {
                max_udp_size: MAX_UDP_SIZE,
                nsid: NSID.to_vec(),
                ..Settings::default()
            }),
        };
        Ok(Self { view, worker: RefCell::new((Worker::new(), vec![0; MAX_TCP_SIZE])) })
    }

    pub(crate) fn settings(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.view.settings)
    }

    /// A plain query over UDP.
    pub(crate) fn ask(&self, name: &str, qtype: u16) -> Answer {
        self.udp(&Ask::new(name, qtype).edns(MAX_UDP_SIZE))
    }

    pub(crate) fn udp(&self, ask: &Ask) -> Answer {
        self.send(&ask.bytes())
    }

    pub(crate) fn tcp(&self, ask: &Ask) -> Answer {
        self.over(Transport::Tcp, PEER, &ask.bytes()).expect("an answer")
    }

    /// Over UDP from this address.
    pub(crate) fn from(&self, peer: &str, ask: &Ask) -> Answer {
        self.over(Transport::Udp, peer.parse().unwrap(), &ask.bytes()).expect("an answer")
    }

    /// Bytes over UDP.
    pub(crate) fn send(&self, bytes: &[u8]) -> Answer {
        self.datagram(bytes).expect("an answer")
    }

    /// Bytes over UDP, which may be met with silence.
    pub(crate) fn datagram(&self, bytes: &[u8]) -> Option<Answer> {
        self.over(Transport::Udp, PEER, bytes)
    }

    /// The bytes of an answer over UDP, for what the decoder does not read.
    pub(crate) fn bytes(&self, ask: &Ask) -> Vec<u8> {
        self.respond(Transport::Udp, PEER, &ask.bytes())
    }

    fn over(&self, transport: Transport, peer: IpAddr, bytes: &[u8]) -> Option<Answer> {
        let answer = self.respond(transport, peer, bytes);
        (!answer.is_empty()).then(|| Answer::decode(answer))
    }

    fn respond(&self, transport: Transport, peer: IpAddr, bytes: &[u8]) -> Vec<u8> {
        let (worker, out) = &mut *self.worker.borrow_mut();
        let query = Query { bytes, peer, transport, now: Mono(0), wall_s: 0 };
        let len = respond(&self.view, worker, query, out);
        out[..len].to_vec()
    }
}

fn rules() -> Rules {
    let networks = [("198.18.0.0", 15), ("2001:db8::", 32)];
    let networks =
        networks.map(|(addr, len)| (Network::around(addr.parse().unwrap(), len).unwrap(), region(0)));
    Rules { networks: networks.to_vec(), ..Rules::everybody(region(1)) }
}

fn region(index: usize) -> RegionId {
    RegionId::new(index).unwrap()
}

/// The service's answers: `192.0.home.1` and `.2`, `2001:db8:home::1`.
fn answers() -> ServiceAnswers {
    let reply = |home: u8| HomeReply {
        records: Records::Addresses {
            v4: (1..=2).map(|host| Ipv4Addr::new(192, 0, home, host)).collect(),
            v6: vec![Ipv6Addr::new(0x2001, 0xdb8, home.into(), 0, 0, 0, 0, 1)],
        },
        ttl: TtlRule { ttl_s: 30, min_s: 5, deadline: None },
        slot: Slot { mapped: u32::from(home), unmapped: 2 + u32::from(home) },
    };
    ServiceAnswers::encode(&[reply(0), reply(1)])
}
