//! Counts as people say them, and names as a terminal may show them.

use std::fmt::Write;

/// A number of things: `1 drive`, `2 drives`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// The same as what a sentence begins with: `1 drive is`, `2 drives are`.
pub fn counted_are(count: usize, thing: &str) -> String {
    format!("{} {}", counted(count, thing), if count == 1 { "is" } else { "are" })
}

/// A name that somebody else has chosen, as it may be shown: what would move the cursor, begin
/// another line or turn the text around is written as a number.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() && c.is_ascii() => {
                write!(shown, "\\x{:02x}", u32::from(c)).expect("a string takes all")
            }
            c if c.is_control() || is_invisible(c) => {
                write!(shown, "\\u{{{:x}}}", u32::from(c)).expect("a string takes all")
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Marks of direction, of width zero, and separators of lines: no name needs them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
