//! What the data path takes, place by place: counted by hosts, by the steps of the store, by
//! reactors and by drives.

use std::process::Command;

use ashlar_load::initiator::Namespace;
use serde_json::Value;

use crate::full_disk::{BLOCKS_PER_WRITE, connected, noise};
use crate::support::Place;

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
const HOST: &str = "nqn.2014-08.org.example:host";
const BLOCK_BYTES: u64 = 4096;
const WRITES: u64 = 12;
const READS: u64 = 5;

fn create(place: &Place) {
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB", "--allow", HOST]);
}

/// Noise takes stripes with parity. Twelve writes, five reads, one deallocation.
async fn use_it(namespace: &Namespace) {
    for nth in 0..WRITES {
        namespace.write(nth * BLOCKS_PER_WRITE, noise(nth)).await.expect("there is room");
    }
    for _ in 0..READS {
        namespace.read(0, 8).await.expect("it is read");
    }
    namespace.deallocate(std::slice::from_ref(&(0..64))).await.expect("it is deallocated");
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("{name} of {of}"))
}

/// The value of a series.
fn scraped(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{metrics}")).parse().expect("a number")
}

#[test]
fn each_step_of_the_store_says_how_often_it_was_done_and_what_it_took() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    connected(&place, async |namespace| use_it(&namespace).await);
    let steps = &place.json(&["pool", "show", "tank"])["counters"]["steps"];
    assert_eq!(steps["compress"]["operations"], WRITES, "{steps}");
    assert!(number(&steps["batch"], "operations") >= WRITES as f64, "{steps}");
    assert!(number(&steps["map"], "operations") > READS as f64, "{steps}");
    assert!(number(&steps["parity"], "operations") >= 1.0, "{steps}");
    for step in ["batch", "compress", "parity", "map"] {
        let (latency, busy) =
            (number(&steps[step], "latency_seconds"), number(&steps[step], "busy_seconds"));
        assert!(busy > 0.0, "{step} of {steps}");
        assert!(step == "batch" || latency >= busy, "{step} of {steps}");
    }
    let metrics = place.get("/api/v1/metrics");
    let series = |name: &str| format!("{name}{{pool=\"tank\",step=\"compress\"}}");
    assert_eq!(scraped(&metrics, &series("ashlar_pool_step_operations_total")), WRITES as f64);
    assert!(scraped(&metrics, &series("ashlar_pool_step_busy_seconds_total")) > 0.0);
}

#[test]
fn a_drive_says_for_how_long_it_was_busy_and_a_reactor_what_it_holds() {
    let place = Place::new();
    let _daemon = place.start_with(&["--reactors", "2"]);
    create(&place);
    connected(&place, async |namespace| use_it(&namespace).await);
    let metrics = place.get("/api/v1/metrics");
    let uptime = scraped(&metrics, "ashlar_uptime_seconds");
    for drive in 0..3 {
        let busy =
            format!("ashlar_drive_busy_seconds_total{{pool=\"tank\",drive=\"drive-{drive}\"}}");
        let busy = scraped(&metrics, &busy);
        assert!(busy > 0.0 && busy <= uptime + 1.0, "{busy} of {uptime}");
    }
    for reactor in 0..2 {
        let of =
            |name: &str| scraped(&metrics, &format!("{name}{{reactor=\"reactor-{reactor}\"}}"));
        assert!(of("ashlar_reactor_tasks") >= 1.0);
        assert!(of("ashlar_reactor_tasks_ready") <= of("ashlar_reactor_tasks"));
        assert!(of("ashlar_reactor_operations_in_flight") >= 1.0, "it listens");
        assert!(of("ashlar_reactor_turns_total") >= 1.0);
    }
}

#[test]
fn what_a_host_was_answered_is_counted_by_controller_and_by_name_also_once_it_has_gone() {
    let place = Place::new();
    let _daemon = place.start();
    create(&place);
    let socket = place.socket();
    let listed = connected(&place, async move |namespace| {
        use_it(&namespace).await;
        let mut list = Command::new(ASHLAR);
        list.args(["host", "list", "--output", "json"]).env("ASHLAR_SOCKET", socket);
        list.output().expect("it is listed")
    });
    let hosts: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let [host] = &hosts.as_array().expect("a list")[..] else { panic!("one controller: {hosts}") };
    assert_eq!((&host["nqn"], &host["io_queues"]), (&HOST.into(), &1.into()), "{host}");
    assert_eq!(host["io_queues_max"], 1, "{host}");
    let read_bytes = READS * 8 * BLOCK_BYTES;
    let written_bytes = WRITES * BLOCKS_PER_WRITE * BLOCK_BYTES;
    let counted = |kind: &str| (&host[kind]["operations"], &host[kind]["transferred_bytes"]);
    assert_eq!(counted("reads"), (&READS.into(), &read_bytes.into()));
    assert_eq!(counted("writes"), (&WRITES.into(), &written_bytes.into()));
    // It has gone, and comes once more.
    connected(&place, async |namespace| use_it(&namespace).await);
    let metrics = place.get("/api/v1/metrics");
    let of = |name: &str, kind: &str| {
        scraped(&metrics, &format!("{name}{{host=\"{HOST}\",operation=\"{kind}\"}}"))
    };
    assert_eq!(of("ashlar_host_operations_total", "read"), 2.0 * READS as f64);
    assert_eq!(of("ashlar_host_transferred_bytes_total", "read"), 2.0 * read_bytes as f64);
    assert_eq!(of("ashlar_host_operations_total", "trim"), 2.0);
}
