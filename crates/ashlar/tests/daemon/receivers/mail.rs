//! A server that takes mail, as much of SMTP (RFC 5321) as that needs.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::tls;

/// Only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A mail that has come.
#[derive(Default)]
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    pub text: String,
    /// The connection was encrypted by then.
    pub is_encrypted: bool,
}

/// What the server wants.
#[derive(Clone, Default)]
pub struct Wants {
    /// Mails that it refuses for now, before it takes any.
    pub refusals: u32,
    /// Recipients that it does not know.
    pub unknown: Vec<&'static str>,
    /// Recipients that it takes nothing for when it is asked for the first time.
    pub grey: Vec<&'static str>,
    /// Its certificate and key, in PEM.
    pub pair: Option<(Vec<u8>, Vec<u8>)>,
    /// Encrypted from the first byte on.
    pub is_wrapped: bool,
    /// Who may send, and the password.
    pub login: Option<(&'static str, &'static str)>,
}

/// The server. It ends with the test.
pub struct Server {
    pub address: SocketAddr,
    mails: Receiver<Mail>,
}

#[derive(Clone)]
struct Shared {
    mails: Sender<Mail>,
    refusals: Arc<AtomicU32>,
    asked_grey: Arc<AtomicU32>,
    wants: Wants,
    tls: Option<Arc<ServerConfig>>,
}

impl Server {
    /// One that refuses for now as often as that, and takes mail from then on.
    pub fn start(refusals: u32) -> Self {
        Self::start_with(Wants { refusals, ..Wants::default() })
    }

    pub fn start_with(wants: Wants) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it listens");
        let (sender, mails) = channel();
        let refusals = Arc::new(AtomicU32::new(wants.refusals));
        let tls = wants.pair.as_ref().map(|(certificate, key)| tls::server(certificate, key));
        let shared = Shared { mails: sender, refusals, asked_grey: Arc::default(), wants, tls };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Server { address, mails }
    }

    /// The next mail.
    pub fn next(&self) -> Mail {
        self.mails.recv_timeout(PATIENCE).expect("a mail is sent")
    }
}

/// A connection, which may be encrypted.
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    fn encrypted(stream: TcpStream, config: &Arc<ServerConfig>) -> Self {
        let connection = ServerConnection::new(config.clone()).expect("it is whole");
        Stream::Encrypted(Box::new(StreamOwned::new(connection, stream)))
    }

    /// The next line, read byte by byte: what follows may be encrypted.
    fn line(&mut self) -> io::Result<String> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while !line.ends_with(b"\r\n") {
            match self {
                Stream::Plain(stream) => stream.read_exact(&mut byte)?,
                Stream::Encrypted(stream) => stream.read_exact(&mut byte)?,
            }
            line.push(byte[0]);
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\r\n");
        match self {
            Stream::Plain(stream) => stream.write_all(line.as_bytes()),
            Stream::Encrypted(stream) => {
                stream.write_all(line.as_bytes()).and_then(|()| stream.flush())
            }
        }
    }
}

/// What is known of whoever talks.
#[derive(Default)]
struct Talk {
    is_known: bool,
    mail: Mail,
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let mut stream = match &self.tls {
            Some(tls) if self.wants.is_wrapped => Stream::encrypted(stream, tls),
            _ => Stream::Plain(stream),
        };
        let mut talk = Talk { is_known: self.wants.login.is_none(), ..Talk::default() };
        let _ = stream.say("220 mail.example.org");
        while let Ok(line) = stream.line() {
            let word = line.split_whitespace().next().unwrap_or_default();
            let said = match word {
                "QUIT" => return drop(stream.say("221 bye")),
                "STARTTLS" => {
                    let _ = stream.say("220 go on");
                    let (Stream::Plain(plain), Some(tls)) = (stream, &self.tls) else { return };
                    stream = Stream::encrypted(plain, tls);
                    continue;
                }
                "DATA" => self.take(&mut stream, &mut talk),
                _ => {
                    let answer = self.answer(&line, matches!(stream, Stream::Plain(_)), &mut talk);
                    stream.say(&answer)
                }
            };
            if said.is_err() {
                return;
            }
        }
    }

    fn take(&self, stream: &mut Stream, talk: &mut Talk) -> io::Result<()> {
        stream.say("354 go on")?;
        let mut mail = std::mem::take(&mut talk.mail);
        mail.is_encrypted = matches!(stream, Stream::Encrypted(_));
        loop {
            match stream.line()? {
                line if line == "." => break,
                line => mail.text.push_str(&format!("{line}\n")),
            }
        }
        let _ = self.mails.send(mail);
        stream.say("250 taken as 4711")
    }

    fn answer(&self, line: &str, is_plain: bool, talk: &mut Talk) -> String {
        let is_refused = || {
            let one_less = |left: u32| left.checked_sub(1);
            self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
        };
        let is_unknown = || self.wants.unknown.iter().any(|unknown| line.contains(unknown));
        let is_grey = || {
            self.wants.grey.iter().any(|grey| line.contains(grey))
                && self.asked_grey.fetch_add(1, Ordering::SeqCst) == 0
        };
        let said = match line.split_whitespace().next().unwrap_or_default() {
            "EHLO" if is_plain && self.tls.is_some() => "250-mail.example.org\r\n250 STARTTLS",
            "EHLO" => "250-mail.example.org\r\n250 AUTH PLAIN",
            "AUTH" => {
                talk.is_known = self.knows(line);
                if talk.is_known { "235 welcome" } else { "535 who is that?" }
            }
            "MAIL" if is_plain && self.tls.is_some() => "530 encrypt it first",
            "MAIL" if !talk.is_known => "530 say who you are first",
            "MAIL" if is_refused() => "451 try again later",
            "MAIL" => {
                talk.mail = Mail { from: line.to_owned(), ..Mail::default() };
                "250 ok"
            }
            "RCPT" if is_unknown() => "550 nobody of that name here",
            "RCPT" if is_grey() => "450 come again later",
            "RCPT" => {
                talk.mail.to.push(line.to_owned());
                "250 ok"
            }
            _ => "250 ok",
        };
        said.to_owned()
    }

    /// Whether `AUTH PLAIN` (RFC 4616) says who it should be.
    fn knows(&self, line: &str) -> bool {
        let said = line.split_whitespace().nth(2).and_then(|coded| STANDARD.decode(coded).ok());
        let login = self.wants.login.map(|(user, password)| format!("\0{user}\0{password}"));
        said.is_some_and(|said| login.is_some_and(|login| login.as_bytes() == said))
    }
}
