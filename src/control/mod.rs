//! The only seam between the planes: one writer applies events to a model and publishes snapshots; everybody else
//! reads them.

pub mod clock;
pub mod snapshot;

pub use clock::{Clock, Now};
pub use snapshot::{Publisher, Reader, Snapshot};
