//! Addresses that mean something else than they say: IPv4 inside IPv6, and local addresses.

use super::address::Bits;

/// An IPv4 address carried inside an IPv6 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Embedded {
    /// The IPv4 address.
    pub(super) inner: u32,
    /// Bits of the IPv6 address before the IPv4 one.
    pub(super) before: u8,
    /// The IPv4 address that all-zero bits stand for: what is read where a subnet ends before them.
    pub(super) zero: u32,
}

/// The IPv6 blocks whose addresses carry an IPv4 one: first address and prefix length.
pub(super) const EMBEDDING: [(u128, u8); 4] = [
    (0x0000_0000_0000_0000_0000_ffff_0000_0000, 96), // IPv4-mapped, RFC 4291 2.5.5.2
    (0x0064_ff9b_0000_0000_0000_0000_0000_0000, 96), // NAT64, RFC 6052 2.1
    (0x2001_0000_0000_0000_0000_0000_0000_0000, 32), // Teredo, RFC 4380 4
    (0x2002_0000_0000_0000_0000_0000_0000_0000, 16), // 6to4, RFC 3056 2
];

/// Reads the IPv4 address inside `addr`, if it is of such a form.
///
/// In a Teredo address that is the client's, not the server's: the last 32 bits, each inverted (RFC 4380 4). Bits that
/// a client subnet leaves out are zero there as well, so they are inverted alike: that keeps blocks of one form blocks
/// of the other.
#[inline]
pub(super) fn embedded(addr: u128) -> Option<Embedded> {
    const MAPPED: u128 = EMBEDDING[0].0 >> 32;
    const NAT64: u128 = EMBEDDING[1].0 >> 32;
    const TEREDO: u32 = (EMBEDDING[2].0 >> 96) as u32;
    const SIX_TO_FOUR: u32 = (EMBEDDING[3].0 >> 112) as u32;
    let top = (addr >> 96) as u32;
    if top >> 16 == SIX_TO_FOUR {
        return Some(Embedded { inner: (addr >> 80) as u32, before: 16, zero: 0 });
    }
    if top == TEREDO {
        return Some(Embedded { inner: !(addr as u32), before: 96, zero: u32::MAX });
    }
    let rest = addr >> 32;
    (rest == MAPPED || rest == NAT64).then_some(Embedded { inner: addr as u32, before: 96, zero: 0 })
}

/// IPv4 blocks that say nothing about a place: private (RFC 1918), shared (RFC 6598), loopback, link-local (RFC 3927).
pub(super) const LOCAL_V4: [(u32, u8); 6] = [
    (0x0a00_0000, 8),
    (0x6440_0000, 10),
    (0x7f00_0000, 8),
    (0xa9fe_0000, 16),
    (0xac10_0000, 12),
    (0xc0a8_0000, 16),
];

/// IPv6 blocks that say nothing about a place: loopback, unique local (RFC 4193), link-local (RFC 4291 2.5.6).
pub(super) const LOCAL_V6: [(u128, u8); 3] = [(1, 128), (0xfc00 << 112, 7), (0xfe80 << 112, 10)];

/// First and last address of each block.
pub(super) fn blocks<A: Bits>(blocks: &[(A, u8)]) -> Vec<(A, A)> {
    blocks.iter().map(|&(addr, len)| (addr, addr.last_of_block(len))).collect()
}
