//! YAML for whoever reads it: text that a reader of YAML 1.1 or 1.2 could take for a number, a time
//! or a truth value is quoted, as Ansible, PyYAML and Ruby still take `on` for true. What is quoted
//! is written as in JSON, which YAML has as it is.

use std::fmt::Write as _;

use serde_json::Value;

/// What a line goes in below another one.
const STEP: &str = "  ";
/// Words that are no text, in any case.
const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// The value, without the last line's end.
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    block(value, "", &mut text);
    text.trim_end().to_owned()
}

/// A value that begins where the text ends, with whatever is below it at that `indent`.
fn block(value: &Value, indent: &str, text: &mut String) {
    match value {
        Value::Object(all) if !all.is_empty() => {
            for (at, (name, value)) in all.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { indent });
                text.push_str(&scalar(name));
                text.push(':');
                below(value, indent, text);
            }
        }
        Value::Array(all) if !all.is_empty() => {
            let inner = format!("{indent}{STEP}");
            for (at, value) in all.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { indent });
                text.push_str("- ");
                block(value, &inner, text);
            }
        }
        plain => {
            text.push_str(&inline(plain));
            text.push('\n');
        }
    }
}

/// What stands behind a name: on its line, or on those below it.
fn below(value: &Value, indent: &str, text: &mut String) {
    let inner = match value {
        Value::Object(all) if !all.is_empty() => format!("{indent}{STEP}"),
        // A list stands where its name does.
        Value::Array(all) if !all.is_empty() => indent.to_owned(),
        plain => {
            text.push(' ');
            text.push_str(&inline(plain));
            text.push('\n');
            return;
        }
    };
    text.push('\n');
    text.push_str(&inner);
    block(value, &inner, text);
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // What is empty, a number, a truth value or null is written as in JSON.
        other => other.to_string(),
    }
}

/// A text: as it is where no reader could take it for anything else.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-. ()%".contains(c);
    let is_word = WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if begins && !is_word && text.chars().all(is_plain) && !text.ends_with(' ') {
        return text.to_owned();
    }
    quoted(text)
}

/// As in JSON, which takes some signs as they are that end a line of YAML or are none in it.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for sign in Value::from(text).to_string().chars() {
        match sign {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(sign));
            }
            sign => quoted.push(sign),
        }
    }
    quoted
}

#[cfg(test)]
mod tests;
