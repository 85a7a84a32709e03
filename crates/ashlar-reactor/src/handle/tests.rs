use std::future::pending;
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::{Config, ReactorGone, Reply, handle, mailbox, run, spawn};

/// A reactor on a thread of its own, until the sender is dropped.
struct Elsewhere {
    handle: Handle,
    end: Option<mailbox::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Elsewhere {
    fn start() -> Self {
        let (tell, told) = mpsc::channel();
        let (end, mut ended) = mailbox::channel(1);
        let thread = thread::spawn(move || {
            run(Config::default(), async move {
                tell.send(handle()).unwrap();
                ended.recv().await;
            })
            .unwrap();
        });
        Elsewhere { handle: told.recv().unwrap(), end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_call_runs_on_the_reactor_and_answers_a_plain_thread() {
    let elsewhere = Elsewhere::start();
    let here = thread::current().id();
    let there = elsewhere.handle.call(|| async { thread::current().id() }).wait().unwrap();
    assert_ne!(here, there);
    assert_eq!(Some(there), elsewhere.thread.as_ref().map(|thread| thread.thread().id()));
}

#[test]
fn a_call_can_be_awaited_on_tokio_and_on_another_reactor() {
    let elsewhere = Elsewhere::start();
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(tokio.block_on(elsewhere.handle.call(|| async { 6 })), Ok(6));
    let reply: Reply<i32> = elsewhere.handle.call(|| async { 7 });
    assert_eq!(run(Config::default(), reply).unwrap(), Ok(7));
}

#[test]
fn calls_to_a_reactor_that_has_ended_say_so() {
    let handle = Elsewhere::start().handle.clone();
    assert_eq!(handle.spawn(|| async {}), Err(ReactorGone));
    assert_eq!(handle.call(|| async { 1 }).wait(), Err(ReactorGone));
}

#[test]
fn a_call_that_the_end_of_the_reactor_cuts_short_says_so() {
    let elsewhere = Elsewhere::start();
    let reply = elsewhere.handle.call(pending::<()>);
    drop(elsewhere);
    assert_eq!(reply.wait(), Err(ReactorGone));
}

#[test]
fn many_threads_may_bring_work_at_once() {
    let elsewhere = Elsewhere::start();
    let callers: Vec<_> = (0..4)
        .map(|caller: u64| {
            let handle = elsewhere.handle.clone();
            thread::spawn(move || {
                (0..500u64)
                    .map(|call| handle.call(move || async move { caller + call }).wait().unwrap())
                    .sum::<u64>()
            })
        })
        .collect();
    let sum: u64 = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
    assert_eq!(sum, 4 * (499 * 500 / 2) + 500 * (1 + 2 + 3));
}

#[test]
fn a_waker_of_a_reactor_task_works_from_any_thread() {
    let (send, mut receive) = mailbox::channel(1);
    let woken = run(Config::default(), async move {
        spawn(async move {
            let mut send = send;
            thread::spawn(move || send.try_send(9).unwrap()).join().unwrap();
        });
        receive.recv().await
    });
    assert_eq!(woken.unwrap(), Some(9));
}
