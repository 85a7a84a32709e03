//! What a client may ask for: each operation of the API once.
//!
//! From this one table come the routes, the OpenAPI document, the role that is needed, the errors
//! that may be answered and the name in the audit log. An operation is written down beside its
//! handler, in `routes`.

use std::collections::BTreeSet;

use axum::handler::Handler;
use axum::http::{Method, StatusCode};
use axum::routing::{MethodFilter, MethodRouter, on};
use serde_json::Value;
use utoipa::{PartialSchema, ToSchema};

use crate::access::Role;
use crate::error::ErrorCode;
use crate::error::ErrorCode::{
    BodyTooLarge, Forbidden, Internal, InvalidBody, InvalidQuery, InvalidRequest, TooManyAttempts,
    Unauthenticated,
};
use crate::routes::Api;

mod document;
mod shape;

pub(crate) use document::document;
use shape::{Answer, Parameter, Shape};

/// One operation.
pub struct Operation {
    /// Its identifier in the OpenAPI document, by which generated clients call it.
    pub id: &'static str,
    /// Its method.
    pub method: Method,
    /// Its path, below the API's root.
    pub path: &'static str,
    /// What it does, for people: the first sentence is its summary.
    pub text: &'static str,
    /// Who may ask for it.
    pub role: Role,
    /// It changes something, under this name of the command line.
    command: Option<Command>,
    is_idempotent: bool,
    parameters: Vec<Parameter>,
    takes: Option<Shape>,
    answer: Answer,
    /// Headers that an answer may have, and what they say.
    answer_headers: Vec<(&'static str, &'static str)>,
    errors: BTreeSet<ErrorCode>,
}

/// How the command line calls a change.
#[derive(Clone, Copy)]
enum Command {
    Always(&'static str),
    /// By what the body asks for.
    By(fn(&Value) -> &'static str),
}

impl Operation {
    /// How the command line calls what is `asked` for; nothing if nothing changes by it.
    pub fn command(&self, asked: &Value) -> Option<&'static str> {
        self.command.map(|command| match command {
            Command::Always(name) => name,
            Command::By(name) => name(asked),
        })
    }

    /// Whether anything changes by it.
    pub fn is_change(&self) -> bool {
        self.command.is_some()
    }

    /// Whether it may be asked again with the same key.
    pub(crate) fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    /// The parameters that its query may have.
    pub(crate) fn query_names(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().filter(|it| it.is_in_query()).map(|it| it.name)
    }

    /// Whether its query may have this parameter.
    pub(crate) fn takes_query(&self, name: &str) -> bool {
        self.query_names().any(|known| known == name)
    }

    /// Whether it is done only to what the client has seen, where that says so.
    pub(crate) fn takes_if_match(&self) -> bool {
        self.may_fail_with(ErrorCode::PreconditionFailed)
    }

    /// Whether its answers may have that header.
    pub(crate) fn may_answer_header(&self, name: &str) -> bool {
        self.answer_headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Whether it may answer with that error.
    pub fn may_fail_with(&self, code: ErrorCode) -> bool {
        self.errors.contains(&code)
    }
}

/// An operation, and what serves it.
pub(crate) struct Route {
    pub operation: Operation,
    pub handler: MethodRouter<Api>,
}

impl Route {
    fn new<T: 'static>(
        (method, filter): (Method, MethodFilter),
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, Api>,
    ) -> Self {
        let of_body: &[ErrorCode] =
            if method == Method::GET { &[] } else { &[InvalidBody, BodyTooLarge] };
        let of_all = [InvalidRequest, InvalidQuery, Unauthenticated, TooManyAttempts, Internal];
        let errors = of_all.iter().chain(of_body).copied().collect();
        let operation = Operation {
            id,
            method,
            path,
            text: "",
            role: Role::Viewer,
            command: None,
            is_idempotent: false,
            parameters: shape::of_path(path),
            takes: None,
            answer: Answer::Nothing,
            answer_headers: Vec::new(),
            errors,
        };
        Route { operation, handler: on(filter, handler) }
    }

    /// `GET path`.
    pub fn get<T: 'static>(
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, Api>,
    ) -> Self {
        Self::new((Method::GET, MethodFilter::GET), path, id, handler)
    }

    /// `POST path`.
    pub fn post<T: 'static>(
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, Api>,
    ) -> Self {
        Self::new((Method::POST, MethodFilter::POST), path, id, handler)
    }

    /// `PATCH path`.
    pub fn patch<T: 'static>(
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, Api>,
    ) -> Self {
        Self::new((Method::PATCH, MethodFilter::PATCH), path, id, handler)
    }

    /// `DELETE path`.
    pub fn delete<T: 'static>(
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, Api>,
    ) -> Self {
        Self::new((Method::DELETE, MethodFilter::DELETE), path, id, handler)
    }

    /// What it does.
    pub fn text(mut self, text: &'static str) -> Self {
        self.operation.text = text;
        self
    }

    /// It changes something, as the command line calls it, and such a client may ask for it.
    pub fn changes(self, role: Role, command: &'static str) -> Self {
        self.changes_as(role, Command::Always(command))
    }

    /// It makes something, and a client that has got no answer may ask again.
    pub fn idempotent(mut self) -> Self {
        self.operation.is_idempotent = true;
        self.header::<String>("Idempotency-Key", "A key that the client has made up for this request. Asked again with the same key, it answers what it has answered, and makes nothing twice. Kept for a day, at most until the daemon ends or so many others came that there is no room for it.")
            .answers_header("Idempotency-Replayed", "`true`: it was made for an earlier request with this key, whose answer this is.")
            .fails(&[ErrorCode::IdempotencyKeyReused])
    }

    /// The same, with a name that depends on what the body asks for.
    pub fn changes_by(self, role: Role, command: fn(&Value) -> &'static str) -> Self {
        self.changes_as(role, Command::By(command))
    }

    fn changes_as(mut self, role: Role, command: Command) -> Self {
        self.operation.command = Some(command);
        let route = self.needs(role);
        match route.operation.path.contains("{pool}") {
            true => route
                .header::<String>("If-Match", "Only if the pool, volume or policy is as the client has seen it: the ETag of that answer.")
                .fails(&[ErrorCode::PreconditionFailed]),
            false => route,
        }
    }

    /// Only such a client may ask for it.
    pub fn needs(mut self, role: Role) -> Self {
        self.operation.role = role;
        self.fails(&[Forbidden])
    }

    /// It may lose something, and asks first.
    pub fn consent(self) -> Self {
        self.query::<bool>("confirm", "The client accepts what the request costs.")
            .fails(&[ErrorCode::ConfirmationNeeded])
    }

    /// A parameter in the query that may be left out.
    pub fn query<T: PartialSchema>(mut self, name: &'static str, text: &'static str) -> Self {
        self.operation.parameters.push(Parameter::query::<T>(name, text));
        self
    }

    /// A header that may be left out.
    pub fn header<T: PartialSchema>(mut self, name: &'static str, text: &'static str) -> Self {
        self.operation.parameters.push(Parameter::header::<T>(name, text));
        self
    }

    /// A header that an answer may have.
    pub fn answers_header(mut self, name: &'static str, text: &'static str) -> Self {
        self.operation.answer_headers.push((name, text));
        self
    }

    /// An answer has the version of what it shows.
    pub fn tagged(self) -> Self {
        self.answers_header("ETag", "Names what people have chosen of it, for If-Match.")
    }

    /// The body of a request.
    pub fn takes<T: ToSchema>(mut self) -> Self {
        self.operation.takes = Some(Shape::of::<T>());
        self
    }

    /// What is answered.
    pub fn answers<T: ToSchema>(self, text: &'static str) -> Self {
        self.answers_with::<T>(StatusCode::OK, text)
    }

    /// What is answered once something is made.
    pub fn makes<T: ToSchema>(self, text: &'static str) -> Self {
        self.answers_with::<T>(StatusCode::CREATED, text)
    }

    fn answers_with<T: ToSchema>(mut self, status: StatusCode, text: &'static str) -> Self {
        self.operation.answer = Answer::One(status, Shape::of::<T>(), text);
        self
    }

    /// A list is answered.
    pub fn answers_list<T: ToSchema>(mut self, text: &'static str) -> Self {
        self.operation.answer = Answer::List(Shape::of::<T>(), text);
        self
    }

    /// A text of that kind is answered.
    pub fn answers_text(mut self, text: &'static str, kind: &'static str) -> Self {
        self.operation.answer = Answer::Text(kind, text);
        self
    }

    /// Server-sent events are answered, each of which has such data.
    pub fn answers_stream<T: ToSchema>(mut self, text: &'static str) -> Self {
        self.operation.answer = Answer::Stream(Shape::of::<T>(), text);
        self
    }

    /// Errors that may be answered.
    pub fn fails(mut self, errors: &[ErrorCode]) -> Self {
        self.operation.errors.extend(errors);
        self
    }
}

#[cfg(test)]
mod tests;
