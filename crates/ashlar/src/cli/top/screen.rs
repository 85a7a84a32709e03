//! What stands on the screen of `ashlar top`, and what keys do to it.

use std::cmp::Reverse;

use ashlar_block::{ByteSize, printable};
use ashlar_control::types::{Host, Job, LatencyFigures, Status};
use ashlar_control::{ProgressText, Span};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line as TextLine;
use ratatui::widgets::{Paragraph, Row, Table};

use crate::cli::iostat::report::{Line, Report, Thing};

#[cfg(test)]
mod tests;

/// Lines that are no rows: the head, the views, the titles, and the keys.
const OTHER_LINES: u16 = 5;
/// Columns of a name by which one thing can be told from another.
const NAME_COLUMNS_MIN: u16 = 20;

/// What was seen at one moment, and what was counted until then.
pub struct Seen {
    pub status: Status,
    pub report: Report,
    pub hosts: Vec<Host>,
    pub jobs: Vec<Job>,
}

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    Pools,
    Volumes,
    Drives,
    Hosts,
    Jobs,
}

const VIEWS: [(View, &str); 5] = [
    (View::Pools, "pools"),
    (View::Volumes, "volumes"),
    (View::Drives, "drives"),
    (View::Hosts, "hosts"),
    (View::Jobs, "jobs"),
];

/// In which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Operations,
    Bytes,
    Latency,
    Name,
}

/// What is to come after a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    GoOn,
    End,
}

/// The screen.
pub struct Screen {
    seen: Seen,
    view: View,
    order: Order,
    /// The first row that is shown.
    first: usize,
    /// Rows that have room.
    page: usize,
    is_stopped: bool,
    /// Why there is nothing newer.
    problem: Option<String>,
}

impl Screen {
    /// With what was seen first.
    pub fn new(seen: Seen) -> Self {
        let (view, order) = (View::Pools, Order::Operations);
        Screen { seen, view, order, first: 0, page: 1, is_stopped: false, problem: None }
    }

    /// What is seen now.
    pub fn show(&mut self, seen: Seen) {
        (self.seen, self.problem) = (seen, None);
    }

    /// Nothing newer is known, for this reason.
    pub fn fail(&mut self, why: String) {
        self.problem = Some(why);
    }

    /// Whether nothing newer is wanted.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Does what a key stands for. None: the terminal has another size.
    pub fn press(&mut self, key: Option<KeyEvent>) -> Wish {
        let Some(key) = key else { return Wish::GoOn };
        let last = self.rows().1.len().saturating_sub(self.page);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Wish::End,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Wish::End;
            }
            KeyCode::Char(' ') => self.is_stopped = !self.is_stopped,
            KeyCode::Char('o') => self.order = Order::Operations,
            KeyCode::Char('b') => self.order = Order::Bytes,
            KeyCode::Char('l') => self.order = Order::Latency,
            KeyCode::Char('n') => self.order = Order::Name,
            KeyCode::Char(digit @ '1'..='5') => self.choose(digit as usize - '1' as usize),
            KeyCode::Tab => self.choose((self.view as usize + 1) % VIEWS.len()),
            KeyCode::BackTab => self.choose((self.view as usize + VIEWS.len() - 1) % VIEWS.len()),
            KeyCode::Down => self.first = (self.first + 1).min(last),
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::PageDown => self.first = (self.first + self.page).min(last),
            KeyCode::PageUp => self.first = self.first.saturating_sub(self.page),
            KeyCode::Home => self.first = 0,
            KeyCode::End => self.first = last,
            _ => {}
        }
        Wish::GoOn
    }

    fn choose(&mut self, at: usize) {
        (self.view, self.first) = (VIEWS[at].0, 0);
    }

    /// Draws all of it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.page = usize::from(area.height.saturating_sub(OTHER_LINES)).max(1);
        let parts = [Constraint::Length(2), Constraint::Length(1), Constraint::Min(0)];
        let [head, views, list, foot] =
            Layout::vertical([parts[0], parts[1], parts[2], Constraint::Length(1)]).areas(area);
        frame.render_widget(Paragraph::new(self.head()), head);
        frame.render_widget(Paragraph::new(self.views()), views);
        let (titles, rows) = self.rows();
        self.first = self.first.min(rows.len().saturating_sub(self.page));
        let shown = rows.iter().skip(self.first).take(self.page).map(|row| Row::new(row.clone()));
        let widths = widths(&titles, &rows, area.width);
        let bold = Style::default().add_modifier(Modifier::BOLD);
        let titles = Row::new(titles.iter().map(|title| title.to_uppercase())).style(bold);
        frame.render_widget(Table::new(shown, widths).header(titles), list);
        let keys = "1-5 Tab view  o b l n sort  arrows scroll  space stop  q end";
        frame.render_widget(Paragraph::new(keys), foot);
    }

    fn head(&self) -> Vec<TextLine<'static>> {
        let Seen { status, report, .. } = &self.seen;
        let of_pools = || report.lines.iter().filter(|line| line.thing == Thing::Pool);
        // A sum of nothing is less than nothing: -0.
        let operations = of_pools().map(|line| operations(report, line)).sum::<f64>() + 0.0;
        let bytes: f64 = of_pools().map(|line| bytes(report, line)).sum();
        let first = format!(
            "ashlar {}  up {}  hosts {}  {operations:.0} op/s  {}/s",
            status.version,
            Span(status.uptime_seconds),
            status.hosts_connected,
            ByteSize(bytes as u64)
        );
        let second = match (&self.problem, &status.alerts[..]) {
            (Some(why), _) => {
                format!("no answer: {}", printable(why.lines().next().unwrap_or_default()))
            }
            (None, []) => "all is well".to_owned(),
            (None, [worst, rest @ ..]) => match rest.len() {
                0 => printable(&worst.message),
                more => {
                    format!("{} (and {more} more: ashlar status -x)", printable(&worst.message))
                }
            },
        };
        vec![TextLine::from(first), TextLine::from(second)]
    }

    fn views(&self) -> TextLine<'static> {
        let name = |(at, (view, name)): (usize, &(View, &str))| match *view == self.view {
            true => format!("[{} {name}]", at + 1),
            false => format!(" {} {name} ", at + 1),
        };
        let views: Vec<String> = VIEWS.iter().enumerate().map(name).collect();
        let stopped = if self.is_stopped { "  stopped" } else { "" };
        TextLine::from(format!("{}{stopped}", views.join(" ")))
    }

    /// The titles of the columns, and all rows in their order.
    fn rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        match self.view {
            View::Pools => (POOL_TITLES.to_vec(), self.pools()),
            View::Volumes => (IO_TITLES.to_vec(), self.active(Thing::Volume, Vec::new)),
            View::Drives => (IO_TITLES.to_vec(), self.active(Thing::Drive, Vec::new)),
            View::Hosts => (HOST_TITLES.to_vec(), self.hosts()),
            View::Jobs => (JOB_TITLES.to_vec(), self.jobs()),
        }
    }

    /// The lines of these things in their order, with `more` behind each.
    fn active(&self, thing: Thing, more: impl Fn() -> Vec<String>) -> Vec<Vec<String>> {
        let report = &self.seen.report;
        let row = |line: &Line| [io_row(report, line), more()].concat();
        self.sorted(thing).into_iter().map(row).collect()
    }

    fn sorted(&self, thing: Thing) -> Vec<&Line> {
        let report = &self.seen.report;
        let mut lines: Vec<&Line> = report.lines.iter().filter(|it| it.thing == thing).collect();
        lines.sort_by_key(|line| name(line));
        match self.order {
            Order::Operations => lines.sort_by_key(|it| Reverse(operations(report, it) as u64)),
            Order::Bytes => lines.sort_by_key(|it| Reverse(bytes(report, it) as u64)),
            Order::Latency => lines.sort_by_key(|it| Reverse(p99_us(it, 0).max(p99_us(it, 1)))),
            Order::Name => {}
        }
        lines
    }

    fn pools(&self) -> Vec<Vec<String>> {
        let report = &self.seen.report;
        let row = |line: &Line| {
            let pool = self.seen.status.pools.iter().find(|pool| pool.name == line.pool);
            let states = pool.map(|pool| pool.states.join(",")).unwrap_or_default();
            let safe = pool.and_then(|pool| pool.of_space(|space| space.safe_to_write_bytes));
            let safe = safe.map_or_else(|| "-".to_owned(), |bytes| ByteSize(bytes).to_string());
            [io_row(report, line), vec![safe, states]].concat()
        };
        let closed = self.seen.status.pools.iter().filter(|pool| pool.space.is_none());
        let closed = closed.map(|pool| {
            let mut row = vec!["-".to_owned(); POOL_TITLES.len()];
            row[0] = pool.name.clone();
            row[POOL_TITLES.len() - 1] = pool.states.join(",");
            row
        });
        self.sorted(Thing::Pool).into_iter().map(row).chain(closed).collect()
    }

    fn hosts(&self) -> Vec<Vec<String>> {
        let row = |host: &Host| {
            let (queues, id) = (host.io_queues.to_string(), host.controller_id.to_string());
            vec![host.nqn.clone(), host.address.clone(), queues, id, host.connected_at.clone()]
        };
        let mut rows: Vec<_> = self.seen.hosts.iter().map(row).collect();
        rows.sort();
        rows
    }

    fn jobs(&self) -> Vec<Vec<String>> {
        let row = |job: &Job| {
            let said = match (&job.problem, job.goes_on()) {
                (Some(why), _) => why.clone(),
                (None, true) => ProgressText::from(job).to_string(),
                (None, false) => job.result.clone().unwrap_or_default(),
            };
            let done = format!("{:.1} %", job.done_percent);
            vec![job.id.clone(), job.states.join(","), done, printable(&said)]
        };
        let (going, ended): (Vec<&Job>, Vec<&Job>) =
            self.seen.jobs.iter().partition(|job| job.goes_on());
        going.into_iter().chain(ended).map(row).collect()
    }
}

const IO_TITLES: [&str; 8] = ["name", "r/s", "w/s", "read/s", "write/s", "r p99", "w p99", "queue"];
const POOL_TITLES: [&str; 10] =
    ["name", "r/s", "w/s", "read/s", "write/s", "r p99", "w p99", "queue", "safe", "state"];
const HOST_TITLES: [&str; 5] = ["host", "address", "queues", "id", "since"];
const JOB_TITLES: [&str; 4] = ["job", "state", "done", "left, or result"];

fn name(line: &Line) -> String {
    match line.thing {
        Thing::Pool => line.name.clone(),
        Thing::Volume | Thing::Drive => format!("{}/{}", line.pool, line.name),
    }
}

fn operations(report: &Report, line: &Line) -> f64 {
    let all: u64 = line.kinds.iter().map(|kind| kind.took.count()).sum();
    all as f64 / report.interval_seconds.max(1e-3)
}

fn bytes(report: &Report, line: &Line) -> f64 {
    line.kinds[..2].iter().map(|kind| kind.bytes).sum::<u64>() as f64
        / report.interval_seconds.max(1e-3)
}

fn p99_us(line: &Line, kind: usize) -> u64 {
    LatencyFigures::from(&line.kinds[kind].took).p99_us.unwrap_or(0)
}

fn io_row(report: &Report, line: &Line) -> Vec<String> {
    let seconds = report.interval_seconds.max(1e-3);
    let rate = |kind: usize| format!("{:.0}", line.kinds[kind].took.count() as f64 / seconds);
    let flow = |kind: usize| ByteSize((line.kinds[kind].bytes as f64 / seconds) as u64).to_string();
    let p99 = |kind: usize| match p99_us(line, kind) {
        0 => "-".to_owned(),
        us @ 1..1000 => format!("{us}us"),
        us @ 1000..1_000_000 => format!("{:.1}ms", us as f64 / 1e3),
        us => format!("{:.1}s", us as f64 / 1e6),
    };
    let queue = format!("{:.1}", report.mean_queue(line));
    vec![name(line), rate(0), rate(1), flow(0), flow(1), p99(0), p99(1), queue]
}

/// As wide as what stands in them. Where there is no room for all the first column gives way, but
/// not so far that one thing cannot be told from another: columns on the right are left out then.
fn widths(titles: &[&str], rows: &[Vec<String>], width: u16) -> Vec<Constraint> {
    let longest = |at: usize| {
        let texts = rows.iter().map(|row| row[at].chars().count());
        texts.chain([titles[at].len()]).max().unwrap_or(0) as u16
    };
    let mut widths: Vec<u16> = (0..titles.len()).map(longest).collect();
    let of_others = |widths: &[u16]| {
        let each = widths[1..].iter().map(|width| width.saturating_add(1));
        each.fold(0, u16::saturating_add)
    };
    let least = widths[0].min(NAME_COLUMNS_MIN);
    while widths.len() > 1 && of_others(&widths).saturating_add(least) > width {
        widths.pop();
    }
    widths[0] = widths[0].min(width.saturating_sub(of_others(&widths))).max(least);
    widths.into_iter().map(Constraint::Length).collect()
}
