//! A fixed sample of networks, to tell how much a new geo file moves and how much it leaves unmapped.

use std::net::IpAddr;

use super::super::enumerate::scramble;
use super::{Bits, By, GeoTable, special};

/// Networks sampled in each family.
const SAMPLES_PER_FAMILY: u64 = 4096;

/// The IPv6 blocks that registries hand out from (IANA's list of global unicast assignments, without small ones); most
/// of the rest of 2000::/3 is empty, and a sample of it would say nothing.
const HANDED_OUT_V6: [(u128, u8); 8] = [
    (0x2001_0200 << 96, 23),
    (0x2001_0c00 << 96, 22),
    (0x2400 << 112, 12),
    (0x2600 << 112, 12),
    (0x2800 << 112, 12),
    (0x2a00 << 112, 12),
    (0x2a10 << 112, 12),
    (0x2c00 << 112, 12),
];

impl GeoTable {
    /// Share of sampled networks whose home differs between the two tables, 0 to 1. Networks that neither table places
    /// say nothing and do not count.
    pub fn moved(&self, other: &Self) -> f64 {
        let (mut placed, mut moved) = (0_u32, 0_u32);
        for addr in sample_v4().chain(sample_v6()) {
            let (ours, theirs) = (self.locate(None, addr), other.locate(None, addr));
            if ours.by != By::Unmapped || theirs.by != By::Unmapped {
                placed += 1;
                moved += u32::from(ours.home != theirs.home);
            }
        }
        if placed == 0 { 0.0 } else { f64::from(moved) / f64::from(placed) }
    }

    /// Share of sampled IPv4 networks that nothing places, 0 to 1.
    pub fn unmapped_share(&self) -> f64 {
        let unmapped = sample_v4().filter(|&addr| self.locate(None, addr).by == By::Unmapped).count();
        unmapped as f64 / SAMPLES_PER_FAMILY as f64
    }
}

/// /24s of unicast IPv4 space (1.0.0.0 to 223.255.255.0) without local ones.
fn sample_v4() -> impl Iterator<Item = IpAddr> {
    let local = |addr: &u32| special::LOCAL_V4.iter().any(|&(block, len)| addr.first_of_block(len) == block);
    let drawn = (0..).map(|number| (scramble(number) >> 32) as u32 & !0xff);
    let unicast = drawn.filter(move |addr| (1..224).contains(&(addr >> 24)) && !local(addr));
    unicast.take(SAMPLES_PER_FAMILY as usize).map(|addr| addr.to_addr())
}

/// /48s of the blocks that registries hand out from.
fn sample_v6() -> impl Iterator<Item = IpAddr> {
    (0..SAMPLES_PER_FAMILY).map(|number| {
        let drawn = scramble(u64::MAX - number);
        let (block, len) = HANDED_OUT_V6[(drawn % HANDED_OUT_V6.len() as u64) as usize];
        let within = u128::from(drawn) << 64 >> len;
        (block | within).first_of_block(48).to_addr()
    })
}
