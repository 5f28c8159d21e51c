//! The only seam between the planes: one writer applies events to a model and publishes snapshots; everybody else
//! reads them.

pub mod admin_source;
pub mod clock;
pub mod cookie_key;
pub mod derive;
pub mod desk;
pub mod explain;
pub mod files;
pub mod geo_source;
pub mod inputs;
pub mod journal;
pub mod load;
pub mod model;
pub mod operate;
pub mod plan;
pub mod preview;
pub mod publish;
pub mod recorder;
pub mod replay;
pub mod run;
pub mod saved;
pub mod slots;
pub mod snapshot;
pub mod status;
pub mod storm;

pub use clock::{Clock, Now};
pub use snapshot::{Publisher, Reader, Snapshot};
pub mod zone_files;
