//! A picture of the load in all states, as SVG.

use std::ops::Range;
use std::path::Path;

use anyhow::anyhow;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::steady::Moment;
use super::{Report, State};

const SIZE: (u32, u32) = (960, 620);
const FONT: &str = "sans-serif";

/// Draws operations per second above, and latencies below, over time.
///
/// # Errors
/// The file cannot be written.
pub fn draw(report: &Report, file: &Path) -> anyhow::Result<()> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!(
        "Level {} on {} modelled {} drives: two are lost, one after the other",
        report.level, report.drives, report.model
    );
    let root = root.titled(&title, (FONT, 20))?;
    let (above, below) = root.split_vertically(SIZE.1 / 3);
    let (first, last) = report
        .moments
        .first()
        .zip(report.moments.last())
        .ok_or_else(|| anyhow!("nothing was seen"))?;
    let time = first.at_s..last.at_s;
    let rate_max = 1.3 * f64::from(report.per_second);
    panel(&above, report, time.clone(), 0.0..rate_max, "operations a second", &[Line::iops()])?;
    let slowest = report.moments.iter().map(|moment| moment.p99_us).fold(0.0, f64::max);
    let lines = [Line::p50(), Line::p99()];
    panel(&below, report, time, 0.0..slowest * 1.15 / 1e3, "latency, ms", &lines)?;
    root.present().map_err(|error| anyhow!("cannot write {}: {error}", file.display()))
}

/// One figure over time.
struct Line {
    name: &'static str,
    colour: RGBColor,
    of: fn(&Moment) -> f64,
}

impl Line {
    fn iops() -> Self {
        Line { name: "done", colour: BLUE, of: |moment| moment.iops }
    }

    fn p50() -> Self {
        Line { name: "median", colour: BLUE, of: |moment| moment.p50_us / 1e3 }
    }

    fn p99() -> Self {
        Line { name: "99 % are below", colour: RED, of: |moment| moment.p99_us / 1e3 }
    }
}

fn panel<D: DrawingBackend>(
    area: &DrawingArea<D, plotters::coord::Shift>,
    report: &Report,
    time: Range<f64>,
    height: Range<f64>,
    what: &str,
    lines: &[Line],
) -> anyhow::Result<()>
where
    D::ErrorType: 'static,
{
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(time, height.clone())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_desc("seconds")
        .y_desc(what)
        .label_style((FONT, 13))
        .draw()?;
    mark_states(&mut chart, report, height)?;
    for Line { name, colour, of } in lines {
        let points = report.moments.iter().map(|moment| (moment.at_s, of(moment)));
        let drawn = chart.draw_series(LineSeries::new(points, colour))?;
        let colour = *colour;
        drawn.label(*name).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE.mix(0.8))
        .label_font((FONT, 13))
        .draw()?;
    Ok(())
}

/// Marks where each state begins, by a line and its name.
fn mark_states<D: DrawingBackend>(
    chart: &mut ChartContext<'_, D, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
    report: &Report,
    height: Range<f64>,
) -> anyhow::Result<()>
where
    D::ErrorType: 'static,
{
    for state in State::ALL {
        let Some(entered) = report.moments.iter().find(|moment| moment.state == state) else {
            continue;
        };
        let edge = [(entered.at_s, height.start), (entered.at_s, height.end)];
        chart.draw_series(LineSeries::new(edge, BLACK.mix(0.4)))?;
        let label = Text::new(format!(" {}", state.name()), (entered.at_s, height.end), (FONT, 14));
        chart.draw_series(std::iter::once(label))?;
    }
    Ok(())
}
