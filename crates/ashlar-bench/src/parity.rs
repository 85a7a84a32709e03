//! Parity and reconstruction by each kernel that this processor has, and by Intel's ISA-L, beside a
//! copy of the same bytes: nothing that reads them all can be much faster than memory is.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use ashlar_block::ByteSize;
use ashlar_isal::Isal;
use ashlar_load::ratio::{Ratio, median};
use ashlar_raid::parity::Kernel;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::progress::Progress;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, interrupt};
use stripes::{Memory, Shape, Work};

mod stripes;

const SHAPES: [Shape; 4] = [
    Shape { data: 4, parity: 1 },
    Shape { data: 8, parity: 2 },
    Shape { data: 8, parity: 3 },
    Shape { data: 16, parity: 4 },
];
/// A round of these is short: there are many, and none of them sleeps.
const ROUND_PART: u32 = 4;
/// Bytes of data where they do not fit the caches: this many times the largest cache, within the
/// bounds.
const CACHES: u64 = 2;
const BEYOND_CACHES_BYTES: std::ops::RangeInclusive<u64> = 256 << 20..=1 << 30;

/// All figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Bytes of each column.
    column_bytes: usize,
    /// The processor's largest cache, if Linux knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_cache_bytes: Option<u64>,
    /// Why ISA-L is not beside ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_isal: Option<String>,
    /// Each stripe, each place, each work.
    compared: Vec<Compared>,
}

/// What was done with the same bytes, in turn.
#[derive(Clone, Debug, Serialize)]
struct Compared {
    /// Data and parity columns.
    shape: Shape,
    /// Bytes of data that the rounds go through.
    data_bytes: u64,
    /// The data do not fit the caches.
    beyond_caches: bool,
    /// What was done.
    work: Work,
    /// A plain copy of the data, in bytes per second.
    copy_bytes_per_second: f64,
    /// Each kernel, and ISA-L.
    subjects: Vec<Subject>,
}

/// One of those that compute.
#[derive(Clone, Debug, Serialize)]
struct Subject {
    /// A kernel, or `ISA-L`.
    name: String,
    /// Bytes of data per second.
    bytes_per_second: f64,
    /// Beside the copy.
    to_copy: Option<Ratio>,
    /// Beside ISA-L.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_isal: Option<Ratio>,
}

/// Measures every shape in both places.
///
/// # Errors
/// There is too little memory, or a signal.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let (isal, without_isal) = match Isal::load() {
        Ok(isal) => (Some(isal), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let largest_cache_bytes = largest_cache_bytes();
    let (low, high) = BEYOND_CACHES_BYTES.into_inner();
    let beyond = (CACHES * largest_cache_bytes.unwrap_or(0)).clamp(low, high);
    let progress = Progress::new("parity", 2 * SHAPES.len());
    let mut compared = Vec::new();
    for (bytes, shape) in
        [0, beyond].into_iter().flat_map(|bytes| SHAPES.map(|shape| (bytes, shape)))
    {
        progress.begin(&format!("{shape} in {}", place(bytes > 0)));
        let mut memory = Memory::new(shape, bytes, isal.as_ref());
        for work in Work::of(shape) {
            compared.push(compare(&mut memory, work, bytes > 0, settings)?);
        }
    }
    Ok(Report { column_bytes: stripes::COLUMN_BYTES, largest_cache_bytes, without_isal, compared })
}

/// What Linux says of the first processor's caches.
fn largest_cache_bytes() -> Option<u64> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |entry: std::fs::DirEntry| {
        let size = std::fs::read_to_string(entry.path().join("size")).ok()?;
        size.trim().strip_suffix('K')?.parse::<u64>().ok()
    };
    caches.flatten().filter_map(size).max().map(|kib| kib << 10)
}

/// All that can do `work`, in turn, round by round.
fn compare(
    memory: &mut Memory,
    work: Work,
    beyond_caches: bool,
    settings: &Settings,
) -> anyhow::Result<Compared> {
    let round = settings.round / ROUND_PART;
    let kernels: Vec<Kernel> = Kernel::all().collect();
    let mut copy = Vec::new();
    let mut isal = Vec::new();
    let mut ours = vec![Vec::new(); kernels.len()];
    for _ in 0..settings.rounds {
        interrupt::check()?;
        copy.push(speed(memory, round, |memory, stripe| memory.copy(stripe)));
        for (kernel, speeds) in kernels.iter().zip(&mut ours) {
            speeds.push(speed(memory, round, |memory, stripe| memory.run(work, *kernel, stripe)));
        }
        if memory.has_isal() {
            isal.push(speed(memory, round, |memory, stripe| memory.run_isal(work, stripe)));
        }
    }
    check(memory, work)?;
    let name = |kernel: &Kernel| format!("{kernel:?}").to_lowercase();
    let mut subjects: Vec<Subject> = kernels
        .iter()
        .zip(&ours)
        .map(|(kernel, speeds)| Subject::new(name(kernel), speeds, &copy, &isal))
        .collect();
    if memory.has_isal() {
        subjects.push(Subject::new("ISA-L".to_owned(), &isal, &copy, &[]));
    }
    Ok(Compared {
        shape: memory.shape(),
        data_bytes: memory.data_bytes(),
        beyond_caches,
        work,
        copy_bytes_per_second: median(&copy),
        subjects,
    })
}

/// Bytes of data per second.
fn speed(memory: &mut Memory, round: Duration, mut run: impl FnMut(&mut Memory, usize)) -> f64 {
    run(memory, 0);
    let (mut stripes, start) = (0, Instant::now());
    loop {
        run(memory, stripes % memory.stripes());
        black_box(&mut *memory);
        stripes += 1;
        let spent = start.elapsed();
        if spent >= round {
            return (stripes * memory.shape().data * stripes::COLUMN_BYTES) as f64
                / spent.as_secs_f64();
        }
    }
}

/// What is fast and wrong is no figure.
fn check(memory: &mut Memory, work: Work) -> anyhow::Result<()> {
    let best = memory.result(|memory| memory.run(work, Kernel::best(), 0));
    for kernel in Kernel::all() {
        let same = memory.result(|memory| memory.run(work, kernel, 0)) == best;
        ensure!(same, "{kernel:?} computes something else than {:?}", Kernel::best());
    }
    if memory.has_isal() && memory.result(|memory| memory.run_isal(work, 0)) != best {
        return Err(anyhow!("ISA-L computes something else than {:?}", Kernel::best()));
    }
    Ok(())
}

impl Subject {
    fn new(name: String, speeds: &[f64], copy: &[f64], isal: &[f64]) -> Self {
        Subject {
            name,
            bytes_per_second: median(speeds),
            to_copy: Ratio::of_rounds(speeds, copy),
            to_isal: Ratio::of_rounds(speeds, isal),
        }
    }
}

fn place(beyond_caches: bool) -> &'static str {
    if beyond_caches { "memory" } else { "cache" }
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "STRIPE",
            "IN",
            "WORK",
            "BY",
            "GB/S",
            "COPY GB/S",
            "TO COPY",
            "TO ISA-L",
        ]);
        table
            .column_iter_mut()
            .skip(4)
            .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        for compared in &self.compared {
            let gigabytes = |speed: f64| format!("{:.1}", speed / 1e9);
            for subject in &compared.subjects {
                table.add_row([
                    compared.shape.to_string(),
                    place(compared.beyond_caches).to_owned(),
                    compared.work.to_string(),
                    subject.name.clone(),
                    gigabytes(subject.bytes_per_second),
                    gigabytes(compared.copy_bytes_per_second),
                    super::table::ratio(subject.to_copy),
                    super::table::ratio(subject.to_isal),
                ]);
            }
        }
        let without =
            self.without_isal.iter().map(|why| format!("\nISA-L is not beside ours: {why}"));
        format!(
            "{table}\n\nBytes of data in a second of one thread, in columns of {}; copy: memcpy of the same data.{}",
            ByteSize(self.column_bytes as u64),
            without.collect::<String>()
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let best = format!("{:?}", Kernel::best()).to_lowercase();
        let of = |compared: &Compared| {
            let subject = compared.subjects.iter().find(|subject| subject.name == best)?;
            let name = format!("{}, {}", compared.shape, compared.work);
            Some(Verdict::of_ratio(Target::PARITY, name, subject.to_copy))
        };
        self.compared.iter().filter(|compared| compared.beyond_caches).filter_map(of).collect()
    }
}
