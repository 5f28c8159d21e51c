//! Response rate limiting: how many full answers over UDP one prefix of source addresses gets.
//!
//! UDP sources can be forged, so a name server can be made to send its answers to somebody who never asked. Beyond the
//! rate a source gets answers without content, marked truncated: no longer than the query, so that nothing is amplified,
//! and a resolver that really asked comes back over TCP, where sources can't be forged.
//!
//! What counts is who asks and never what for. A resolver that asks once for each client subnet asks the same
//! question thousands of times, and a limit by question would hit exactly the resolvers that this server is for. Whole
//! prefixes have limits too, since a forger can spread over a network: wider ones get a multiple of an address's rate,
//! far less than the number of their addresses ([`V4_PREFIXES`], [`V6_PREFIXES`]).
//!
//! A counter is one number: the moment until which the prefix has used up its answers (the generic cell rate
//! algorithm, ITU-T I.371, as a virtual scheduling queue). An answer moves it on by the answer's price in time; time
//! passing is its decay, which hence costs nothing. An answer passes while the moment lies within the burst's worth of
//! time from now. Prefixes share counters when their hashes collide, and then their answers add up: a collision can
//! only limit more.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::health::Mono;
use crate::region::geo::Network;

/// Counters in the table: 4 MiB of them, for every worker together.
pub const CELLS: usize = 1 << 19;

/// Prefix lengths of IPv4, and what they get as a multiple of what one address gets. The numbers are Knot DNS's: a /24
/// as much as 32 of its 256 addresses, and the wider the prefix, the smaller the share, because the more is forged
/// when all of it is busy.
pub const V4_PREFIXES: [(u8, u64); 4] = [(32, 1), (24, 32), (20, 256), (18, 768)];

/// The same for IPv6, again as in Knot DNS: a customer may have a /64, a /56 or a /48 at will, so that these get hardly
/// more than one address; a /32 is a provider.
pub const V6_PREFIXES: [(u8, u64); 5] = [(128, 1), (64, 2), (56, 3), (48, 4), (32, 64)];

/// Set in the length of IPv4 prefixes, so that none of them is the counter of an IPv6 prefix with the same bits.
const V4: u8 = 0x80;

/// Moments are counted in milliseconds with this many binary places: 60 ps, finer than the price of an answer at the
/// highest rate, and enough for 34 years.
const FRACTION_BITS: u32 = 24;

/// One second.
const SECOND: u64 = 1000 << FRACTION_BITS;

/// How far one worker's clock is behind another's at most: far more than a batch of queries takes.
const CLOCK_SKEW: u64 = SECOND;

/// The rate that the operator set, in the units of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whether answers are only counted, and none is limited.
    pub dry_run: bool,
    /// What an answer costs, by prefix, in time.
    v4_prices: [u64; V4_PREFIXES.len()],
    v6_prices: [u64; V6_PREFIXES.len()],
    /// How far ahead of now a counter may be: the time that a burst costs. The same for every prefix, because rate and
    /// burst have the same multiple.
    credit: u64,
    exempt: Exempt,
}

impl Rule {
    /// A limit of `per_second` answers a second to one address, and `burst` at once; both at least 1. Sources in
    /// `exempt` are neither limited nor counted.
    pub fn new(per_second: u32, burst: u32, dry_run: bool, exempt: &[Network]) -> Self {
        // Rounded up: never more than the rate.
        let price = |multiple: u64| SECOND.div_ceil(u64::from(per_second.max(1)) * multiple);
        Self {
            dry_run,
            v4_prices: V4_PREFIXES.map(|(_, multiple)| price(multiple)),
            v6_prices: V6_PREFIXES.map(|(_, multiple)| price(multiple)),
            credit: price(1).saturating_mul(u64::from(burst.max(1))),
            exempt: Exempt::new(exempt),
        }
    }
}

/// The counters of all prefixes, shared by all workers and kept over reloads. Never grows.
#[derive(Debug)]
pub struct Table {
    /// Moments until which prefixes have used up their answers.
    cells: Box<[AtomicU64]>,
    key: [u64; 4],
}

impl Table {
    /// Counters at rest. `key` is random and secret: who knows it can forge sources whose counters are another's.
    pub fn new(key: [u64; 4]) -> Self {
        Self { cells: (0..CELLS).map(|_| AtomicU64::new(0)).collect(), key }
    }

    /// Takes the price of one answer to `peer` from each of its prefixes; false: one of them has used up its answers.
    ///
    /// Over `t` seconds at most `per_second × t + burst` answers to one address pass, and that times its multiple for
    /// each wider prefix. What is refused costs nothing, and writes nothing: a flood does not move counters between
    /// processors.
    pub fn admit(&self, rule: &Rule, peer: IpAddr, now: Mono) -> bool {
        let now = now.0.saturating_mul(1 << FRACTION_BITS);
        match peer.to_canonical() {
            IpAddr::V4(addr) => {
                rule.exempt.has_v4(addr) || take(now, rule.credit, &self.v4_charges(rule, addr))
            }
            IpAddr::V6(addr) => {
                rule.exempt.has_v6(addr) || take(now, rule.credit, &self.v6_charges(rule, addr))
            }
        }
    }

    fn v4_charges(&self, rule: &Rule, addr: Ipv4Addr) -> [Charge<'_>; V4_PREFIXES.len()] {
        let bits = u64::from(addr.to_bits());
        std::array::from_fn(|number| {
            let (len, _) = V4_PREFIXES[number];
            let prefix = bits >> (32 - len);
            Charge { cell: self.cell(0, prefix, V4 | len), price: rule.v4_prices[number] }
        })
    }

    fn v6_charges(&self, rule: &Rule, addr: Ipv6Addr) -> [Charge<'_>; V6_PREFIXES.len()] {
        let bits = addr.to_bits();
        std::array::from_fn(|number| {
            let (len, _) = V6_PREFIXES[number];
            let prefix = bits >> (128 - len);
            Charge {
                cell: self.cell((prefix >> 64) as u64, prefix as u64, len),
                price: rule.v6_prices[number],
            }
        })
    }

    /// The counter of a prefix; `len` tells the family too. A keyed mix of three wide multiplications: cheap, and with an unknown key nobody can
    /// say which prefixes collide.
    fn cell(&self, high: u64, low: u64, len: u8) -> &AtomicU64 {
        let [k0, k1, k2, k3] = self.key;
        let mixed = fold(high ^ k0 ^ u64::from(len), k1);
        let mixed = fold(mixed ^ low, k2);
        let mixed = fold(mixed ^ k3, k1 ^ k2);
        &self.cells[mixed as usize % CELLS]
    }
}

/// Takes every charge, or none; but for a race with another worker over the last answer of a prefix: then the prefixes
/// before it in order have paid for an answer that was refused.
fn take(now: u64, credit: u64, charges: &[Charge<'_>]) -> bool {
    let end = now.saturating_add(credit);
    if charges.iter().all(|charge| charge.fits(now, end)) {
        return charges.iter().all(|charge| charge.take(now, end));
    }
    charges.iter().for_each(|charge| charge.forgive(end));
    false
}

/// Both halves of the product, so that every bit of either factor reaches the low bits. The second factor is odd.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b | 1);
    product as u64 ^ (product >> 64) as u64
}

/// What one answer takes from one counter.
struct Charge<'t> {
    cell: &'t AtomicU64,
    price: u64,
}

// Relaxed throughout: each counter stands for itself, and nothing else is published by it.
impl Charge<'_> {
    fn after(&self, used_until: u64, now: u64) -> u64 {
        used_until.max(now).saturating_add(self.price)
    }

    fn fits(&self, now: u64, end: u64) -> bool {
        self.after(self.cell.load(Ordering::Relaxed), now) <= end
    }

    fn take(&self, now: u64, end: u64) -> bool {
        let paid =
            |used_until: u64| Some(self.after(used_until, now)).filter(|&used_until| used_until <= end);
        self.cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, paid).is_ok()
    }

    /// Takes back what was owed under an earlier rule with a longer credit, which else could bar a source for days.
    fn forgive(&self, end: u64) {
        let used_until = self.cell.load(Ordering::Relaxed);
        if used_until > end.saturating_add(CLOCK_SKEW) {
            // Whoever was faster did the same, or has just been paid.
            let _ = self.cell.compare_exchange(used_until, end, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Networks that are not limited: first and last addresses, sorted, disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Exempt {
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
}

impl Exempt {
    fn new(networks: &[Network]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for network in networks {
            match network.addr {
                IpAddr::V4(addr) => {
                    let hosts = u32::MAX.checked_shr(network.len.into()).unwrap_or(0);
                    v4.push((addr.to_bits() & !hosts, addr.to_bits() | hosts));
                }
                IpAddr::V6(addr) => {
                    let hosts = u128::MAX.checked_shr(network.len.into()).unwrap_or(0);
                    v6.push((addr.to_bits() & !hosts, addr.to_bits() | hosts));
                }
            }
        }
        Self { v4: disjoint(v4), v6: disjoint(v6) }
    }

    fn has_v4(&self, addr: Ipv4Addr) -> bool {
        holds(&self.v4, addr.to_bits())
    }

    fn has_v6(&self, addr: Ipv6Addr) -> bool {
        holds(&self.v6, addr.to_bits())
    }
}

/// Sorted, without the networks that lie inside others: two networks never overlap otherwise.
fn disjoint<A: Copy + Ord>(mut ranges: Vec<(A, A)>) -> Box<[(A, A)]> {
    ranges.sort_by(|(first, last), (other_first, other_last)| {
        first.cmp(other_first).then(other_last.cmp(last))
    });
    let mut kept: Vec<(A, A)> = Vec::with_capacity(ranges.len());
    for range in ranges {
        if kept.last().is_none_or(|(_, last)| range.0 > *last) {
            kept.push(range);
        }
    }
    kept.into()
}

fn holds<A: Copy + Ord>(ranges: &[(A, A)], addr: A) -> bool {
    let before = ranges.partition_point(|(first, _)| *first <= addr);
    before.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|(_, last)| addr <= *last)
}

#[cfg(test)]
mod tests;
