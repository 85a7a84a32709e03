//! Answers to those who wait for a commit: a slab, so that waiting allocates nothing.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::Answer;

/// Who is to be answered. Once it is, or waits no more, its ticket names nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    index: u32,
    generation: u32,
}

enum Stage {
    /// It waits, and has been polled if there is a waker.
    Waiting(Option<Waker>),
    Answered(Answer),
}

struct Slot {
    /// Counts who had the slot.
    generation: u32,
    stage: Stage,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    fn take(&mut self) -> Ticket {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, stage: Stage::Waiting(None) });
            self.slots.len() as u32 - 1
        });
        Ticket { index, generation: self.slots[index as usize].generation }
    }

    fn give_back(&mut self, ticket: Ticket) {
        let slot = &mut self.slots[ticket.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.stage = Stage::Waiting(None);
        self.free.push(ticket.index);
    }

    /// Puts the answer where its receiver finds it; returns whom to wake.
    fn answer(&mut self, ticket: Ticket, answer: Answer) -> Option<Waker> {
        let slot = &mut self.slots[ticket.index as usize];
        if slot.generation != ticket.generation {
            return None;
        }
        match std::mem::replace(&mut slot.stage, Stage::Answered(answer)) {
            Stage::Waiting(waker) => waker,
            Stage::Answered(_) => unreachable!("a commit is answered once"),
        }
    }
}

/// All who wait for an answer.
#[derive(Default)]
pub(crate) struct Answers(RefCell<Slots>);

impl Answers {
    /// An answer to come, and the ticket by which to give it.
    pub fn expect(&self) -> (Ticket, Expected<'_>) {
        let ticket = self.0.borrow_mut().take();
        (ticket, Expected { answers: self, ticket })
    }

    /// Gives an answer. Nothing happens if nobody waits for it any more: its host has gone.
    pub fn answer(&self, ticket: Ticket, answer: Answer) {
        let waker = self.0.borrow_mut().answer(ticket, answer);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// An answer to come. Dropping it gives up waiting.
pub(crate) struct Expected<'a> {
    answers: &'a Answers,
    ticket: Ticket,
}

impl Future for Expected<'_> {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut slots = self.answers.0.borrow_mut();
        match &mut slots.slots[self.ticket.index as usize].stage {
            Stage::Answered(answer) => Poll::Ready(answer.clone()),
            Stage::Waiting(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.answers.0.borrow_mut().give_back(self.ticket);
    }
}

#[cfg(test)]
mod tests;
