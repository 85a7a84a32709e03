//! What was measured, and how to attach.

use ashlar_block::ByteSize;
use ashlar_control::NodeApi;
use ashlar_control::types::{Pool, PoolSpace, Portal, Status, Volume};
use ashlar_load::latency::LatencySummary;
use comfy_table::{Table, presets};
use serde::Serialize;

use super::prepare::POOL;
use super::workload::Measured;
use crate::args::Output;
use crate::stdio::{StdoutError, print_line};

/// Prints it.
///
/// # Errors
/// When the node does not answer, or standard output takes nothing.
pub async fn print(
    node_api: &dyn NodeApi,
    measured: &Measured,
    output: Output,
) -> anyhow::Result<()> {
    let status = node_api.status().await?;
    if output == Output::Table {
        return print_for_people(&status, measured);
    }
    let figures = Figures::of(&status, measured);
    Ok(print_line(output.text(&figures, |_| unreachable!("it is for programs"))?)?)
}

/// What was measured, for programs.
#[derive(Serialize)]
struct Figures<'a> {
    duration_seconds: f64,
    iops: f64,
    blocks_checked: u64,
    blocks_written: u64,
    blocks_trimmed: u64,
    read: LatencySummary,
    write: LatencySummary,
    trim: LatencySummary,
    subsystem_nqn: &'a str,
    portals: &'a [Portal],
    pool: Option<&'a Pool>,
    volume: Option<&'a Volume>,
}

impl<'a> Figures<'a> {
    fn of(status: &'a Status, measured: &Measured) -> Self {
        let report = &measured.report;
        Figures {
            duration_seconds: report.seconds,
            iops: report.iops,
            blocks_checked: report.blocks_checked,
            blocks_written: report.blocks_written,
            blocks_trimmed: report.blocks_trimmed,
            read: report.read,
            write: report.write,
            trim: report.trim,
            subsystem_nqn: &status.subsystem_nqn,
            portals: &status.portals,
            pool: pool_of(status),
            volume: volume_of(status, measured.nsid),
        }
    }
}

fn pool_of(status: &Status) -> Option<&Pool> {
    status.pools.iter().find(|pool| pool.name == POOL)
}

fn volume_of(status: &Status, nsid: u32) -> Option<&Volume> {
    status.volumes.iter().find(|volume| volume.nsid == nsid)
}

fn print_for_people(status: &Status, measured: &Measured) -> anyhow::Result<()> {
    print_line("\nMeasured over NVMe/TCP on this machine, every read checked:")?;
    print_line(latencies(measured))?;
    let report = &measured.report;
    print_line(format_args!(
        "  {:.0} IOPS over {:.1} s; {} blocks written, {} read and checked, {} trimmed",
        report.iops,
        report.seconds,
        report.blocks_written,
        report.blocks_checked,
        report.blocks_trimmed
    ))?;
    print_capacity(status, measured.nsid)?;
    Ok(print_attaching(status)?)
}

fn latencies(measured: &Measured) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "",
        "operations",
        "mean µs",
        "p50 µs",
        "p90 µs",
        "p99 µs",
        "p99.9 µs",
        "max µs",
    ]);
    let report = &measured.report;
    for (what, summary) in
        [("read", &report.read), ("write", &report.write), ("trim", &report.trim)]
    {
        table.add_row(row(what, summary));
    }
    table.to_string()
}

fn row(what: &str, summary: &LatencySummary) -> Vec<String> {
    let micros = |micros: f64| format!("{micros:.0}");
    let figures = [
        summary.mean_us,
        summary.p50_us,
        summary.p90_us,
        summary.p99_us,
        summary.p999_us,
        summary.max_us,
    ];
    let head = [what.to_owned(), summary.count.to_string()];
    head.into_iter().chain(figures.map(micros)).collect()
}

fn print_capacity(status: &Status, nsid: u32) -> Result<(), StdoutError> {
    if let Some(volume) = volume_of(status, nsid) {
        let (logical, physical) =
            (ByteSize(volume.logical_used_bytes), ByteSize(volume.physical_used_bytes));
        let ratio =
            volume.compression_ratio.map(|ratio| format!(", {ratio:.2} to 1")).unwrap_or_default();
        print_line(format_args!("  compression: {logical} are stored in {physical}{ratio}"))?;
    }
    if let Some(pool) = pool_of(status) {
        let size = |figure: fn(&PoolSpace) -> u64| {
            pool.of_space(figure).map_or_else(|| "-".to_owned(), |it| ByteSize(it).to_string())
        };
        print_line(format_args!(
            "  pool '{}': {} raw, {} may be stored, {} used, {} safe to write; {} promised",
            pool.name,
            size(|space| space.raw_bytes),
            size(|space| space.limit_bytes),
            size(|space| space.physical_used_bytes),
            size(|space| space.safe_to_write_bytes),
            size(|space| space.promised_bytes)
        ))?;
    }
    Ok(())
}

/// The commands of a Linux host, as they can be pasted.
fn print_attaching(status: &Status) -> Result<(), StdoutError> {
    print_line("\nTo attach vol0 on a Linux host (nvme-cli, and modprobe nvme-tcp):")?;
    let discovery = status.portals.iter().find(|portal| portal.kind == "discovery");
    if let Some(Portal { address, port, .. }) = discovery.or(status.portals.first()) {
        print_line(format_args!("  nvme discover -t tcp -a {address} -s {port}"))?;
    }
    if let Some(Portal { address, port, .. }) =
        status.portals.iter().find(|portal| portal.kind == "io")
    {
        print_line(format_args!(
            "  nvme connect -t tcp -a {address} -s {port} -n {}",
            status.subsystem_nqn
        ))?;
    }
    Ok(())
}
