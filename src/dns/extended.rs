//! Extended errors (RFC 8914): the few that tell an operator what an rcode alone does not.

/// Why an answer is an error. Given only where it costs nothing: to a query with EDNS, and where there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtendedError {
    /// No region can serve, and the operator chose to say so instead of answering all the same. "Other" with a text:
    /// the codes about reachability speak of a resolver's servers.
    NoRegionAble,
    /// A zone transfer: nobody gets one.
    Prohibited,
    /// A name or class that no zone here is about.
    NotAuthoritative,
    /// An opcode that this server does not know.
    NotSupported,
}

impl ExtendedError {
    /// Its number (RFC 8914 4).
    pub(super) const fn info_code(self) -> u16 {
        match self {
            Self::NoRegionAble => 0,
            Self::Prohibited => 18,
            Self::NotAuthoritative => 20,
            Self::NotSupported => 21,
        }
    }

    /// More words, where the number says too little.
    pub(super) const fn text(self) -> &'static [u8] {
        match self {
            Self::NoRegionAble => b"no region can serve",
            Self::Prohibited | Self::NotAuthoritative | Self::NotSupported => b"",
        }
    }
}
