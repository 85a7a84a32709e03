//! What goes on: counted from hosts' commands to drives, and reported by the command line and the
//! API.

use std::future::Future;
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};
use serde_json::Value;

use crate::support::{Place, refused, text};

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
const HOST: &str = "nqn.2014-08.org.example:host";
const BLOCK: usize = 4096;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Runs `work` with a connection of four queues to the daemon at `place`.
fn connected<F: Future<Output = ()>>(place: &Place, work: impl FnOnce(Controller) -> F + 'static) {
    let status = place.json(&["status"]);
    let port = status["portals"][0]["port"].as_u64().expect("a port") as u16;
    let nqn = status["subsystem_nqn"].as_str().expect("a name").to_owned();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let connect = async move {
        let host = HostIdentity { nqn: HOST.to_owned(), id: [7; 16] };
        let options = ConnectOptions { io_queues: 4, ..ConnectOptions::new(address, &nqn, host) };
        let controller = Controller::connect(options).await.expect("the daemon serves");
        work(controller.clone()).await;
        controller.disconnect().await;
    };
    ashlar_reactor::run(ashlar_reactor::Config::default(), connect).expect("a reactor starts");
}

/// A pool with two volumes, of which the host uses the first.
fn create(place: &Place) {
    place.create_pool("tank", 0..3);
    for volume in ["tank/v0", "tank/v1"] {
        place.ok(&["volume", "create", volume, "--size", "16MiB", "--allow", "any"]);
    }
}

fn bytes(blocks: usize) -> bytes::Bytes {
    vec![0x5a; blocks * BLOCK].into()
}

/// Seven writes of a block, three of 16, five reads of 32 blocks, a deallocation, two writes of
/// zeros, and what is not counted.
fn use_volume(place: &Place) {
    connected(place, |controller| async move {
        let volume = controller.namespace(1).await.expect("the host may see it");
        for at in 0..7 {
            volume.write(at, bytes(1)).await.expect("it is written");
        }
        for at in 0..3 {
            volume.write(at * 16, bytes(16)).await.expect("it is written");
        }
        for _ in 0..5 {
            volume.read(0, 32).await.expect("it is read");
        }
        volume.deallocate(&[64..128, 256..512]).await.expect("it is deallocated");
        volume.write_zeroes(0, 8, true).await.expect("it is zeroed");
        volume.write_zeroes(8, 8, false).await.expect("it is zeroed");
        volume.flush().await.expect("it is flushed");
        volume.verify(0, 8).await.expect("it is verified");
        volume.compare(16, bytes(1)).await.expect("it is that");
        volume.read(1 << 40, 1).await.expect_err("it is beyond the end");
    });
}

fn counted(of: &Value) -> [(u64, u64); 3] {
    ["reads", "writes", "trims"].map(|kind| {
        let count = |name: &str| of[kind][name].as_u64().expect("a count");
        (count("operations"), count("transferred_bytes") / BLOCK as u64)
    })
}

const USED: [(u64, u64); 3] = [(5, 160), (10, 55), (3, 336)];

#[test]
fn commands_are_counted_by_volume_and_kind_whatever_reactors_they_come_by() {
    for reactors in ["1", "3"] {
        let place = Place::new();
        let _daemon = place.start_with(&["--reactors", reactors]);
        create(&place);
        use_volume(&place);
        let report = place.json(&["iostat", "-v", "tank"]);
        assert_eq!(report["since_start"], true);
        let [v0, v1] = [0, 1].map(|at| &report["volumes"][at]);
        assert_eq!((counted(v0), counted(v1)), (USED, [(0, 0); 3]), "{reactors} reactors");
        assert_eq!(counted(&report["pools"][0]), USED, "a pool is the sum of its volumes");
        assert_eq!(v0["operations_in_flight"], 0);
        assert!(v0["reads"]["p99_us"].is_u64() && v1["reads"]["p99_us"].is_null());
        let drives = report["drives"].as_array().expect("drives");
        let writes = |drive: &Value| drive["writes"]["operations"].as_u64().expect("a count");
        assert!(drives.len() == 3 && drives.iter().all(|drive| writes(drive) > 0), "{report}");
    }
}

#[test]
fn what_a_volume_took_is_shown_by_kind_and_size() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    use_volume(&place);
    let shown = place.json(&["volume", "show", "-e", "tank/v0"]);
    assert_eq!(shown["name"], "v0");
    let sizes = |kind: &str| -> Vec<(u64, u64)> {
        let classes = shown[kind]["classes"].as_array().expect("sizes");
        let count = |it: &Value| it["counts"]["operations"].as_u64().expect("a count");
        let above = |it: &Value| it["above_bytes"].as_u64().expect("a size");
        classes.iter().map(|it| (above(it), count(it))).collect()
    };
    assert_eq!(sizes("writes"), [(0, 7), (16 << 10, 3)]);
    assert_eq!(sizes("reads"), [(64 << 10, 5)]);
    assert_eq!(sizes("trims"), [(16 << 10, 2), (256 << 10, 1)]);
    let table = place.ok(&["volume", "show", "-e", "tank/v0"]);
    for words in ["in flight", "P99.99", "to 4KiB", "larger", "trim"] {
        assert!(table.contains(words), "'{words}' is not in {table}");
    }
    let unused = place.ok(&["volume", "show", "--extended", "tank/v1"]);
    assert!(unused.contains("no operation has ended yet"), "{unused}");
    let drive = place.get("/api/v1/pools/tank/drives/drive-1/latency");
    assert!(drive.contains("200 OK") && drive.contains("\"name\":\"drive-1\""), "{drive}");
    let none = place.get("/api/v1/pools/tank/drives/drive-9/latency");
    assert!(none.contains("404") && none.contains("no_such_drive"), "{none}");
    let none = place.get("/api/v1/volumes/tank/v9/latency");
    assert!(none.contains("404") && none.contains("no_such_volume"), "{none}");
}

#[test]
fn what_is_asked_for_is_shown_and_nothing_else_within_a_terminal() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    use_volume(&place);
    let names = |report: &Value, kind: &str| -> Vec<String> {
        let all = report[kind].as_array().expect("a list").iter();
        all.map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    };
    let image = place.image(1);
    let path = image.to_str().expect("a path");
    for (asked, pools, volumes, drives) in [
        (&[][..], &["tank"][..], &["v0", "v1"][..], &[][..]),
        (&["tank/v1"], &[], &["v1"], &[]),
        (&["tank/2"], &[], &[], &["drive-2"]),
        (&["tank/drive-0", path], &[], &[], &["drive-0", "drive-1"]),
        (&["-v"], &["tank"], &["v0", "v1"], &["drive-0", "drive-1", "drive-2"]),
    ] {
        let report = place.json(&[&["iostat"], asked].concat());
        let shown = ["pools", "volumes", "drives"].map(|kind| names(&report, kind));
        assert_eq!(shown, [pools, volumes, drives].map(<[&str]>::to_vec), "{asked:?}");
    }
    for arguments in [&["iostat", "-v"][..], &["iostat", "-v", "-l"], &["iostat", "tank/v0"]] {
        let table = place.ok(arguments);
        assert!(table.lines().all(|line| line.chars().count() <= WIDTH), "{table}");
        assert!(table.contains("v0") && table.contains("p99"), "{table}");
    }
}

#[test]
fn what_cannot_be_reported_is_refused_with_the_way_out() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    for (arguments, words) in [
        (&["pond"][..], &["no pool, volume or drive 'pond'", "POOL/VOLUME"][..]),
        (&["tank/v9"], &["no pool, volume or drive 'tank/v9'", "ashlar status"]),
        (&["tank", "tank/drive-9"], &["'tank/drive-9'"]),
        (&["/dev/nowhere"], &["'/dev/nowhere' names no pool, volume or drive"]),
        (&["-i", "0"], &["'0' is no interval", "1s, 500ms or 5m"]),
        (&["-i", "-1s"], &["'-1s' is no interval"]),
        (&["-i", "1x"], &["'1x' is no interval"]),
        (&["-i", "1GiB"], &["'1GiB' is no interval"]),
        (&["-n", "0"], &["'0' is no number of reports"]),
        (&["-n", "-3"], &["'-3' is no number of reports"]),
    ] {
        let said = place.refused(&[&["iostat"], arguments].concat());
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        words.iter().for_each(|word| assert!(said.contains(word), "{arguments:?}: {said}"));
    }
    place.ok(&["pool", "export", "tank", "--yes"]);
    let said = place.refused(&["iostat", "tank"]);
    assert!(said.contains("no pool, volume or drive 'tank'"), "{said}");
    let none = place.json(&["iostat"]);
    assert_eq!(none["pools"].as_array().map(Vec::len), Some(0));
}

/// `ashlar iostat`, which reports ten times a second.
struct Reporter {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Reporter {
    fn command(place: &Place) -> Command {
        let mut command = Command::new(ASHLAR);
        command.arg("--socket").arg(place.socket()).args(["iostat", "-i", "100ms"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = Self::command(place);
        let mut process =
            command.args(arguments).args(["--output", "json"]).spawn().expect("it runs");
        let lines = BufReader::new(process.stdout.take().expect("it was piped")).lines();
        Reporter { process, lines }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("it goes on").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Reads on until a report is so.
    fn until(&mut self, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let report = self.next();
            if is_so(&report) {
                return report;
            }
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn reports_follow_a_volume_through_another_name_and_size_until_it_is_deleted() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    use_volume(&place);
    let mut reporter = Reporter::start(&place, &["tank/v0"]);
    let first = reporter.next();
    assert_eq!((&first["since_start"], counted(&first["volumes"][0])), (&true.into(), USED));
    let second = reporter.next();
    assert_eq!(second["since_start"], false);
    assert_eq!(counted(&second["volumes"][0]), [(0, 0); 3], "nothing happened meanwhile");
    place.ok(&["volume", "rename", "tank/v0", "database"]);
    place.ok(&["volume", "resize", "tank/database", "--size", "32MiB"]);
    reporter.until(|report| report["volumes"][0]["name"] == "database");
    use_volume(&place);
    reporter.until(|report| {
        let [(reads, _), _, (trims, _)] = counted(&report["volumes"][0]);
        assert!(reads <= 5 && trims <= 3, "only what came between: {report}");
        reads + trims > 0
    });
    reporter.until(|report| counted(&report["volumes"][0]) == [(0, 0); 3]);
    place.ok(&["volume", "delete", "tank/database", "--yes"]);
    reporter.until(|report| report["volumes"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn there_are_as_many_reports_as_are_wanted_and_no_word_when_nobody_reads() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    let reports = place.ok(&["iostat", "-i", "100ms", "-n", "3", "--output", "json"]);
    let since_start =
        |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["since_start"] == true;
    assert_eq!(reports.lines().map(since_start).collect::<Vec<_>>(), [true, false, false]);
    let mut process = Reporter::command(&place).spawn().expect("it runs");
    drop(process.stdout.take());
    let output = process.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn another_start_of_the_daemon_is_told_from_the_one_before() {
    let place = Place::new();
    let daemon = place.start();
    create(&place);
    use_volume(&place);
    let asked = || {
        let answer = place.get("/api/v1/iostat?of=tank/v0");
        let body = answer.split("\r\n\r\n").nth(1).expect("a body").to_owned();
        serde_json::from_str::<Value>(&body).expect("JSON")
    };
    let before = asked();
    assert_eq!((counted(&before["volumes"][0]), &before["instance"]), (USED, &asked()["instance"]));
    daemon.terminate();
    let mut command = Reporter::command(&place);
    command.args(["-n", "1"]);
    assert!(!refused(command).is_empty(), "without a daemon there is no report");
    let _daemon = place.start();
    let after = asked();
    assert_eq!(counted(&after["volumes"][0]), [(0, 0); 3]);
    assert_ne!(before["instance"], after["instance"]);
}
