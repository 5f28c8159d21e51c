//! What both address families have in common, and IP networks as operators write them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The bits of an address: `u32` for IPv4, `u128` for IPv6.
pub(in crate::region) trait Bits: Copy + Ord + fmt::Debug + Send + Sync + 'static {
    /// Width of an address in bits.
    const WIDTH: u8;
    /// The first address.
    const MIN: Self;
    /// The last address.
    const MAX: Self;

    /// Length of the common prefix, in bits.
    fn common(self, other: Self) -> u8;
    /// The address before this one; the last one before the first.
    fn before(self) -> Self;
    /// The address after this one; `None` after the last.
    fn after(self) -> Option<Self>;
    /// The first address of the block of `len` bits around this one.
    fn first_of_block(self, len: u8) -> Self;
    /// The last address of the block of `len` bits around this one.
    fn last_of_block(self, len: u8) -> Self;
    /// How many blocks of `2^shift` addresses lie between `base` and this address; saturates.
    fn blocks_from(self, base: Self, shift: u8) -> usize;
    /// The first address of the block that many blocks of `2^shift` addresses after `base`; `None` beyond the last.
    fn nth_block(base: Self, shift: u8, number: usize) -> Option<Self>;
    /// As an address.
    fn to_addr(self) -> IpAddr;
    /// The bits of an address of this family.
    fn from_addr(addr: IpAddr) -> Option<Self>;
}

macro_rules! bits {
    ($type:ty, $family:ident, $addr:ident) => {
        impl Bits for $type {
            const WIDTH: u8 = Self::BITS as u8;
            const MIN: Self = 0;
            const MAX: Self = Self::MAX;

            #[inline]
            fn common(self, other: Self) -> u8 {
                (self ^ other).leading_zeros() as u8
            }

            #[inline]
            fn before(self) -> Self {
                self.wrapping_sub(1)
            }

            fn after(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn first_of_block(self, len: u8) -> Self {
                self & !Self::MAX.checked_shr(len.into()).unwrap_or(0)
            }

            fn last_of_block(self, len: u8) -> Self {
                self | Self::MAX.checked_shr(len.into()).unwrap_or(0)
            }

            #[inline]
            fn blocks_from(self, base: Self, shift: u8) -> usize {
                usize::try_from(self.wrapping_sub(base) >> shift).unwrap_or(usize::MAX)
            }

            fn nth_block(base: Self, shift: u8, number: usize) -> Option<Self> {
                let number = Self::try_from(number).ok()?;
                base.checked_add(number.checked_mul(1 << shift)?)
            }

            fn to_addr(self) -> IpAddr {
                IpAddr::$family($addr::from_bits(self))
            }

            fn from_addr(addr: IpAddr) -> Option<Self> {
                match addr {
                    IpAddr::$family(addr) => Some(addr.to_bits()),
                    _ => None,
                }
            }
        }
    };
}

bits!(u32, V4, Ipv4Addr);
bits!(u128, V6, Ipv6Addr);

/// An IP network; bits beyond `len` are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    /// The first address.
    pub addr: IpAddr,
    /// Prefix length in bits.
    pub len: u8,
}

impl Network {
    /// The network of `len` bits around `addr`; `None` when `len` is beyond the family's width.
    pub fn around(addr: IpAddr, len: u8) -> Option<Self> {
        let first = match addr {
            IpAddr::V4(addr) if len <= 32 => addr.to_bits().first_of_block(len).to_addr(),
            IpAddr::V6(addr) if len <= 128 => addr.to_bits().first_of_block(len).to_addr(),
            _ => return None,
        };
        Some(Self { addr: first, len })
    }

    /// Whether `addr` lies in it. An IPv6 network never holds an IPv4 address, nor the other way round.
    pub fn contains(&self, addr: IpAddr) -> bool {
        self.addr.is_ipv4() == addr.is_ipv4() && Self::around(addr, self.len) == Some(*self)
    }

    /// Its first and last address; `None` for a network of the other family or with a length beyond the width.
    pub(in crate::region) fn ends<A: Bits>(&self) -> Option<(A, A)> {
        let addr = A::from_addr(self.addr).filter(|_| self.len <= A::WIDTH)?;
        Some((addr.first_of_block(self.len), addr.last_of_block(self.len)))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

/// Why a text is no [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// No `address/length`.
    Syntax,
    /// The length is beyond the family's width.
    Length,
    /// Bits beyond the length are set; this network was probably meant.
    HostBits(Network),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("not a network; write it as `192.0.2.0/24` or `2001:db8::/32`"),
            Self::Length => {
                f.write_str("the prefix is longer than the address: at most 32 for IPv4, 128 for IPv6")
            }
            Self::HostBits(network) => {
                write!(f, "the address has bits beyond its prefix; did you mean `{network}`?")
            }
        }
    }
}

impl std::error::Error for NetworkError {}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (addr, len) = text.split_once('/').ok_or(NetworkError::Syntax)?;
        let addr: IpAddr = addr.parse().map_err(|_| NetworkError::Syntax)?;
        if len.is_empty() || len.len() > 3 || !len.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NetworkError::Syntax);
        }
        let len = len.parse().map_err(|_| NetworkError::Length)?;
        let network = Self::around(addr, len).ok_or(NetworkError::Length)?;
        if network.addr == addr { Ok(network) } else { Err(NetworkError::HostBits(network)) }
    }
}
