//! Paths within the texts that name drives: `file:PATH,size=4GiB`.
//!
//! A comma ends the path, so one that belongs to it is written `\,`. A backslash stands for itself,
//! because names below `/dev` have some (`EFI\x20System`); only in front of a comma, and at the end
//! of the path, two of them stand for one.

const SEPARATOR: char = ',';
const ESCAPE: char = '\\';

/// The place that a text names, as it is written, and its options.
pub fn split_options(text: &str) -> (&str, Option<&str>) {
    match separators(text).next() {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// Where commas are that belong to no path.
fn separators(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices(SEPARATOR).map(|(at, _)| at).filter(|at| {
        let before = text[..*at].chars().rev().take_while(|c| *c == ESCAPE).count();
        before.is_multiple_of(2)
    })
}

/// A path as it is written within a text.
pub fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut backslashes = 0;
    for c in path.chars() {
        match c {
            SEPARATOR => {
                text.extend(std::iter::repeat_n(ESCAPE, backslashes));
                text.extend([ESCAPE, SEPARATOR]);
            }
            c => text.push(c),
        }
        backslashes = if c == ESCAPE { backslashes + 1 } else { 0 };
    }
    text.extend(std::iter::repeat_n(ESCAPE, backslashes));
    text
}

/// The path that is written so.
pub fn unescaped(place: &str) -> String {
    let mut path = String::with_capacity(place.len());
    let mut backslashes = 0;
    for c in place.chars() {
        if c == ESCAPE {
            backslashes += 1;
            continue;
        }
        // Of an even number in front of a comma each two are one; the last of an odd number is the
        // comma's.
        let kept = if c == SEPARATOR { backslashes / 2 } else { backslashes };
        path.extend(std::iter::repeat_n(ESCAPE, kept));
        path.push(c);
        backslashes = 0;
    }
    path.extend(std::iter::repeat_n(ESCAPE, backslashes.div_ceil(2)));
    path
}

/// A drive's text without its options, which a block device has none of: what two ways of naming
/// one drive have in common.
pub fn path_of(spec: &str) -> &str {
    if spec.starts_with('/') { spec } else { split_options(spec).0 }
}

/// Whether `name` is where the drive is, with its options or without; of a file also its path
/// alone.
pub fn is_at(spec: &str, name: &str) -> bool {
    let path = path_of(spec);
    let file = |name: &str| path.strip_prefix("file:") == Some(split_options(name).0);
    path == path_of(name) || (name.starts_with('/') && file(name))
}

#[cfg(test)]
mod tests;
