//! Figures for narrow columns: at most five characters each.

use std::time::Duration;

const PREFIXES: [&str; 6] = ["K", "M", "G", "T", "P", "E"];

/// A number in three digits, with a prefix of powers of `base`.
fn scaled(number: f64, base: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if number < 9.95 {
        return format!("{number:.1}");
    }
    if number < 999.5 {
        return format!("{number:.0}");
    }
    let (mut number, mut at) = (number / base, 0);
    while number >= 999.5 && at + 1 < PREFIXES.len() {
        (number, at) = (number / base, at + 1);
    }
    let digits = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    format!("{number:.digits$}{}", PREFIXES[at])
}

/// A count, by powers of 1000.
pub fn count(number: f64) -> String {
    scaled(number, 1000.0)
}

/// Bytes, by powers of 1024.
pub fn bytes(number: f64) -> String {
    scaled(number, 1024.0)
}

/// A time, in two digits or three.
pub fn time(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        _ if us < 999.5 => format!("{us:.0}us"),
        _ if us < 9_950.0 => format!("{:.1}ms", us / 1e3),
        _ if us < 999_500.0 => format!("{:.0}ms", us / 1e3),
        _ if us < 99_950_000.0 => format!("{:.1}s", us / 1e6),
        _ => format!("{:.0}s", us / 1e6),
    }
}

/// A time that may be unknown.
pub fn time_or_dash(known: Option<Duration>) -> String {
    known.map_or_else(|| "-".to_owned(), time)
}

#[cfg(test)]
mod tests;
