//! What was measured, and how to attach.

use ashlar_bench::latency::LatencySummary;
use ashlar_block::ByteSize;
use ashlar_control::Appliance;
use ashlar_control::types::{Portal, Status};
use comfy_table::{Table, presets};

use super::workload::Measured;
use crate::stdio::{StdoutError, print_line};

/// Prints it.
///
/// # Errors
/// When the node does not answer, or standard output takes nothing.
pub async fn print(appliance: &dyn Appliance, measured: &Measured) -> anyhow::Result<()> {
    let status = appliance.status().await?;
    print_line("\nMeasured over NVMe/TCP on this machine, every read checked:")?;
    print_line(latencies(measured))?;
    let report = &measured.report;
    print_line(format_args!(
        "  {:.0} IOPS over {:.1} s; {} blocks written, {} read and checked, {} trimmed",
        report.iops, report.seconds, report.blocks_written, report.blocks_checked, report.blocks_trimmed
    ))?;
    print_capacity(&status, measured.nsid)?;
    Ok(print_attaching(&status)?)
}

fn latencies(measured: &Measured) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "operations", "mean µs", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"]);
    let report = &measured.report;
    for (what, summary) in [("read", &report.read), ("write", &report.write), ("trim", &report.trim)] {
        table.add_row(row(what, summary));
    }
    table.to_string()
}

fn row(what: &str, summary: &LatencySummary) -> Vec<String> {
    let micros = |micros: f64| format!("{micros:.0}");
    let figures =
        [summary.mean_us, summary.p50_us, summary.p90_us, summary.p99_us, summary.p999_us, summary.max_us];
    let head = [what.to_owned(), summary.count.to_string()];
    head.into_iter().chain(figures.map(micros)).collect()
}

fn print_capacity(status: &Status, nsid: u32) -> Result<(), StdoutError> {
    let size = ByteSize;
    if let Some(volume) = status.volumes.iter().find(|volume| volume.nsid == nsid) {
        let (logical, physical) = (size(volume.logical_used_bytes), size(volume.physical_used_bytes));
        print_line(format_args!(
            "  compression: {logical} are stored in {physical}, {:.2} to 1",
            volume.ratio
        ))?;
    }
    if let Some(pool) = status.pools.iter().find(|pool| pool.name == "demo") {
        print_line(format_args!(
            "  pool '{}': {} raw, {} may be stored, {} used, {} safe to write; {} provisioned",
            pool.name,
            size(pool.raw_bytes),
            size(pool.limit_bytes),
            size(pool.physical_used_bytes),
            size(pool.safe_to_write_bytes),
            size(pool.provisioned_bytes)
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
    if let Some(Portal { address, port, .. }) = status.portals.iter().find(|portal| portal.kind == "io") {
        print_line(format_args!("  nvme connect -t tcp -a {address} -s {port} -n {}", status.subsystem_nqn))?;
    }
    Ok(())
}
