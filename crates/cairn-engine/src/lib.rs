//! The state of a run: who is where, who has what, who gets what next. Pure: no files, sockets, clocks, threads or
//! randomness; a driver tells what happened and when, and carries out what follows.
//!
//! ```text
//!    run: processes   serve: HTTP   simulate: virtual time   fault tests: a network that lies
//!           └────────────────┴──────────────┴───────────────────────┘
//!                  what happened, and when ▼        ▲ leases, receipts, refusals, kills, wake me at t
//!                               ┌──────────────────────┴───┐
//!                               │ Engine                   │──▶ events, in causal order ──▶ a store
//!                               └──────────────────────────┘◀── replay
//! ```
//!
//! [`Engine`] decides; every change it makes is an [`Event`], and the events alone rebuild its state
//! ([`Engine::replay`]). It plays the one game ([`cairn_theory::game`]) on a [`Position`].

mod answers;
mod batched;
mod book;
mod budgets;
mod client;
mod dispatch;
mod engine;
mod event;
mod ids;
mod implicit;
mod keeper;
mod leases;
mod needs;
mod position;
mod queue;
mod roll;
mod rules;
mod sizes;
mod snapshot;
mod trust;
mod workers;

pub use answers::{Exchanged, Granted, Outbox, Receipt, Refusal, Returned};
pub use batched::Batched;
pub use book::{Book, Expected, KnownId, Memory, Taken};
pub use cairn_plan::batch::BatchEffort;
pub use client::{Client, Request};
pub use dispatch::{Dispatch, Placing};
pub(crate) use dispatch::{Fit, Move};
pub use engine::{Engine, Why, WhyNot};
pub use event::{Cause, Entry, Event, Gone, Outcome, Release};
pub use ids::{KindId, Moment, Span, Task, Token, WorkerId};
pub use implicit::{Implicit, Shape};
pub use keeper::{AreaByCap, BadOrder, Keeper, Leftovers, Shortfall, area_by_cap, caps_between};
pub use leases::standing_after;
pub use needs::{ClassId, Needs, Offer, PoolId};
pub use position::{Frozen, Illegal, Position};
pub use queue::Order;
pub use roll::Roll;
pub use rules::{Copies, Rules};
pub use sizes::{FileClassId, Learnt, SAFETY, Sizes, numbered};
pub use snapshot::Snapshot;
pub(crate) use trust::Reputation;
pub use trust::{Agreement, ClientId, Digest, Distrust, Record, Trust};
pub use workers::Worker;
