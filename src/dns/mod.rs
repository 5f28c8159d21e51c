//! Query bytes to answer bytes: one function for every transport.

pub mod answer;
pub mod edns;
pub mod wire;
pub mod zone;

use std::net::IpAddr;
use std::sync::Arc;

use crate::health::Mono;
use crate::region::geo::GeoTable;

/// What one query may see: one consistent state of zones, geo data, health and settings.
#[derive(Clone, Debug)]
pub struct View {
    /// Every name of every zone.
    pub zones: Arc<zone::Zones>,
    /// Where clients are.
    pub geo: Arc<GeoTable>,
    /// What each service answers, by the service index that the zones hold.
    pub answers: answer::AnswerTable,
    /// What the operator set.
    pub settings: Arc<Settings>,
}

/// What the operator set for answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest UDP answer in bytes.
    pub max_udp_size: u16,
    /// NSID; empty: none is answered (RFC 5001).
    pub nsid: Vec<u8>,
    /// Whether client subnets decide.
    pub ecs: bool,
}

/// How a query came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Transport {
    Udp,
    Tcp,
}

/// One query as it came off a socket.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The message.
    pub bytes: &'a [u8],
    /// Who asks.
    pub peer: IpAddr,
    /// How.
    pub transport: Transport,
    /// When.
    pub now: Mono,
}

/// Answers one query into `out` and returns the answer's length; zero means silence (and, over TCP, the end of the
/// connection). Allocates nothing, locks nothing, waits for nothing.
///
/// `out` holds at least [`Settings::max_udp_size`] bytes for UDP and 65,535 for TCP.
pub fn respond(view: &View, worker: &mut Worker, query: Query<'_>, out: &mut [u8]) -> usize {
    let _ = (view, worker, query, out);
    0
}

/// What belongs to one worker: its counters.
#[derive(Debug, Default)]
pub struct Worker {}

/// STUB
pub const MAX_CHAIN: usize = 16;
impl Settings {
    /// STUB
    pub fn stub() -> Self {
        Self { max_udp_size: 1232, nsid: Vec::new(), ecs: true }
    }
}
