//! Tables and sheets within the width of a terminal. One rule for all of them: what does not fit is
//! wrapped between words; the name of something is shortened at its end and a place at its
//! beginning, with `…`, for `show` and `--output json` have them whole; what people copy (an NQN in
//! a sheet) stays whole, on a line of its own.

use comfy_table::{Cell, Color, Table, presets};

/// Columns of a terminal.
pub const WIDTH: usize = 80;
/// Blanks beside a cell, one on each side.
const PADDING: usize = 2;
/// What a name or a place is never shortened below.
const NAME_WIDTH_MIN: usize = 12;
/// How far a value is indented that stands below its title.
const INDENT: usize = 4;

/// What a column holds, and so how it gets narrower.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A figure, or a word of our own: never shortened.
    Figure,
    /// Words: wrapped between them.
    Words,
    /// A name that an operator has chosen: shortened at its end.
    Name,
    /// A path: shortened at its beginning.
    Place,
}

/// What stands in a table.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    colour: Option<Color>,
}

impl Text {
    /// In that colour.
    pub fn coloured(self, colour: Color) -> Self {
        Text { colour: Some(colour), ..self }
    }
}

impl<T: ToString> From<T> for Text {
    fn from(text: T) -> Self {
        Text { text: text.to_string(), colour: None }
    }
}

/// A table with these columns. A title may have several lines.
pub fn table(columns: &[(&str, Kind)], rows: Vec<Vec<Text>>) -> String {
    let widths = widths(columns, &rows);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|(title, _)| title.to_uppercase()));
    for row in rows {
        let cells = row.into_iter().zip(columns).zip(&widths);
        table.add_row(cells.map(|((text, (_, kind)), width)| {
            let cell = Cell::new(fitted(&text.text, *kind, *width));
            text.colour.map_or(cell.clone(), |colour| cell.fg(colour))
        }));
    }
    trimmed(&table)
}

/// The table without the blanks that fill its last column.
fn trimmed(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn longest<'a>(parts: impl Iterator<Item = &'a str>) -> usize {
    parts.map(width).max().unwrap_or(0)
}

/// How wide each column is. The widest of those that may be narrower is narrowed first: words, then
/// places and names.
fn widths(columns: &[(&str, Kind)], rows: &[Vec<Text>]) -> Vec<usize> {
    let texts = |at: usize| rows.iter().map(move |row| row[at].text.as_str());
    let natural = |at: usize| longest(texts(at).flat_map(str::lines).chain(columns[at].0.lines()));
    let least = |at: usize| {
        let title = longest(columns[at].0.lines());
        match columns[at].1 {
            Kind::Figure => natural(at),
            Kind::Words => title.max(longest(texts(at).flat_map(str::split_whitespace))),
            Kind::Name | Kind::Place => title.max(natural(at).min(NAME_WIDTH_MIN)),
        }
    };
    let mut widths: Vec<usize> = (0..columns.len()).map(natural).collect();
    let least: Vec<usize> = (0..columns.len()).map(least).collect();
    // The blank behind the last column is not printed.
    let room = (WIDTH + 1).saturating_sub(columns.len() * PADDING);
    for kinds in [&[Kind::Words][..], &[Kind::Name, Kind::Place]] {
        while widths.iter().sum::<usize>() > room {
            let may_shrink =
                |at: &usize| kinds.contains(&columns[*at].1) && widths[*at] > least[*at];
            let Some(widest) = (0..columns.len()).filter(may_shrink).max_by_key(|at| widths[*at])
            else {
                break;
            };
            widths[widest] -= 1;
        }
    }
    widths
}

fn fitted(text: &str, kind: Kind, width: usize) -> String {
    match kind {
        Kind::Figure => text.to_owned(),
        Kind::Words => wrapped(text, width).join("\n"),
        Kind::Name => shortened_at_end(text, width),
        Kind::Place => shortened_at_beginning(text, width),
    }
}

fn shortened_at_end(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

fn shortened_at_beginning(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(width(text) - max.saturating_sub(1))).collect()
}

/// The text in lines of at most that width, broken between words. A longer word has a line of its
/// own.
fn wrapped(text: &str, max: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut now = String::new();
        for word in line.split_whitespace() {
            if !now.is_empty() && width(&now) + 1 + width(word) > max {
                lines.push(std::mem::take(&mut now));
            }
            if !now.is_empty() {
                now.push(' ');
            }
            now.push_str(word);
        }
        lines.push(now);
    }
    lines
}

/// Prose below a table, or on its own. What goes on is indented, so that one sees where the next
/// one begins.
pub fn prose(text: &str) -> String {
    wrapped(text, WIDTH - INDENT).join(&format!("\n{}", " ".repeat(INDENT)))
}

/// Prose below a line that it belongs to.
pub fn below(text: &str) -> String {
    let indent = " ".repeat(INDENT);
    wrapped(text, WIDTH - INDENT)
        .iter()
        .map(|line| format!("{indent}{line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The text with its words cut that have no room on a line: behind a comma where that is possible.
pub fn cut_below(text: &str) -> String {
    let words = |line: &str| {
        let words = line.split_whitespace().map(|word| pieces(word, WIDTH - INDENT).join(" "));
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn pieces(word: &str, max: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), word);
    while let Some((room, _)) = rest.char_indices().nth(max) {
        let end = rest[..room].rfind(',').map_or(room, |comma| comma + 1);
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces.push(rest);
    pieces
}

/// Two columns: what, and its value. A value with a word that has no room beside its title stands
/// below it.
pub fn sheet(rows: Vec<(&str, String)>) -> String {
    let title_width = longest(rows.iter().map(|(what, _)| *what));
    let beside = title_width + 1 + PADDING;
    let row = |(what, value): (&str, String)| {
        let room = WIDTH - beside;
        if longest(value.split_whitespace()) > room {
            return format!(" {what}\n{}", below(&value));
        }
        let value = wrapped(&value, room).join(&format!("\n{}", " ".repeat(beside)));
        format!(" {what:title_width$}  {value}").trim_end().to_owned()
    };
    rows.into_iter().map(row).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
