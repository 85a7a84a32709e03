//! Webhooks and mail: who is told of events, and whether that works.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};

use super::Answer;
use super::paging::{Page, PageQuery, page, paged};
use crate::access::Role;
use crate::error::ErrorCode::{NoSuchReceiver, ReceiverFailed};
use crate::notifier::Notifier;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{Receiver, ReceiverTest};

type Known = State<Arc<dyn Notifier>>;

pub(super) fn routes() -> Vec<Route> {
    vec![
        paged(Route::get("/receivers", "list_receivers", receivers), "name")
            .text("The webhooks and mail of the configuration, and how each is.")
            .answers_list::<Receiver>("All receivers of events."),
        Route::post("/receivers/{receiver}/test", "test_receiver", test)
            .changes(Role::Operator, "notify test")
            .text("Sends a test event to a receiver, and answers what that has said.")
            .answers::<ReceiverTest>("What it has answered.")
            .fails(&[NoSuchReceiver, ReceiverFailed]),
    ]
}

async fn receivers(State(notifier): Known, Query(query): Query<PageQuery>) -> Page<Receiver> {
    page("/receivers", notifier.receivers(), |receiver| receiver.name.clone(), query)
}

async fn test(State(notifier): Known, Path(receiver): Path<String>) -> Answer<ReceiverTest> {
    notifier.test(receiver).await.map(Json)
}
