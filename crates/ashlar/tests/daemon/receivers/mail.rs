//! A server that takes mail, as much of SMTP (RFC 5321) as that needs.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A mail that has come.
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    pub text: String,
}

/// The server. It ends with the test.
pub struct Server {
    pub address: SocketAddr,
    mails: Receiver<Mail>,
}

impl Server {
    /// One that refuses for now as often as that, and takes mail from then on.
    pub fn start(refusals: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it listens");
        let (sender, mails) = channel();
        let refusals = Arc::new(AtomicU32::new(refusals));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, refusals) = (sender.clone(), refusals.clone());
                std::thread::spawn(move || talk(stream, &sender, &refusals));
            }
        });
        Server { address, mails }
    }

    /// The next mail.
    pub fn next(&self) -> Mail {
        self.mails.recv_timeout(PATIENCE).expect("a mail is sent")
    }
}

fn talk(stream: TcpStream, mails: &Sender<Mail>, refusals: &AtomicU32) {
    let mut answers = stream.try_clone().expect("a socket");
    let mut say = move |line: &str| answers.write_all(format!("{line}\r\n").as_bytes()).is_ok();
    let mut mail = Mail { from: String::new(), to: Vec::new(), text: String::new() };
    let mut is_text = false;
    say("220 mail.example.org");
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        if is_text {
            is_text = line != ".";
            match is_text {
                true => mail.text.push_str(&format!("{line}\n")),
                false => {
                    let done = Mail {
                        from: std::mem::take(&mut mail.from),
                        to: std::mem::take(&mut mail.to),
                        text: std::mem::take(&mut mail.text),
                    };
                    let _ = mails.send(done);
                    say("250 taken as 4711");
                }
            }
            continue;
        }
        let is_refused = |_| {
            let one_less = |left: u32| left.checked_sub(1);
            refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
        };
        match line.split_whitespace().next().unwrap_or_default() {
            "EHLO" => say("250 mail.example.org"),
            "MAIL" if is_refused(()) => say("451 try again later"),
            "MAIL" => {
                mail.from = line;
                say("250 ok")
            }
            "RCPT" => {
                mail.to.push(line);
                say("250 ok")
            }
            "DATA" => {
                is_text = true;
                say("354 go on")
            }
            "QUIT" => {
                say("221 bye");
                return;
            }
            _ => say("250 ok"),
        };
    }
}
