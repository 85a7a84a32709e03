//! What goes in and out of an operation, as the document says it.

use axum::http::StatusCode;
use utoipa::openapi::path::{self, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ArrayBuilder, Schema};
use utoipa::openapi::{Ref, RefOr, Required};
use utoipa::{PartialSchema, ToSchema};

/// A type with a name, and all types that it is made of.
pub(super) struct Shape {
    name: String,
    pub parts: Vec<(String, RefOr<Schema>)>,
}

impl Shape {
    pub fn of<T: ToSchema>() -> Self {
        let name = T::name().into_owned();
        let mut parts = vec![(name.clone(), T::schema())];
        T::schemas(&mut parts);
        Shape { name, parts }
    }

    pub fn reference(&self) -> RefOr<Schema> {
        Ref::from_schema_name(&self.name).into()
    }

    pub fn list(&self) -> RefOr<Schema> {
        ArrayBuilder::new().items(self.reference()).into()
    }
}

/// What an operation answers if all is well.
pub(super) enum Answer {
    Nothing,
    One(StatusCode, Shape, &'static str),
    List(Shape, &'static str),
    Stream(Shape, &'static str),
    /// A text of that kind.
    Text(&'static str, &'static str),
}

impl Answer {
    pub fn shape(&self) -> Option<&Shape> {
        match self {
            Answer::Nothing | Answer::Text(..) => None,
            Answer::One(_, shape, _) | Answer::List(shape, _) | Answer::Stream(shape, _) => {
                Some(shape)
            }
        }
    }
}

/// A parameter of an operation.
pub(super) struct Parameter {
    pub name: &'static str,
    place: ParameterIn,
    text: &'static str,
    schema: RefOr<Schema>,
}

impl Parameter {
    pub fn query<T: PartialSchema>(name: &'static str, text: &'static str) -> Self {
        Parameter { name, place: ParameterIn::Query, text, schema: T::schema() }
    }

    pub fn header<T: PartialSchema>(name: &'static str, text: &'static str) -> Self {
        Parameter { name, place: ParameterIn::Header, text, schema: T::schema() }
    }

    pub fn is_in_query(&self) -> bool {
        self.place == ParameterIn::Query
    }

    pub fn describe(&self) -> path::Parameter {
        let is_required = self.place == ParameterIn::Path;
        ParameterBuilder::new()
            .name(self.name)
            .parameter_in(self.place.clone())
            .required(if is_required { Required::True } else { Required::False })
            .description(Some(self.text))
            .schema(Some(self.schema.clone()))
            .build()
    }
}

/// The parameters that a path has.
pub(super) fn of_path(path: &'static str) -> Vec<Parameter> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name| Parameter {
        name,
        place: ParameterIn::Path,
        text: text_of(name),
        schema: String::schema(),
    };
    names.map(parameter).collect()
}

fn text_of(name: &str) -> &'static str {
    match name {
        "pool" => "The pool's name.",
        "volume" => "The volume's name within the pool.",
        "policy" => "The policy, by its name.",
        "drive" => "The drive's name within the pool, as `drive-2`.",
        "token" => "The token's name or identifier.",
        "key" => "The key's name.",
        "kind" => "The kind of the job, as `scrub`.",
        "receiver" => "The webhook's name in the configuration, or `mail`.",
        "code" => "A `code` of an error.",
        _ => unreachable!("a parameter of a path that nothing is said of: {name}"),
    }
}
