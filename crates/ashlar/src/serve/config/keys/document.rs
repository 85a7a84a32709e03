//! The keys as documents: a file to begin with, and a page to read.

use super::{Key, Usual, all};

/// Columns of the file.
const FILE_COLUMNS: usize = 80;
/// Columns of a page of the reference.
pub const PAGE_COLUMNS: usize = 100;

const FILE_HEAD: &str = "\
# The configuration of Ashlar.
#
# Every key is commented out and shows what holds without it. `ashlar config check FILE` says
# whether a file is good, before a daemon reads it. `systemctl reload ashlar` has the daemon read it
# again: what is marked so is taken at once, all else by the next start.
";

const PAGE_HEAD: &str = "\
# Configuration

<!-- `ashlar man --page configuration` writes this page. -->

`ashlar serve --config FILE` reads a file in TOML. The package has it at `/etc/ashlar/ashlar.toml`.
Every key may be left out. Options of the command line go before the file.

```console
$ ashlar config example > ashlar.toml    # the file with every key, commented out
$ ashlar config check ashlar.toml        # whether a file is good, as a daemon would read it
$ ashlar config keys                     # this page as a table, or with --output json for programs
```

At a SIGHUP (`systemctl reload ashlar`) a daemon reads its file again. It takes some keys at once,
and names the others that have changed: those hold from the next start on. A file that is not good
changes nothing, and the log says why.
";

/// A file with every key, commented out.
pub fn example() -> String {
    let mut text = FILE_HEAD.to_owned();
    let mut before = None;
    for key in all() {
        let (table, name) = parts(key);
        if table != before {
            text.push_str(&format!("\n[{}]\n", table.unwrap_or_default()));
            before = table;
        }
        text.push_str(&in_file(key, name));
    }
    text
}

/// A key's part of the file. Where the default is none that could be written, the example stands in
/// its place.
fn in_file(key: &Key, name: &str) -> String {
    let (default, value) = match key.default {
        Usual::Value(value) => (None, value),
        Usual::Words(words) => (Some(format!("Default: {words}.")), key.example),
    };
    let range = format!("Range: {}.", key.range);
    let reload = key.reloads.then(|| "A reload takes it at once.".to_owned());
    let said = [Some(key.meaning.to_owned()), default, Some(range), reload];
    let lines = said.iter().flatten().flat_map(|said| wrapped(said, FILE_COLUMNS - 2));
    let comment: String = lines.map(|line| format!("# {line}\n")).collect();
    format!("\n{comment}#{name} = {value}\n")
}

/// The page.
pub fn markdown() -> String {
    let mut text = PAGE_HEAD.to_owned();
    let mut before = Some("");
    for key in all() {
        let (table, _) = parts(key);
        if table != before {
            let title = table.map_or("Keys".to_owned(), |table| format!("The table `[{table}]`"));
            text.push_str(&format!("\n## {title}\n"));
            before = table;
        }
        text.push_str(&in_page(key));
    }
    text
}

fn in_page(key: &Key) -> String {
    let (_, name) = parts(key);
    let default = match key.default {
        Usual::Value(value) => format!("`{value}`"),
        Usual::Words(words) => words.to_owned(),
    };
    let taken = if key.reloads { "at once by a reload" } else { "by the next start" };
    let rows = [
        format!("Default: {default}"),
        format!("Range: {}", key.range),
        format!("Example: `{name} = {}`", key.example),
        format!("A change is taken {taken}"),
    ];
    let rows: String = rows
        .iter()
        .map(|row| format!("- {}\n", wrapped(row, PAGE_COLUMNS - 2).join("\n  ")))
        .collect();
    let meaning = wrapped(key.meaning, PAGE_COLUMNS).join("\n");
    format!("\n### {}\n\n{meaning}\n\n{rows}", key.name)
}

/// The table that a key is in, and its name there.
fn parts(key: &Key) -> (Option<&'static str>, &'static str) {
    match key.name.split_once('.') {
        Some((table, name)) => (Some(table), name),
        None => (None, key.name),
    }
}

/// Lines of at most so many columns, broken between words.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
