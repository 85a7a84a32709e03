//! The OpenAPI document: what is said of all operations.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use serde_json::json;
use utoipa::OpenApi as _;
use utoipa::PartialSchema;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{self, HttpMethod, OperationBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, HeaderBuilder, OpenApi, RefOr, Required, Response, ResponseBuilder,
};

use super::Operation;
use super::shape::{Answer, Shape};
use crate::access::Role;
use crate::error::{ErrorCode, PROBLEM_JSON, Problem};
use crate::routes::API_ROOT;

const JSON: &str = "application/json";
const BEARER: &str = "bearer";
const TOKEN: &str = "A token of `ashlar token create`, or a JSON web token that a registered key \
                     has signed. Who comes by the daemon's socket needs none.";
const EVENT_STREAM: &str = "text/event-stream";

#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "Ashlar",
    description = "Compressed, parity-protected thin volumes over NVMe/TCP. Every error is a \
                   problem as of RFC 9457, with a `code` that does not change and often a `hint`. \
                   A request that destroys data, cuts hosts off or leaves a pool with fewer drives \
                   is refused with confirmation_needed and what it costs, unless its query is \
                   confirm=true. `x-role` of an operation is the least role that may ask for it."
))]
struct Head;

/// What is said of these operations.
pub(crate) fn document<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> OpenApi {
    let mut document = Head::openapi();
    let components = document.components.get_or_insert_default();
    let problem = Shape::of::<Problem>();
    components.schemas.extend(problem.parts.iter().cloned());
    components.schemas.extend(Shape::of::<Role>().parts);
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(TOKEN)).build();
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer));
    document.security = Some(vec![SecurityRequirement::new(BEARER, Vec::<String>::new())]);
    for operation in operations {
        let shapes = operation.takes.iter().chain(operation.answer.shape());
        components.schemas.extend(shapes.flat_map(|shape| shape.parts.iter().cloned()));
        let path = format!("{API_ROOT}{}", operation.path);
        let methods = vec![method(&operation.method)];
        document.paths.add_path_operation(path, methods, describe(operation, &problem));
    }
    document
}

fn method(method: &Method) -> HttpMethod {
    match *method {
        Method::GET => HttpMethod::Get,
        Method::POST => HttpMethod::Post,
        Method::PATCH => HttpMethod::Patch,
        Method::DELETE => HttpMethod::Delete,
        _ => unreachable!("a method that no operation has: {method}"),
    }
}

fn describe(operation: &Operation, problem: &Shape) -> path::Operation {
    let summary = operation.text.split_once(". ").map_or(operation.text, |(first, _)| first);
    let group = operation.path.split('/').nth(1).unwrap_or_default();
    let role = ExtensionsBuilder::new().add("x-role", json!(operation.role.to_string())).build();
    let parameters = operation.parameters.iter().map(|parameter| parameter.describe());
    let body = operation.takes.as_ref().map(|shape| {
        let content = ContentBuilder::new().schema(Some(shape.reference())).build();
        RequestBodyBuilder::new().content(JSON, content).required(Some(Required::True)).build()
    });
    let (status, mut answer) = success(&operation.answer);
    let headers = operation.answer_headers.iter();
    answer.headers.extend(headers.map(|(name, text)| {
        let header = HeaderBuilder::new().schema(Some(String::schema())).description(Some(*text));
        ((*name).to_owned(), header.build().into())
    }));
    let described = OperationBuilder::new()
        .operation_id(Some(operation.id))
        .tag(group)
        .summary(Some(summary.trim_end_matches('.')))
        .description(Some(operation.text))
        .parameters(Some(parameters))
        .request_body(body)
        .response(status.as_str(), answer)
        .extensions(Some(role));
    let failures = failures(operation).into_iter();
    failures
        .fold(described, |described, (status, codes)| {
            described.response(status.to_string(), failure(&codes, problem))
        })
        .build()
}

fn success(answer: &Answer) -> (StatusCode, Response) {
    let with = |content: &str, schema: RefOr<Schema>, text: &str| {
        let content_of = ContentBuilder::new().schema(Some(schema)).build();
        ResponseBuilder::new().description(text).content(content, content_of).build()
    };
    match answer {
        Answer::Nothing => {
            (StatusCode::NO_CONTENT, ResponseBuilder::new().description("It is done.").build())
        }
        Answer::One(status, shape, text) => (*status, with(JSON, shape.reference(), text)),
        Answer::List(shape, text) => (StatusCode::OK, with(JSON, shape.list(), text)),
        Answer::Stream(shape, text) => {
            (StatusCode::OK, with(EVENT_STREAM, shape.reference(), text))
        }
        Answer::Text(kind, text) => (StatusCode::OK, with(kind, String::schema(), text)),
    }
}

/// The errors of an operation, by their status.
fn failures(operation: &Operation) -> BTreeMap<u16, Vec<ErrorCode>> {
    let mut failures = BTreeMap::<u16, Vec<ErrorCode>>::new();
    for code in &operation.errors {
        failures.entry(code.status().as_u16()).or_default().push(*code);
    }
    failures
}

/// A problem with one of these codes.
fn failure(codes: &[ErrorCode], problem: &Shape) -> Response {
    let words: Vec<&str> = codes.iter().map(|code| code.word()).collect();
    let code = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
    let narrowed = ObjectBuilder::new().property("code", code);
    let schema = AllOfBuilder::new().item(problem.reference()).item(narrowed).build();
    let lines = codes.iter().map(|code| format!("* `{}`: {}", code.word(), code.text()));
    let text = lines.collect::<Vec<_>>().join("\n");
    let content = ContentBuilder::new().schema(Some(Schema::AllOf(schema))).build();
    ResponseBuilder::new().description(text).content(PROBLEM_JSON, content).build()
}
