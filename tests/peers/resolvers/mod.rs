//! Resolvers in front of Waypost: what their clients see is what Waypost says.

mod delegation;
mod drains;
mod internet;
mod port_53;
mod programs;
mod subnets;
mod watcher;

use std::time::Duration;

use waypost::control::Clock;
use waypost::control::journal::rfc3339;

use crate::harness::Site;

/// The service's TTL while something is changing.
const TTL_MIN: Duration = Duration::from_secs(5);

/// Within which a change is live.
const LIVE: Duration = Duration::from_secs(2);

/// What a busy machine may add to what is promised. With it the promise, 7 s, stays far below the TTL of 30 s, after
/// which clients of a server that does not look ahead would follow.
const SLACK: Duration = Duration::from_secs(6);

/// Orders a drain of cn about that long ahead; when it begins by this clock. The file has whole seconds.
fn announce_drain(site: &Site, clock: &Clock, ahead: Duration) -> Duration {
    let now_ms = clock.now().wall_ms;
    let begin_ms = (now_ms / 1000 + 1) * 1000 + ahead.as_millis() as i64;
    let begin = clock.elapsed() + Duration::from_millis((begin_ms - now_ms) as u64);
    site.run(&["drain", "cn", "--from", &rfc3339(begin_ms), "--reason", "announced"]).done();
    begin
}
