//! The workload, on a reactor of its own: it meets the daemon only over TCP.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity, Namespace};
use ashlar_load::verify::{self, Model, Options, Progress, Report, Sources};
use ashlar_reactor::mailbox::{self, Receiver};
use futures_util::future::{Either, select};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::oneshot;

use super::{sources, tell};
use crate::args::Output;
use crate::serve::Signals;

/// Blocks that the workload works on: 512 MiB.
const BLOCKS: u64 = 1 << 17;
/// Different blocks that are written: 16 MiB.
const SOURCE_BLOCKS_MAX: usize = 4096;
/// Commands outstanding.
const DEPTH: u32 = 32;
/// Blocks of one Write Zeroes: the 32 MiB that the target takes.
const ZEROES_BLOCKS: u32 = 1 << 13;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Where the volumes are.
    pub address: SocketAddr,
    /// What to connect to.
    pub subsystem_nqn: String,
    /// Who asks.
    pub host_nqn: String,
    /// The volume.
    pub nsid: u32,
    /// Nothing was ever written to it.
    pub is_new: bool,
    /// What every block must read as, kept between runs.
    pub state_file: PathBuf,
    /// How long.
    pub duration: Duration,
    /// For whom progress is told.
    pub output: Output,
}

/// What came of it.
pub struct Measured {
    /// The workload's figures.
    pub report: Report,
    /// The volume's namespace.
    pub nsid: u32,
}

impl Workload {
    /// Runs it; nothing if a signal ended it early. What every block must read as is saved in
    /// either case.
    ///
    /// # Errors
    /// The first wrong data, or command that failed.
    pub async fn run(self, signals: &mut Signals) -> anyhow::Result<Option<Measured>> {
        let nsid = self.nsid;
        let (stop, stopped) = mailbox::channel::<()>(1);
        let (done, result) = oneshot::channel();
        let work = move || {
            let config = ashlar_reactor::Config::default();
            let outcome =
                ashlar_reactor::run(config, self.work(stopped)).map_err(anyhow::Error::from);
            let _ = done.send(outcome.and_then(|outcome| outcome));
        };
        let thread = std::thread::Builder::new().name("workload".to_owned()).spawn(work)?;
        let mut result = std::pin::pin!(result);
        let early = {
            let signal = std::pin::pin!(signals.end());
            match select(result.as_mut(), signal).await {
                Either::Left((outcome, _)) => Some(outcome),
                Either::Right(_) => None,
            }
        };
        drop(stop);
        let outcome = match early {
            Some(outcome) => outcome,
            None => result.await,
        };
        thread.join().map_err(|_| anyhow!("the workload ended with a panic"))?;
        let report = outcome.context("the workload ended without a word")??;
        Ok(report.map(|report| Measured { report, nsid }))
    }

    async fn work(self, mut stopped: Receiver<()>) -> anyhow::Result<Option<Report>> {
        let host = HostIdentity { nqn: self.host_nqn.clone(), id: host_id(&self.host_nqn) };
        let options = ConnectOptions::new(self.address, &self.subsystem_nqn, host);
        let connected = Controller::connect(ConnectOptions { io_queues: 4, ..options }).await;
        let controller = connected.map_err(failed(&format!("connecting to {}", self.address)))?;
        let namespace =
            controller.namespace(self.nsid).await.map_err(failed("looking at the volume"))?;
        let work = std::pin::pin!(self.verify(&namespace));
        let stop = std::pin::pin!(async { while stopped.recv().await.is_some() {} });
        let report = match select(work, stop).await {
            Either::Left((report, _)) => Some(report?),
            Either::Right(_) => None,
        };
        controller.disconnect().await;
        Ok(report)
    }

    async fn verify(&self, namespace: &Namespace) -> anyhow::Result<Report> {
        let model = self.take_up(namespace).await?;
        // From here on the file would be out of date. The guard writes it anew, also if this ends
        // early.
        let _ = std::fs::remove_file(&self.state_file);
        let saved = Saved { model: model.clone(), path: self.state_file.clone() };
        tell(
            self.output,
            format_args!(
                "Workload: random reads, writes and trims of up to 128 KiB at depth {DEPTH}, every read checked."
            ),
        )?;
        let bar = bar("{elapsed_precise} {bar:40} {pos}/{len} s  {msg}", self.duration.as_secs());
        let told = bar.clone();
        let progress = move |progress: Progress| {
            told.set_position(progress.elapsed.as_secs());
            let rate = progress.operations as f64 / progress.elapsed.as_secs_f64().max(0.001);
            told.set_message(format!("{rate:.0} IOPS, {} blocks", progress.blocks));
        };
        let options = Options { depth: DEPTH, duration: Some(self.duration), ..Options::default() };
        let report = verify::run(namespace, &model, options, progress).await;
        bar.finish_and_clear();
        drop(saved);
        report.map_err(failed("the workload"))
    }

    /// What the last run has left, checked in full; or a new beginning on zeros.
    async fn take_up(&self, namespace: &Namespace) -> anyhow::Result<Rc<RefCell<Model>>> {
        if self.state_file.exists() {
            return self.check_last_run(namespace).await;
        }
        if !self.is_new {
            tell(
                self.output,
                format_args!(
                    "The last run was interrupted: {} is missing, which says what that run had \
                     written. Its data cannot be checked, so this run clears it and begins anew.",
                    self.state_file.display()
                ),
            )?;
        }
        for start in (0..BLOCKS).step_by(ZEROES_BLOCKS as usize) {
            let cleared = namespace.write_zeroes(start, ZEROES_BLOCKS, true).await;
            cleared.map_err(failed("clearing the volume"))?;
        }
        let seed = u64::from(std::process::id());
        let sources = Sources::sample(&sources::files(), SOURCE_BLOCKS_MAX, seed)?;
        tell(
            self.output,
            format_args!(
                "Input: {} blocks of 4 KiB from this machine's own files.",
                sources.count()
            ),
        )?;
        Ok(Rc::new(RefCell::new(Model::new(seed, BLOCKS, sources))))
    }

    /// What the last run has left, checked in full.
    async fn check_last_run(&self, namespace: &Namespace) -> anyhow::Result<Rc<RefCell<Model>>> {
        let model = Rc::new(RefCell::new(Model::load(&self.state_file)?));
        let bar = bar("Checking what the last run has left {bar:40} {pos}/{len} blocks", BLOCKS);
        let told = bar.clone();
        let progress = move |progress: Progress| told.set_position(progress.blocks);
        let checked = verify::read_back(namespace, &model, DEPTH, progress).await;
        bar.finish_and_clear();
        let checked = checked.map_err(failed("the data of the last run are not as they were"))?;
        tell(
            self.output,
            format_args!(
                "The data of the last run are as they were: all {checked} blocks checked."
            ),
        )?;
        Ok(model)
    }
}

/// Saves the model when dropped: what is under way then is known to be either done or not.
struct Saved {
    model: Rc<RefCell<Model>>,
    path: PathBuf,
}

impl Drop for Saved {
    fn drop(&mut self) {
        if let Err(error) = self.model.borrow().save(&self.path) {
            tracing::warn!(%error, "the next run cannot check what this one has written");
        }
    }
}

/// An initiator's error, which belongs to its reactor's thread, as one that may leave it.
fn failed<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> anyhow::Error {
    move |error| anyhow!("{what}: {error}")
}

fn bar(template: &str, len: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the templates are right");
    ProgressBar::new(len).with_style(style)
}

/// A host identifier (16 bytes, not all zeros) that the name determines: its last bytes.
fn host_id(nqn: &str) -> [u8; 16] {
    let mut id = [0; 16];
    nqn.bytes().enumerate().for_each(|(at, byte)| id[at % 16] ^= byte.rotate_left(at as u32 / 16));
    id[0] |= 1;
    id
}
