//! The only seam between the planes: one writer applies events to a model and publishes snapshots; everybody else
//! reads them.

pub mod chunked;
pub mod clock;
pub mod derive;
pub mod inputs;
pub mod journal;
pub mod model;
pub mod plan;
pub mod publish;
pub mod replay;
pub mod slots;
pub mod snapshot;
pub mod storm;

pub use clock::{Clock, Now};
pub use snapshot::{Publisher, Reader, Snapshot};
