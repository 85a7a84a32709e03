//! Pools on real reactors. One program: each that has a store in it takes most of a minute to
//! build.

mod activity;
mod erasing;
mod formatting;
mod new_drives;
mod node;
mod occurrences;
mod one_change;
mod rejoin;
mod slow_drive;
mod stopped;
mod support;
mod turns;
