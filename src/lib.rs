//! Waypost: a global server load balancer. Answers DNS by the client's home region, measures the regions' health in
//! depth, and moves users in a fixed order when a region can't serve.
//!
//! Two planes meet in one place: a snapshot that is swapped whole.
//!
//! ```text
//!    CONTROL PLANE (slow, may allocate, one writer)             DATA PLANE (fast, read-only)
//!
//! waypost.toml ─┐                                            UDP                  TCP
//! zones/*.zone ─┼─▶ control::load, *_source ─Event─┐          │ packets            │ streams
//! geo file     ─┤                                  ▼          ▼                    ▼
//! admin.toml   ─┘                    control::model::Model  serve::udp         serve::tcp
//!                                       apply(now, ev)        └───────┬────────────┘
//! probe::* ─────────Observation─────▶   (pure)                        ▼
//!                                           │             dns::respond(view, worker, query, out)
//!                                           │              parse ─▶ subnet ─▶ locate ─▶ home
//!                                           ▼              find ─▶ answer[service][home] ─▶ copy
//!                                      Arc<Snapshot> ────── one swap, read once per batch
//!                                           │
//!                                           └─▶ journal ─▶ replay;  events ─▶ log, metrics, API
//! ```
//!
//! # Invariants
//!
//! - [`region::route`] is total and pure.
//! - One query sees one snapshot: zones, geo data, health, settings from a single swap.
//! - One writer; everybody else sends events over bounded channels and never blocks.
//! - `control::Model::apply(now, event)` is deterministic: the same events give the same digest.
//! - Bad input changes nothing.
//! - What probes say and what operators force are kept apart.
//! - When nobody is able the answer is fail-open, never empty.
//! - "Could not observe" is not "is down".
//! - Everything is bounded, each bound a named constant with its unit.
//!
//! # Modules
//!
//! In order of rank: a module uses only those above it. The first four are pure, and so is what `control` decides: no
//! sockets, no files, no clock, no randomness.

pub mod region;

pub mod health;

pub mod dns;

pub mod config;

pub mod control;

pub mod probe;

pub mod serve;

pub mod cli;
