//! What stands before a node: its API, its events, and those who are told of them.

use std::sync::Arc;
use std::time::Duration;

use ashlar_control::{EventKind, Reloaded, Watcher};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Config;
use super::api::{Doors, Rooms};
use super::logs::Logs;
use super::node_api::ServedNode;
use super::receivers::{Receivers, Sender};

/// All of it, under way.
pub struct Front {
    logs: Logs,
    watcher: Arc<Watcher>,
    watching: JoinHandle<()>,
    receivers: Arc<Receivers>,
    telling: Vec<JoinHandle<()>>,
    reload: Arc<Notify>,
    stop_api: Option<oneshot::Sender<()>>,
    api: JoinHandle<()>,
}

impl Front {
    /// Has the node watched, its API served by the `doors`, and events sent in the name of
    /// `sender`, `warnings` of the start first.
    ///
    /// # Errors
    /// When no thread can be started for the logs.
    pub async fn start(
        config: &Config,
        node_api: &Arc<ServedNode>,
        doors: Doors,
        (sender, warnings): (Sender, Vec<(EventKind, String)>),
    ) -> anyhow::Result<Self> {
        let logs = Logs::open(&config.state).await?;
        // Before the first event of this start: they are told of that.
        let receivers = Receivers::new(&config.receivers, &config.state, &logs.events, &sender);
        let receivers = Arc::new(receivers);
        let both = (logs.events.clone(), logs.audit.clone());
        let watcher = Arc::new(Watcher::new(node_api.clone(), both, warnings));
        let telling = receivers.start(&watcher);
        let (stop, stopped) = oneshot::channel::<()>();
        let reload = Arc::<Notify>::default();
        let rooms = Rooms {
            node_api: node_api.clone(),
            watcher: watcher.clone(),
            receivers: receivers.clone(),
            reload: reload.clone(),
        };
        let api = tokio::spawn(doors.serve(rooms, stopped));
        let watching = tokio::spawn({
            let watcher = watcher.clone();
            async move { watcher.run().await }
        });
        let stop_api = Some(stop);
        Ok(Front { logs, watcher, watching, receivers, telling, reload, stop_api, api })
    }

    /// Has files read again that are read at the start, and writes down that a signal has asked for
    /// it: `taken` of the configuration, which is nothing where it could not be read.
    pub async fn reload(&self, taken: Option<&Reloaded>) {
        self.reload.notify_one();
        self.watcher.tell_reload(taken).await;
    }

    /// Nothing new is begun, for the daemon is about to end.
    pub fn begin_end(&mut self) {
        self.watching.abort();
        self.watcher.tell_end();
        if let Some(stop) = self.stop_api.take() {
            let _ = stop.send(());
        }
    }

    /// No host is connected any more: there are no more events. What receivers were not told of the
    /// next start tells them.
    pub fn end_events(&self) {
        self.watcher.end();
        self.telling.iter().for_each(JoinHandle::abort);
    }

    /// Waits so long for answers that are under way, and for what is on its way to the disk.
    pub async fn end(self, longest: Duration) {
        let abort = self.api.abort_handle();
        if timeout(longest, self.api).await.is_err() {
            abort.abort();
        }
        futures_util::future::join(self.logs.end(longest), self.receivers.settled(longest)).await;
    }
}
