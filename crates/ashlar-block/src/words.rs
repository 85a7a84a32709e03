//! Counts as people say them.

/// A number of things: `1 drive`, `2 drives`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// The same as what a sentence begins with: `1 drive is`, `2 drives are`.
pub fn counted_are(count: usize, thing: &str) -> String {
    format!("{} {}", counted(count, thing), if count == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests;
