//! A database that writes pages of 16 KiB in place, without a second copy, as MySQL does with
//! `innodb_doublewrite=OFF`: the daemon is killed again and again meanwhile, and no page is ever
//! torn.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use ashlar_block::XorShift;
use ashlar_load::initiator::{CommandError, ConnectOptions, Controller, Namespace};
use ashlar_reactor::{Config, run, spawn_joined};

use crate::hosts::options;
use crate::support::Place;

const PAGE_BYTES: usize = 16 << 10;
const PAGES: u64 = 256;
/// Pages that are written at a time, each by a writer of its own part of them.
const WRITERS: u64 = 16;
/// Times that the daemon is killed, for each sector size.
const KILLS: u64 = 4;
/// Writes that are acknowledged before a kill, at least, and how many more there may be.
const WRITES_MIN: u64 = 200;
const WRITES_SPREAD: u64 = 600;
/// How long the writes of one life may take: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the database knows of a page.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    /// The newest version that was acknowledged.
    acknowledged: u64,
    /// The newest version that was sent.
    sent: u64,
}

type Database = Rc<RefCell<Vec<Known>>>;

/// Of all but the last eight bytes, by FNV-1a.
fn checksum(page: &[u8]) -> u64 {
    let body = &page[..PAGE_BYTES - 8];
    body.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn word(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("eight bytes"))
}

/// A page with its number, its version, content that no other version has, of which a part
/// compresses, and a checksum over all of it.
fn page(number: u64, version: u64) -> Vec<u8> {
    let mut random = XorShift::new(number << 32 | version);
    let mut page = vec![version as u8; PAGE_BYTES];
    let noise = random.below(PAGE_BYTES as u64) as usize;
    page[..noise].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
    page[..8].copy_from_slice(&number.to_le_bytes());
    page[8..16].copy_from_slice(&version.to_le_bytes());
    let sum = checksum(&page);
    page[PAGE_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
    page
}

/// The version of a page that was read, if it is whole.
fn version_of(number: u64, page: &[u8]) -> Option<u64> {
    if page.iter().all(|byte| *byte == 0) {
        return Some(0);
    }
    let is_whole = word(page, PAGE_BYTES - 8) == checksum(page) && word(page, 0) == number;
    is_whole.then(|| word(page, 8))
}

/// Where a page is, in blocks of the namespace.
fn blocks_of(namespace: &Namespace, number: u64) -> (u64, u32) {
    let blocks = PAGE_BYTES as u32 / namespace.lba_bytes();
    (number * u64::from(blocks), blocks)
}

/// Reads all pages: each is whole, and no older than what was acknowledged.
async fn check(namespace: &Namespace, database: &Database) {
    for number in 0..PAGES {
        let (start, blocks) = blocks_of(namespace, number);
        let read = namespace.read(start, blocks).await.expect("the daemon answers");
        let version = version_of(number, &read);
        let known = &mut database.borrow_mut()[number as usize];
        let version = version.unwrap_or_else(|| panic!("page {number} is torn: {known:?}"));
        let expected = known.acknowledged..=known.sent;
        assert!(expected.contains(&version), "page {number} is version {version}: {known:?}");
        // What it is now, it stays.
        *known = Known { acknowledged: version, sent: known.sent };
    }
}

/// Writes pages of a part until the daemon is gone.
async fn write(
    namespace: Namespace,
    part: Range<u64>,
    database: Database,
    acknowledged: Sender<()>,
    mut random: XorShift,
) {
    loop {
        let number = part.start + random.below(part.end - part.start);
        let version = {
            let known = &mut database.borrow_mut()[number as usize];
            known.sent += 1;
            known.sent
        };
        let (start, _) = blocks_of(&namespace, number);
        match namespace.write(start, page(number, version).into()).await {
            Ok(()) => database.borrow_mut()[number as usize].acknowledged = version,
            Err(CommandError::Lost(_)) => return,
            Err(error) => panic!("page {number}: {error}"),
        }
        // Who kills the daemon may have heard enough.
        let _ = acknowledged.send(());
    }
}

/// One life of the database, until its daemon is gone. Returns what it knows then.
async fn live(
    options: ConnectOptions,
    known: Vec<Known>,
    acknowledged: Option<Sender<()>>,
    seed: u64,
) -> Vec<Known> {
    let database: Database = Rc::new(RefCell::new(known));
    let controller = Controller::connect(options).await.expect("the daemon serves");
    let namespace = controller.namespace(1).await.expect("the host may see it");
    check(&namespace, &database).await;
    let Some(acknowledged) = acknowledged else { return database.take() };
    let part = PAGES / WRITERS;
    let writers: Vec<_> = (0..WRITERS)
        .map(|nth| {
            let part = nth * part..(nth + 1) * part;
            let random = XorShift::new(seed ^ nth << 20);
            let (namespace, database) = (namespace.clone(), database.clone());
            spawn_joined(write(namespace, part, database, acknowledged.clone(), random))
        })
        .collect();
    drop(acknowledged);
    for writer in writers {
        writer.await;
    }
    database.take()
}

/// Has the database live on a thread of its own, and kills its daemon once so many writes are
/// acknowledged.
fn live_and_die(place: &Place, known: Vec<Known>, writes: u64, seed: u64) -> Vec<Known> {
    let daemon = place.start();
    let (acknowledged, heard) = channel();
    let options = options(place);
    let host = std::thread::spawn(move || {
        run(Config::default(), live(options, known, Some(acknowledged), seed)).expect("a reactor")
    });
    for _ in 0..writes {
        heard.recv_timeout(PATIENCE).expect("the database writes");
    }
    daemon.kill();
    host.join().expect("no page is torn")
}

#[test]
fn no_page_of_16_kib_is_torn_by_a_kill_with_sectors_of_512_and_of_4096() {
    for sector in ["512", "4096"] {
        let place = Place::new();
        let daemon = place.start();
        place.create_pool("tank", 0..3);
        let create = ["volume", "create", "tank/db", "--size", "4MiB", "--allow", "any"];
        place.ok(&[&create[..], &["--sector-size", sector]].concat());
        // What the database relies on, its host is told.
        place.ok(&["volume", "set", "tank/db", "--atomic", "16KiB"]);
        assert_eq!(place.json(&["volume", "show", "tank/db"])["atomic_write_bytes"], PAGE_BYTES);
        daemon.terminate();
        let mut known = vec![Known::default(); PAGES as usize];
        let mut random = XorShift::new(sector.parse().expect("a number"));
        for _ in 0..KILLS {
            let writes = WRITES_MIN + random.below(WRITES_SPREAD);
            known = live_and_die(&place, known, writes, random.next_u64());
        }
        let daemon = place.start();
        let options = options(&place);
        run(Config::default(), live(options, known, None, 0)).expect("a reactor starts");
        daemon.terminate();
    }
}
