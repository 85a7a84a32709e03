//! A pool to look at: made the first time, found again afterwards, measured through NVMe/TCP by a
//! workload that knows what every block must read as.

mod prepare;
mod report;
mod sources;
mod workload;

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use ashlar_target::nvme_tcp::PortalKind;

use crate::args::{DemoArguments, Output, ServeArguments};
use crate::logging::{Log, LogFormat};
use crate::serve::{self, Config, Running, Signals};
use crate::stdio::{StdoutError, note, print_line};
use workload::Workload;

/// `ashlar demo`.
pub fn run(
    arguments: &DemoArguments,
    socket: Option<PathBuf>,
    output: Output,
) -> anyhow::Result<()> {
    ensure!(arguments.seconds > 0, "the workload has to run for at least one second");
    let _log = Log::start("warn", LogFormat::Text)?;
    let state = std::path::absolute(&arguments.state).context("where is the state directory?")?;
    let config = Config::resolve(&serve_arguments(arguments, state.clone()), socket)?;
    serve::on_runtime(async {
        let mut signals = Signals::that_end()?;
        serve::ignore_the_other_signals()?;
        let Some(running) =
            serve::unless(&mut signals, serve::assemble(&config)).await.transpose()?
        else {
            return Ok(());
        };
        let shown = show(arguments, &state, &running, &mut signals, output).await;
        let said = tell(output, "\nStopping …");
        let stopped = serve::unless(&mut signals, running.stop()).await;
        ensure!(
            stopped.is_some(),
            "stopped before the pool was closed: the next start replays what is missing"
        );
        shown?;
        Ok(said?)
    })
}

/// Tells people what is done: on standard error where standard output is for programs.
fn tell(output: Output, text: impl Display) -> Result<(), StdoutError> {
    match output {
        Output::Table => print_line(text),
        Output::Json | Output::Yaml | Output::Csv => {
            note(text);
            Ok(())
        }
    }
}

fn serve_arguments(arguments: &DemoArguments, state: PathBuf) -> ServeArguments {
    let listen = vec![arguments.listen.clone()];
    let discovery = vec![arguments.discovery.clone()];
    let api_listen = arguments.api_listen.clone();
    ServeArguments { state, listen, discovery, api_listen, ..ServeArguments::default() }
}

/// Everything between start and end. A signal ends it early, and well.
async fn show(
    arguments: &DemoArguments,
    state: &std::path::Path,
    running: &Running,
    signals: &mut Signals,
    output: Output,
) -> anyhow::Result<()> {
    running.node_api.opened().await;
    let volume = prepare::prepare(&*running.node_api, state, output).await?;
    let workload = Workload {
        address: io_address(running)?,
        subsystem_nqn: running.node_api.subsystem_nqn().to_owned(),
        host_nqn: volume.host_nqn,
        nsid: volume.nsid,
        is_new: volume.is_new,
        state_file: state.join("demo.verify"),
        duration: Duration::from_secs(arguments.seconds),
        output,
    };
    let Some(measured) = workload.run(signals).await? else { return Ok(()) };
    report::print(&*running.node_api, &measured, output).await?;
    if arguments.once {
        return Ok(());
    }
    tell(output, "\nServing until Ctrl-C …")?;
    signals.end().await;
    Ok(())
}

/// Where a host on this machine reaches the volumes.
fn io_address(running: &Running) -> anyhow::Result<SocketAddr> {
    let portals = running.node_api.portals();
    let portal = portals.iter().find(|portal| portal.kind == PortalKind::Io);
    let mut address = portal.context("no portal leads to the volumes")?.address;
    if address.ip().is_unspecified() {
        let loopback: IpAddr = if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        };
        address.set_ip(loopback);
    }
    Ok(address)
}
