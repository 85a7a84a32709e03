//! What every client of the API may rely on, whatever it asks for: pages, versions, keys of
//! requests that may be sent again, jobs and what can be watched.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use crate::support::Place;

/// The head of an answer and its body, as the connection brings them.
pub fn asked(
    place: &Place,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> (String, Value) {
    let mut client = UnixStream::connect(place.socket()).expect("the daemon listens");
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nhost: ashlar\r\nconnection: close\r\n\
         content-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    // At once: what is refused by its head is answered, and the connection closed, before a body
    // that comes later.
    client.write_all(request.as_bytes()).expect("it listens");
    let answer = std::io::read_to_string(client).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(str::trim)
}

pub fn status(head: &str) -> &str {
    head.split(' ').nth(1).expect("a status")
}

pub fn started(place: &Place) -> crate::support::Daemon {
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon
}

/// `field` of all entries of a list, whose pages are read one after the other from `path` on.
fn read_by_pages(place: &Place, path: &str, field: &str) -> Vec<String> {
    let (mut path, mut all) = (path.to_owned(), Vec::new());
    loop {
        let (head, page) = asked(place, "GET", &path, &[], "");
        let page = page.as_array().expect("a list").clone();
        all.extend(page.iter().map(|one| one[field].as_str().expect("a text").to_owned()));
        let Some(link) = header(&head, "link") else { return all };
        assert!(link.ends_with("; rel=\"next\""), "{link}");
        let next = link.split_once('>').expect("a link").0;
        path = next.strip_prefix("</api/v1").expect("a path").to_owned();
    }
}

#[test]
fn tokens_policies_and_erases_are_read_page_by_page_as_well() {
    let place = Place::new();
    let _daemon = started(&place);
    for name in ["c", "a", "b"] {
        place.ok(&["token", "create", name, "--role", "viewer"]);
        place.ok(&["qos", "create", "tank", name, "--write-iops", "100"]);
    }
    let mut tokens = read_by_pages(&place, "/tokens?limit=1", "name");
    tokens.sort_unstable();
    assert_eq!(tokens, ["a", "b", "c"]);
    assert_eq!(read_by_pages(&place, "/qos?limit=2", "name"), ["a", "b", "c"]);
    place.ok(&["pool", "destroy", "tank", "--secure", "--yes"]);
    let erased = read_by_pages(&place, "/erases?limit=1", "spec");
    assert_eq!(erased.len(), 3);
    assert!(erased.is_sorted(), "{erased:?}");
}

#[test]
fn a_list_is_read_page_by_page_and_each_page_leads_to_the_next() {
    let place = Place::new();
    let _daemon = started(&place);
    for volume in ["v2", "v0", "v1"] {
        place.ok(&["volume", "create", &format!("tank/{volume}"), "--size", "16MiB"]);
    }
    let names = read_by_pages(&place, "/volumes?pool=tank&limit=2", "name");
    assert_eq!(names, ["v0", "v1", "v2"]);
    for wrong in ["/volumes?limit=0", "/pools?limit=10001"] {
        let (head, refused) = asked(&place, "GET", wrong, &[], "");
        assert_eq!((status(&head), &refused["code"]), ("400", &"invalid_query".into()));
    }
}

#[test]
fn who_changes_what_somebody_else_has_changed_meanwhile_is_told_so() {
    let place = Place::new();
    let _daemon = started(&place);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    let tag = |path: &str| {
        let (head, _) = asked(&place, "GET", path, &[], "");
        format!("if-match: {}", header(&head, "etag").expect("a tag"))
    };
    for (path, one, other) in [
        ("/volumes/tank/v0", r#"{"size_bytes":33554432}"#, r#"{"compression":"lz4"}"#),
        ("/pools/tank", r#"{"autotrim":false}"#, r#"{"scrub_prio_percent":7}"#),
    ] {
        let seen = tag(path);
        let (head, _) = asked(&place, "PATCH", path, &[&seen], one);
        assert_eq!(status(&head), "200", "{head}");
        let (head, refused) = asked(&place, "PATCH", path, &[&seen], other);
        assert_eq!((status(&head), &refused["code"]), ("412", &"precondition_failed".into()));
        let (head, _) = asked(&place, "PATCH", path, &[&tag(path)], other);
        assert_eq!(status(&head), "200", "{head}");
    }
    let volume = place.json(&["volume", "show", "tank/v0"]);
    assert_eq!(
        (&volume["size_bytes"], &volume["compression"]),
        (&33_554_432.into(), &"lz4".into())
    );
}

#[test]
fn who_gives_a_drive_up_while_somebody_else_has_given_up_another_one_is_told_so() {
    let place = Place::new();
    let _daemon = started(&place);
    let (head, _) = asked(&place, "GET", "/pools/tank", &[], "");
    let seen = format!("if-match: {}", header(&head, "etag").expect("a tag"));
    let fail = |drive: &str, seen: &str| {
        let body = format!(r#"{{"drive":"{drive}"}}"#);
        asked(&place, "POST", "/pools/tank/fail-drive?confirm=true", &[seen], &body)
    };
    let (head, _) = fail("drive-1", &seen);
    assert_eq!(status(&head), "200", "{head}");
    let (head, refused) = fail("drive-2", &seen);
    assert_eq!((status(&head), &refused["code"]), ("412", &"precondition_failed".into()));
    // What goes on of itself, as the rebuild, makes no other version of it.
    let (head, _) = asked(&place, "GET", "/pools/tank", &[], "");
    let seen = format!("if-match: {}", header(&head, "etag").expect("a tag"));
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    let path = "/pools/tank";
    let (head, _) = asked(&place, "PATCH", path, &[&seen], r#"{"autotrim":false}"#);
    assert_eq!(status(&head), "200", "{head}");
}

#[test]
fn what_is_asked_for_again_with_the_same_key_is_made_once() {
    let place = Place::new();
    let _daemon = started(&place);
    let v0 = r#"{"pool":"tank","name":"v0","size_bytes":16777216}"#;
    let key = ["idempotency-key: 5f0c"];
    let (head, made) = asked(&place, "POST", "/volumes", &key, v0);
    assert_eq!((status(&head), header(&head, "idempotency-replayed")), ("201", None), "{head}");
    let (head, again) = asked(&place, "POST", "/volumes", &key, v0);
    assert_eq!((status(&head), header(&head, "idempotency-replayed")), ("201", Some("true")));
    assert_eq!(again, made);
    let (head, refused) = asked(&place, "POST", "/volumes", &key, &v0.replace("v0", "v1"));
    assert_eq!((status(&head), &refused["code"]), ("422", &"idempotency_key_reused".into()));
    let (head, refused) = asked(&place, "POST", "/volumes", &[], v0);
    assert_eq!((status(&head), &refused["code"]), ("409", &"volume_exists".into()));
    let made = |entry: &&Value| entry["operation"] == "create_volume" && entry["result"] == "done";
    let audit = place.json(&["audit"]);
    assert_eq!(audit.as_array().expect("a list").iter().filter(made).count(), 1, "{audit}");
}

#[test]
fn whatever_is_made_may_be_asked_for_again_with_its_key_and_nothing_else_takes_one() {
    let place = Place::new();
    let _daemon = started(&place);
    let key = ["idempotency-key: 77aa"];
    let gold = r#"{"name":"gold"}"#;
    let (head, made) = asked(&place, "POST", "/pools/tank/qos", &key, gold);
    assert_eq!(status(&head), "201", "{head} {made}");
    let (head, again) = asked(&place, "POST", "/pools/tank/qos", &key, gold);
    assert_eq!((status(&head), header(&head, "idempotency-replayed")), ("201", Some("true")));
    assert_eq!(again, made);
    // The same of another pool is another request.
    let (head, refused) = asked(&place, "POST", "/pools/dozer/qos", &key, gold);
    assert_eq!((status(&head), &refused["code"]), ("422", &"idempotency_key_reused".into()));
    let spare = format!(r#"{{"drive":"{}"}}"#, place.drive(7));
    for is_replayed in [None, Some("true")] {
        let key = ["idempotency-key: 77ab"];
        let (head, said) = asked(&place, "POST", "/pools/tank/spares", &key, &spare);
        assert_eq!(status(&head), "200", "{head} {said}");
        assert_eq!(header(&head, "idempotency-replayed"), is_replayed);
    }
    // What is shown once is not kept to be shown again.
    let token = r#"{"name":"ci","role":"viewer"}"#;
    let (head, refused) = asked(&place, "POST", "/tokens", &key, token);
    assert_eq!((status(&head), &refused["code"]), ("400", &"invalid_request".into()));
    assert_eq!(place.json(&["token", "list"]), serde_json::json!([]));
}

#[test]
fn long_work_is_listed_waited_for_and_stopped_as_jobs() {
    let place = Place::new();
    let _daemon = started(&place);
    assert_eq!(place.json(&["job", "list"]), Value::Array(Vec::new()));
    assert!(place.ok(&["job", "list"]).contains("no jobs"));
    place.ok(&["pool", "scrub", "tank"]);
    let scrubbed = place.json(&["job", "wait", "tank/scrub"]);
    assert_eq!((&scrubbed["states"][0], &scrubbed["kind"]), (&"finished".into(), &"scrub".into()));
    assert!(scrubbed["finished_at"].is_string() && scrubbed["can_stop"] == false, "{scrubbed}");
    let again = place.json(&["job", "stop", "tank/scrub"]);
    assert_eq!(again["states"][0], "finished", "what has ended stays as it is: {again}");
    place.ok(&["pool", "verify", "tank", "--wait"]);
    let table = place.ok(&["job", "list"]);
    assert!(table.contains("tank/scrub") && table.contains("tank/verify"), "{table}");
    let proven = place.ok(&["job", "show", "tank/verify"]);
    assert!(proven.contains("each figure is what is there"), "{proven}");
    for verb in ["show", "wait", "stop"] {
        let said = place.refused(&["job", verb, "tank/trim"]);
        assert!(said.contains("there is no job 'tank/trim'"), "{said}");
        let said = place.refused(&["job", verb, "tank"]);
        assert!(said.contains("POOL/KIND"), "{said}");
    }
}

#[test]
fn what_is_watched_comes_at_once_and_again_until_the_daemon_ends() {
    let place = Place::new();
    let daemon = started(&place);
    let mut client = UnixStream::connect(place.socket()).expect("the daemon listens");
    client
        .write_all(b"GET /api/v1/live?topics=status,iostat,jobs HTTP/1.1\r\nhost: ashlar\r\n\r\n")
        .expect("it listens");
    let mut lines = BufReader::new(client).lines().map(|line| line.expect("a line"));
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let line = lines.next().expect("it goes on");
        let Some(topic) = line.strip_prefix("event: ") else { continue };
        let data = lines.next().expect("its data");
        let data: Value =
            serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        let is_right = match topic {
            "status" => data["pools"][0]["name"] == "tank",
            "iostat" => data["drives"].as_array().is_some_and(|drives| drives.len() == 3),
            _ => data.is_array(),
        };
        assert!(is_right, "{topic}: {data}");
        seen.push(topic.to_owned());
    }
    assert_eq!(seen, ["status", "iostat", "jobs", "status", "iostat", "jobs"]);
    daemon.terminate();
    assert!(lines.all(|line| line.len() < 1 << 20), "the stream ends");
}

#[test]
fn settings_are_got_as_they_are_set_and_the_history_says_who_has_set_them() {
    let place = Place::new();
    let _daemon = started(&place);
    place.ok(&["pool", "set", "tank", "recon-prio=7", "scrub-interval=off"]);
    assert_eq!(place.ok(&["pool", "get", "tank", "recon-prio"]).trim(), "7");
    let all = place.json(&["pool", "get", "tank"]);
    assert_eq!((&all["recon-prio"], &all["scrub-interval"]), (&"7".into(), &"off".into()));
    let said = place.refused(&["pool", "get", "tank", "colour"]);
    assert!(said.contains("'colour' is not a setting"), "{said}");
    place.create_pool("dozer", 3..6);
    let history = place.json(&["pool", "history", "tank"]);
    let commands: Vec<&str> = history
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["command"].as_str().expect("a command"))
        .collect();
    assert_eq!(commands, ["pool create", "pool set"]);
}

/// The name alone was asked for: a rename lost all that was before, and a new pool had what another
/// of that name had been asked for.
#[test]
fn the_history_of_a_pool_goes_with_it_to_another_name_and_to_no_other_pool() {
    let place = Place::new();
    let _daemon = started(&place);
    let commands = |pool: &str| -> Vec<String> {
        let all = place.json(&["pool", "history", pool]);
        let all = all.as_array().expect("a list").iter();
        all.map(|it| it["command"].as_str().expect("a command").to_owned()).collect()
    };
    place.ok(&["pool", "rename", "tank", "big"]);
    assert_eq!(commands("big"), ["pool create", "pool rename"]);
    let uuid =
        place.json(&["pool", "show", "big"])["uuid"].as_str().expect("it has one").to_owned();
    assert_eq!(commands(&uuid), commands("big"));
    place.create_pool("tank", 3..6);
    assert_eq!(commands("tank"), ["pool create"]);
    place.ok(&["pool", "export", "big", "--yes"]);
    let drives: Vec<String> = (0..3).map(|number| place.file(number)).collect();
    let drives = drives.iter().flat_map(|drive| ["--drive", drive]);
    let import: Vec<&str> = ["pool", "import"].into_iter().chain(drives).collect();
    place.ok(&import);
    let now = commands("big");
    assert_eq!(now[..2], ["pool create", "pool rename"]);
    assert_eq!(
        now.last().map(String::as_str),
        Some("pool import"),
        "though it was not named: {now:?}"
    );
    let said = place.refused(&["pool", "history", "nope"]);
    assert!(said.contains("'nope'"), "{said}");
}

#[test]
fn lists_are_printed_for_spreadsheets_and_as_yaml_too() {
    let place = Place::new();
    let _daemon = started(&place);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB", "--allow", "any"]);
    let csv = place.ok(&["volume", "list", "--output", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("name,pool,uuid,nsid,size_bytes"), "{csv}");
    assert!(lines[1].starts_with("v0,tank,") && lines.len() == 2, "{csv}");
    let yaml = place.ok(&["volume", "list", "--output", "yaml"]);
    assert!(yaml.starts_with("- name: v0\n  pool: tank\n"), "{yaml}");
    let rows = place.ok(&["iostat", "-v", "--output", "csv"]);
    assert!(
        rows.lines().next().expect("names").starts_with("interval_seconds,kind,name"),
        "{rows}"
    );
    assert_eq!(rows.lines().filter(|row| row.contains(",drive,")).count(), 3, "{rows}");
}

#[test]
fn a_pool_that_is_not_open_is_found_on_drives_that_are_named() {
    let place = Place::new();
    let _daemon = started(&place);
    let drives = place.path("").display().to_string();
    let find = format!(r#"{{"drives":["{drives}"]}}"#);
    let (_, found) = asked(&place, "POST", "/importable-pools", &[], &find);
    assert_eq!(found, Value::Array(Vec::new()), "it is open");
    place.ok(&["pool", "export", "tank", "--yes"]);
    let (head, found) = asked(&place, "POST", "/importable-pools", &[], &find);
    assert_eq!((status(&head), &found[0]["name"]), ("200", &"tank".into()), "{found}");
    assert_eq!(found[0]["drives"].as_array().map(Vec::len), Some(3), "{found}");
    place.ok(&["pool", "import"]);
}

/// The answers to what is asked at once, in the order of the requests.
fn at_once<'a, const N: usize>(
    place: &'a Place,
    requests: [(&'a str, &'a str, [&'a str; 1], &'a str); N],
) -> [(String, Value); N] {
    let begin = std::sync::Barrier::new(N);
    std::thread::scope(|scope| {
        let begin = &begin;
        let ask =
            move |(method, path, headers, body): (&'a str, &'a str, [&'a str; 1], &'a str)| {
                scope.spawn(move || {
                    begin.wait();
                    asked(place, method, path, &headers, body)
                })
            };
        requests.map(ask).map(|answer| answer.join().expect("it is answered"))
    })
}

#[test]
fn of_two_who_change_at_once_what_both_have_seen_one_is_refused() {
    let place = Place::new();
    let _daemon = started(&place);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    for round in 1..=10 {
        let (head, _) = asked(&place, "GET", "/volumes/tank/v0", &[], "");
        let seen = format!("if-match: {}", header(&head, "etag").expect("a tag"));
        let size = |more: u64| format!(r#"{{"size_bytes":{}}}"#, (16 + 2 * round + more) << 20);
        let (one, other) = (size(0), size(1));
        let path = "/volumes/tank/v0";
        let answers =
            at_once(&place, [("PATCH", path, [&*seen], &*one), ("PATCH", path, [&*seen], &*other)]);
        let mut statuses = answers.each_ref().map(|(head, _)| status(head));
        statuses.sort();
        assert_eq!(statuses, ["200", "412"], "{answers:?}");
        let done = answers.iter().find(|(head, _)| status(head) == "200").expect("one is done");
        let volume = place.json(&["volume", "show", "tank/v0"]);
        assert_eq!(volume["size_bytes"], done.1["size_bytes"], "the other has changed nothing");
    }
}

#[test]
fn of_two_who_ask_at_once_with_one_key_both_are_told_of_the_one_volume_that_was_made() {
    let place = Place::new();
    let _daemon = started(&place);
    for round in 0..10 {
        let key = format!("idempotency-key: key-{round}");
        let body = format!(r#"{{"pool":"tank","name":"v{round}","size_bytes":16777216}}"#);
        let request = ("POST", "/volumes", [&*key], &*body);
        let answers = at_once(&place, [request, request]);
        assert_eq!(answers.each_ref().map(|(head, _)| status(head)), ["201", "201"], "{answers:?}");
        assert_eq!(answers[0].1["uuid"], answers[1].1["uuid"]);
        let is_replayed =
            |(head, _): &&(String, Value)| header(head, "idempotency-replayed").is_some();
        assert_eq!(answers.iter().filter(is_replayed).count(), 1, "{answers:?}");
    }
}

#[test]
fn a_policy_has_versions_of_its_own_and_a_precondition_that_nobody_looks_at_is_refused() {
    let place = Place::new();
    let _daemon = started(&place);
    let gold = r#"{"name":"gold","weight":200}"#;
    let (head, _) = asked(&place, "POST", "/pools/tank/qos", &[], gold);
    assert_eq!(status(&head), "201", "{head}");
    let path = "/pools/tank/qos/gold";
    let (head, _) = asked(&place, "GET", path, &[], "");
    let seen = format!("if-match: {}", header(&head, "etag").expect("a tag"));
    let (head, _) = asked(&place, "PATCH", path, &[&seen], r#"{"weight":300}"#);
    assert_eq!(status(&head), "200", "{head}");
    let (head, refused) = asked(&place, "DELETE", path, &[&seen], "");
    assert_eq!((status(&head), &refused["code"]), ("412", &"precondition_failed".into()));
    // Which one is the pool's default is of the pool's version.
    let (head, _) = asked(&place, "GET", "/pools/tank", &[], "");
    let seen_pool = format!("if-match: {}", header(&head, "etag").expect("a tag"));
    let choose = ("/pools/tank/qos-default", r#"{"policy":"gold"}"#);
    let chosen = [(); 2].map(|()| asked(&place, "POST", choose.0, &[&seen_pool], choose.1).0);
    assert_eq!(chosen.each_ref().map(|head| status(head)), ["200", "412"], "{chosen:?}");
    let v0 = r#"{"pool":"tank","name":"v0","size_bytes":16777216}"#;
    let (head, refused) = asked(&place, "POST", "/volumes", &[&seen], v0);
    assert_eq!((status(&head), &refused["code"]), ("400", &"invalid_request".into()));
    let (head, _) = asked(&place, "POST", "/volumes?wrong=1", &[], v0);
    assert_eq!(status(&head), "400", "{head}");
    let audit = place.json(&["audit", "--result", "refused"]);
    let codes: Vec<&Value> =
        audit.as_array().expect("entries").iter().map(|it| &it["code"]).collect();
    let twice = "precondition_failed";
    assert_eq!(codes, [twice, twice, "invalid_request", "invalid_query"]);
}

#[test]
fn metrics_are_open_metrics_for_those_who_ask_for_it_and_classic_for_all_others() {
    let place = Place::new();
    let _daemon = started(&place);
    let scraped = |accept: &str| {
        let mut client = UnixStream::connect(place.socket()).expect("the daemon listens");
        let head = "GET /metrics HTTP/1.1\r\nhost: ashlar\r\nconnection: close\r\n";
        write!(client, "{head}accept: {accept}\r\n\r\n").expect("it listens");
        std::io::read_to_string(client).expect("an answer")
    };
    let classic = scraped("*/*");
    assert!(classic.contains("content-type: text/plain; version=0.0.4"), "{classic}");
    assert!(!classic.contains("# EOF") && !classic.contains("# UNIT"), "{classic}");
    assert!(classic.contains("\n# TYPE ashlar_pool_blocks_written_total counter\n"), "{classic}");
    let open = scraped("application/openmetrics-text;version=1.0.0,text/plain;q=0.3");
    assert!(open.contains("content-type: application/openmetrics-text"), "{open}");
    assert!(
        open.contains("\n# TYPE ashlar_pool_blocks_written counter\n") && open.contains("# EOF")
    );
}

#[test]
fn a_drive_that_nobody_has_is_found_and_one_that_waits_as_a_spare_is_not() {
    let place = Place::new();
    let _daemon = started(&place);
    let shelf = place.path("shelf");
    std::fs::create_dir(&shelf).expect("a directory");
    let drive = |name: &str| {
        let path = shelf.join(name);
        let file = std::fs::File::create(&path).expect("a file");
        file.set_len(256 << 20).expect("a size");
        format!("file:{}", path.display())
    };
    let (free, spare) = (drive("free.img"), drive("spare.img"));
    let find = format!(r#"{{"drives":["{}"]}}"#, shelf.display());
    let specs = || {
        let (head, found) = asked(&place, "POST", "/unused-drives", &[], &find);
        assert_eq!(status(&head), "200", "{found}");
        let found = found.as_array().expect("a list").clone();
        assert!(found.iter().all(|it| it["states"][0] == "blank"), "{found:?}");
        found.iter().map(|it| it["spec"].as_str().expect("a place").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(specs(), [free.as_str(), &spare]);
    place.ok(&["pool", "spare", "add", "tank", &spare]);
    assert_eq!(specs(), [free]);
}
