//! What the data plane reads, and how it is swapped.

use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};

use super::derive::ServiceState;
use super::plan::Plan;
use crate::dns::View;
use crate::dns::chunked::Chunked;

/// One consistent state of everything an answer depends on.
#[derive(Debug)]
pub struct Snapshot {
    /// Counts published states, from 1.
    pub serial: u64,
    /// What one query may see; absent on a node that serves no DNS.
    pub view: Option<View>,
    /// The configuration, wired.
    pub plan: Arc<Plan>,
    /// Each service's state, by position in the plan.
    pub states: Chunked<ServiceState>,
}

impl Snapshot {
    /// A state without services and without DNS.
    pub fn nothing(serial: u64) -> Self {
        Self { serial, view: None, plan: Arc::default(), states: Chunked::default() }
    }
}

/// The writer's end. Keeps retired snapshots until it is their only owner, so that no reader ever frees one.
#[derive(Debug)]
pub struct Publisher {
    current: Arc<ArcSwap<Snapshot>>,
    retired: Vec<Arc<Snapshot>>,
}

impl Publisher {
    /// Starts with this snapshot.
    pub fn new(first: Snapshot) -> Self {
        Self { current: Arc::new(ArcSwap::from_pointee(first)), retired: Vec::new() }
    }

    /// Puts `next` in everybody's hands, at their next look.
    pub fn publish(&mut self, next: Snapshot) {
        self.retired.push(self.current.swap(Arc::new(next)));
        self.collect();
    }

    /// Frees retired snapshots that nobody holds any more.
    pub fn collect(&mut self) {
        self.retired.retain(|old| Arc::strong_count(old) > 1);
    }

    /// A reader; each thread has its own.
    pub fn reader(&self) -> Reader {
        Reader { cache: Cache::new(Arc::clone(&self.current)) }
    }
}

/// A thread's view of the current snapshot.
#[derive(Clone, Debug)]
pub struct Reader {
    cache: Cache<Arc<ArcSwap<Snapshot>>, Arc<Snapshot>>,
}

impl Reader {
    /// The current snapshot: one atomic load when nothing has changed.
    pub fn current(&mut self) -> &Arc<Snapshot> {
        self.cache.load()
    }
}
