//! Who is connected, and who has been idle longest.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::health::Mono;

/// Whose limit a connection counts against: an IPv4 address, or an IPv6 /64, which is what one customer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Client(IpAddr);

impl Client {
    pub(super) fn of(peer: IpAddr) -> Self {
        match peer.to_canonical() {
            IpAddr::V4(addr) => Self(IpAddr::V4(addr)),
            IpAddr::V6(addr) => {
                let network = addr.to_bits() & !u128::from(u64::MAX);
                Self(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
        }
    }
}

/// A connection; ids rise in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id(u64);

/// The connections, each with the handle `H` by which it is closed.
///
/// Looking for the most idle one, or the one that holds most, is a walk over all of them: some microseconds per thousand,
/// and only when a limit is reached, which is less than accepting the connection costs. A list in idle order would have to be kept on every
/// message.
#[derive(Debug)]
pub(super) struct Table<H> {
    entries: BTreeMap<Id, Entry<H>>,
    per_client: BTreeMap<Client, usize>,
    /// What all connections hold together, in bytes.
    held: usize,
    max: usize,
    max_per_client: usize,
    next: u64,
}

#[derive(Debug)]
struct Entry<H> {
    client: Client,
    active: Mono,
    held: usize,
    handle: H,
}

impl<H> Table<H> {
    pub(super) fn new(max: usize, max_per_client: usize) -> Self {
        Self { entries: BTreeMap::new(), per_client: BTreeMap::new(), held: 0, max, max_per_client, next: 0 }
    }

    /// An id for [`Table::insert`].
    pub(super) fn next_id(&mut self) -> Id {
        self.next += 1;
        Id(self.next)
    }

    /// Removes what must go so that one more connection of `client` keeps the limits: at most one, since limits are
    /// kept at each arrival.
    pub(super) fn make_room(&mut self, client: Client) -> Option<H> {
        let own = self.per_client.get(&client).copied().unwrap_or(0);
        if own >= self.max_per_client {
            let id = self.most_idle(|entry| entry.client == client)?;
            return self.remove(id);
        }
        if self.entries.len() >= self.max { self.remove_most_idle() } else { None }
    }

    pub(super) fn insert(&mut self, id: Id, client: Client, now: Mono, handle: H) {
        *self.per_client.entry(client).or_default() += 1;
        self.entries.insert(id, Entry { client, active: now, held: 0, handle });
    }

    /// Notes that the connection got an answer: only that counts as being active, so that trickling bytes does not
    /// keep anybody from being closed.
    pub(super) fn touch(&mut self, id: Id, now: Mono) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.active = now;
        }
    }

    /// Notes how many bytes the connection holds.
    pub(super) fn hold(&mut self, id: Id, bytes: usize) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.held = self.held.saturating_sub(entry.held).saturating_add(bytes);
            entry.held = bytes;
        }
    }

    /// Removes the connection that holds most, if all together hold more than `bytes`.
    pub(super) fn remove_largest_over(&mut self, bytes: usize) -> Option<(Id, H)> {
        if self.held <= bytes {
            return None;
        }
        let largest = self.entries.iter().max_by_key(|(id, entry)| (entry.held, **id));
        let id = largest.map(|(id, _)| *id)?;
        self.remove(id).map(|handle| (id, handle))
    }

    /// How many connections there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<H> {
        let entry = self.entries.remove(&id)?;
        self.held = self.held.saturating_sub(entry.held);
        if let Some(count) = self.per_client.get_mut(&entry.client) {
            *count -= 1;
            if *count == 0 {
                self.per_client.remove(&entry.client);
            }
        }
        Some(entry.handle)
    }

    pub(super) fn remove_most_idle(&mut self) -> Option<H> {
        let id = self.most_idle(|_| true)?;
        self.remove(id)
    }

    fn most_idle(&self, among: impl Fn(&Entry<H>) -> bool) -> Option<Id> {
        let candidates = self.entries.iter().filter(|(_, entry)| among(entry));
        candidates.min_by_key(|(id, entry)| (entry.active, **id)).map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn client(addr: &str) -> Client {
        Client::of(addr.parse().unwrap())
    }

    fn add(table: &mut Table<u64>, who: Client, now_ms: u64) -> (Id, Option<u64>) {
        let victim = table.make_room(who);
        let id = table.next_id();
        table.insert(id, who, Mono(now_ms), id.0);
        (id, victim)
    }

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_64() {
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
    }

    #[test]
    fn when_full_the_most_idle_connection_makes_room() {
        let mut table = Table::new(3, 3);
        let (first, _) = add(&mut table, client("192.0.2.1"), 10);
        let (second, _) = add(&mut table, client("192.0.2.2"), 20);
        add(&mut table, client("192.0.2.3"), 30);
        table.touch(first, Mono(40));
        let (_, victim) = add(&mut table, client("192.0.2.4"), 50);
        assert_eq!(victim, Some(second.0));
    }

    #[test]
    fn a_client_at_its_limit_loses_its_own_most_idle_connection() {
        let mut table = Table::new(10, 2);
        add(&mut table, client("192.0.2.9"), 1);
        let (own, _) = add(&mut table, client("192.0.2.1"), 2);
        add(&mut table, client("192.0.2.1"), 3);
        let (_, victim) = add(&mut table, client("192.0.2.1"), 4);
        assert_eq!(victim, Some(own.0));
    }

    #[test]
    fn of_two_equally_idle_connections_the_older_goes() {
        let mut table = Table::new(2, 2);
        let (older, _) = add(&mut table, client("192.0.2.1"), 5);
        add(&mut table, client("192.0.2.2"), 5);
        let (_, victim) = add(&mut table, client("192.0.2.3"), 5);
        assert_eq!(victim, Some(older.0));
    }

    #[test]
    fn a_connection_that_is_gone_is_not_touched_back() {
        let mut table = Table::new(2, 2);
        let (id, _) = add(&mut table, client("192.0.2.1"), 5);
        assert_eq!(table.remove(id), Some(id.0));
        table.touch(id, Mono(9));
        assert_eq!(table.remove(id), None);
        assert!(table.per_client.is_empty());
    }

    #[test]
    fn when_too_much_is_held_who_holds_most_goes() {
        let mut table = Table::new(9, 9);
        let [a, b, c] = [1, 2, 3].map(|who| add(&mut table, client(&format!("192.0.2.{who}")), who).0);
        table.hold(a, 10);
        table.hold(b, 70);
        table.hold(c, 20);
        assert_eq!(table.remove_largest_over(100), None);
        table.hold(c, 21);
        assert_eq!(table.remove_largest_over(100), Some((b, b.0)));
        assert_eq!(table.remove_largest_over(100), None);
        table.remove(c);
        table.hold(a, 101);
        table.hold(b, 1_000);
        assert_eq!(table.remove_largest_over(100), Some((a, a.0)), "who is gone holds nothing");
        assert_eq!(table.held, 0);
    }

    proptest! {
        #[test]
        fn limits_hold_and_counts_agree_whatever_happens(
            steps in prop::collection::vec((0u8..5, 0u8..6, 0u64..1000), 1..200),
        ) {
            let (max, max_per_client) = (7, 3);
            let mut table = Table::new(max, max_per_client);
            let mut ids = Vec::new();
            for (action, who, when) in steps {
                match action {
                    4 => if let Some(&id) = ids.get(usize::from(who)) { table.hold(id, when as usize); },
                    0 | 1 => ids.push(add(&mut table, client(&format!("192.0.2.{who}")), when).0),
                    2 => if let Some(&id) = ids.get(usize::from(who)) { table.touch(id, Mono(when)); },
                    _ => if let Some(&id) = ids.get(usize::from(who)) { table.remove(id); },
                }
                prop_assert!(table.entries.len() <= max);
                prop_assert!(table.per_client.values().all(|&count| (1..=max_per_client).contains(&count)));
                prop_assert_eq!(table.per_client.values().sum::<usize>(), table.entries.len());
                prop_assert_eq!(table.held, table.entries.values().map(|entry| entry.held).sum::<usize>());
            }
        }
    }
}
