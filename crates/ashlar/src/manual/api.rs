//! `docs/api-reference.md`: every operation of the API, of the OpenAPI document that the daemon
//! serves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ashlar_control::{API_ROOT, ErrorCode};
use serde_json::Value;

use super::{cell, paragraph};

const HEAD: &str = "# Operations of the API

<!-- `ashlar man --page api-reference` writes this page. -->

Every operation, what it takes and answers, and the least role that may ask for it. What holds for
all of them is in [The API](api.md). Paths are below `/api/v1`. `GET /api/v1/openapi.json` has the
same for programs, where each operation has the name that stands beside its role.
";
const SCHEMAS: &str = "#/components/schemas/";

/// The page of that document.
pub fn page(document: &Value) -> String {
    let operations: Vec<Described> = operations(document).collect();
    let common = common_errors(&operations);
    let mut page = HEAD.to_owned();
    let codes = codes(common.iter().copied());
    let any = format!("Any operation may answer with one of these errors as well: {codes}.");
    let _ = writeln!(page, "\n{}", paragraph(&any));
    let mut groups = BTreeMap::<&str, Vec<&Described>>::new();
    for operation in &operations {
        groups.entry(operation.group).or_default().push(operation);
    }
    for (group, operations) in groups {
        let _ = writeln!(page, "\n## Operations: {group}");
        operations.iter().for_each(|it| page += &it.section(&common));
    }
    page += "\n## Objects\n\nA field that is *needed* is in every such object; others may be left \
             out of a request.\n";
    for (name, schema) in members(&document["components"]["schemas"]) {
        page += &object(name, schema);
    }
    page += "\n## Codes of errors\n\n| code | status | what it means |\n|---|---|---|\n";
    for code in ErrorCode::ALL {
        let status = code.status().as_u16();
        let _ = writeln!(page, "| `{}` | {status} | {} |", code.word(), cell(code.text()));
    }
    page
}

/// An operation of the document.
struct Described<'a> {
    group: &'a str,
    method: String,
    path: &'a str,
    what: &'a Value,
    /// Its errors, by status.
    errors: BTreeMap<&'a str, Vec<&'a str>>,
}

fn operations(document: &Value) -> impl Iterator<Item = Described<'_>> {
    members(&document["paths"]).flat_map(|(path, methods)| {
        members(methods).map(move |(method, what)| Described {
            group: text(&what["tags"][0]),
            method: method.to_uppercase(),
            path: path.strip_prefix(API_ROOT).expect("all are below it"),
            what,
            errors: errors(what),
        })
    })
}

/// The codes that an operation may answer with, by their status.
fn errors(operation: &Value) -> BTreeMap<&str, Vec<&str>> {
    members(&operation["responses"])
        .filter_map(|(status, answer)| Some((status.as_str(), codes_of(answer)?)))
        .collect()
}

/// The codes of an answer, if it is an error.
fn codes_of(answer: &Value) -> Option<Vec<&str>> {
    let problem = &answer["content"]["application/problem+json"]["schema"];
    let codes = problem["allOf"][1]["properties"]["code"]["enum"].as_array()?;
    Some(codes.iter().map(text).collect())
}

/// What every operation may answer with.
fn common_errors<'a>(operations: &[Described<'a>]) -> BTreeSet<&'a str> {
    let of = |it: &Described<'a>| -> BTreeSet<&'a str> {
        it.errors.values().flatten().copied().collect()
    };
    let sets = operations.iter().map(of);
    sets.reduce(|common, other| &common & &other).unwrap_or_default()
}

impl Described<'_> {
    fn section(&self, common: &BTreeSet<&str>) -> String {
        let Described { method, path, what, .. } = self;
        let (role, id) = (text(&what["x-role"]), text(&what["operationId"]));
        let mut summary = format!("Role `{role}`; `{id}`.");
        let body = &what["requestBody"]["content"]["application/json"]["schema"];
        if !body.is_null() {
            let _ = write!(summary, " Takes {}.", kind(body));
        }
        summary += &self.answer();
        let said = paragraph(text(&what["description"]));
        let mut section = format!("\n### {method} {path}\n\n{said}\n\n{}\n", paragraph(&summary));
        let parameters = what["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        if !parameters.is_empty() {
            section += "\n| parameter | in | takes | is |\n|---|---|---|---|\n";
            parameters.iter().for_each(|it| section += &parameter(it));
        }
        section + &self.failures(common)
    }

    /// What is answered if all is well.
    fn answer(&self) -> String {
        let is_success = |(status, _): &(&String, &Value)| status.starts_with('2');
        let (status, answer) =
            members(&self.what["responses"]).find(is_success).expect("each has an answer");
        let said = text(&answer["description"]);
        match members(&answer["content"]).next() {
            None => format!(" Answers {status}: nothing."),
            Some((media, content)) if media == "application/json" => {
                format!(" Answers {status}, {}: {said}", kind(&content["schema"]))
            }
            Some((media, _)) => format!(" Answers {status}, `{media}`: {said}"),
        }
    }

    /// A table of the errors that not every operation has.
    fn failures(&self, common: &BTreeSet<&str>) -> String {
        let row = |(status, all): (&&str, &Vec<&str>)| {
            let own: Vec<&str> = all.iter().copied().filter(|it| !common.contains(it)).collect();
            (!own.is_empty()).then(|| format!("| {status} | {} |\n", codes(own)))
        };
        let rows: String = self.errors.iter().filter_map(row).collect();
        match rows.is_empty() {
            true => rows,
            false => format!("\n| status | errors |\n|---|---|\n{rows}"),
        }
    }
}

fn parameter(it: &Value) -> String {
    let (name, place) = (text(&it["name"]), text(&it["in"]));
    let said = cell(text(&it["description"]));
    format!("| `{name}` | {place} | {} | {said} |\n", kind(&it["schema"]))
}

/// A named object with its fields; or, where it is none, what it is.
fn object(name: &str, schema: &Value) -> String {
    let mut section = format!("\n### {name}\n\n{}\n", paragraph(text(&schema["description"])));
    let parts = schema["allOf"].as_array().map_or(std::slice::from_ref(schema), Vec::as_slice);
    let also = parts.iter().filter(|part| part["$ref"].is_string());
    for part in also {
        let _ = writeln!(section, "\nIt has all fields of {}, and:", kind(part));
    }
    let rows: String = parts.iter().flat_map(fields).collect();
    match rows.is_empty() {
        true => section + &format!("\n{}\n", paragraph(&format!("It is {}.", kind(schema)))),
        false => section + "\n| field | takes | is |\n|---|---|---|\n" + &rows,
    }
}

fn fields(schema: &Value) -> Vec<String> {
    let needed: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().map(text).collect();
    let row = |(name, field): (&String, &Value)| {
        let needed = if needed.contains(name.as_str()) { ", *needed*" } else { "" };
        // What refers to another object says in there what it is for.
        let inside = field["oneOf"].as_array().and_then(|all| all.first());
        let said = field["description"].as_str().or_else(|| inside?["description"].as_str());
        let said = cell(said.unwrap_or_default());
        format!("| `{name}` | {}{needed} | {said} |\n", kind(field))
    };
    members(&schema["properties"]).map(row).collect()
}

/// What a value is, in some words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix(SCHEMAS)) {
        return format!("[`{name}`](#{})", name.to_lowercase());
    }
    if let Some(all) = schema["oneOf"].as_array() {
        return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return codes(words.iter().map(text));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(text).collect(),
        one => vec![text(one)],
    };
    let named = kinds.into_iter().map(|kind| match kind {
        "string" if schema["format"] == "date-time" => "time".to_owned(),
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => format!("list: {}", self::kind(&schema["items"])),
        "null" => "`null`".to_owned(),
        other => other.to_owned(),
    });
    named.collect::<Vec<_>>().join(" or ")
}

fn codes<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
