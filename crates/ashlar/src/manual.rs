//! The manual: a page for each command, made of what its help says, and the pages of the book's
//! reference, made of what the program itself goes by.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Arguments, Page};
use crate::cli;
use crate::serve::keys;
use crate::stdio::print;

mod api;
mod commands;
mod events;
mod roff;
#[cfg(test)]
mod tests;

/// Writes `ashlar.1` and a page for each command, as `ashlar-pool-create.1`.
///
/// # Errors
/// The directory is not there, or takes nothing.
pub fn write(directory: &Path) -> anyhow::Result<()> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    roff::write(&command, directory)
        .with_context(|| format!("the manual cannot be written to {}", directory.display()))
}

/// Prints a page of the book's reference.
///
/// # Errors
/// Standard output takes no more.
pub fn print_page(page: Page) -> anyhow::Result<()> {
    Ok(print(text_of(page))?)
}

/// A page of the book's reference: the file of that name in `docs/`.
fn text_of(page: Page) -> String {
    match page {
        Page::Commands => commands::page(),
        Page::ApiReference => api::page(&ashlar_control::openapi()),
        Page::Configuration => keys::markdown(),
        Page::Metrics => cli::metrics_page(),
        Page::Events => events::page(),
    }
}

/// A text in lines that a page has room for.
fn paragraph(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    keys::wrapped(&words.join(" "), keys::PAGE_COLUMNS).join("\n")
}

/// What a row of a table has room for: one line, in which a bar ends no column.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
