//! What to do, said of the very pool and drive.

/// The text with these in place of POOL and DRIVE in the commands that it has, which stand between
/// backquotes; where one is not known, its word stays. It is gone through once: a name that has
/// such a word in it stays as it is.
pub(crate) fn settled(text: &str, pool: Option<&str>, drive: Option<&str>) -> String {
    let part = |(nth, part): (usize, &str)| match nth % 2 {
        0 => part.to_owned(),
        _ => command(part, pool, drive),
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

fn command(text: &str, pool: Option<&str>, drive: Option<&str>) -> String {
    let is_end = |c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c);
    let word = |piece: &str| {
        let word = piece.trim_end_matches(is_end);
        let name = match word {
            "POOL" => pool,
            "DRIVE" => drive,
            _ => None,
        };
        name.unwrap_or(word).to_owned() + &piece[word.len()..]
    };
    text.split_inclusive(is_end).map(word).collect()
}

#[cfg(test)]
mod tests;
