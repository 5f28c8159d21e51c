//! The one place that reads the machine's clocks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::health::Mono;

/// A moment on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic: for health, TTLs, cooldowns.
    pub mono: Mono,
    /// Milliseconds since 1970 UTC: for what operators schedule and what people read.
    pub wall_ms: i64,
}

impl Now {
    /// Seconds since 1970 modulo 2^32, as cookies have them (RFC 9018 4.3).
    pub const fn wall_s(self) -> u32 {
        self.wall_ms.div_euclid(1000) as u32
    }

    /// The monotonic moment at which the wall clock will show `wall_ms`; now, when it has passed.
    pub fn mono_at(self, wall_ms: i64) -> Mono {
        Mono(self.mono.0.saturating_add_signed(wall_ms.saturating_sub(self.wall_ms).max(0)))
    }
}

/// The machine's clocks, the monotonic one counted from its making.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    #[allow(clippy::disallowed_methods)] // The shell's one reading of the clock.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The monotonic clock alone; a vDSO call, no system call.
    pub fn mono(&self) -> Mono {
        Mono(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// The time since its making, as fine as the machine tells it: for how long something took.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The wall clock, as fine as the machine tells it, since 1970 UTC: for what others read.
    #[allow(clippy::disallowed_methods)] // The shell's one reading of the clock.
    pub fn wall(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Both clocks.
    #[allow(clippy::disallowed_methods)] // The shell's one reading of the clock.
    pub fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { mono: self.mono(), wall_ms: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX) }
    }
}
