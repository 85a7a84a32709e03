use super::*;

fn wanted(topics: Option<&str>, interval_seconds: Option<u64>) -> Wanted {
    Wanted { topics: topics.map(str::to_owned), interval_seconds }
}

#[test]
fn each_topic_is_where_its_name_is() {
    for (at, (_, topic)) in TOPICS.iter().enumerate() {
        assert_eq!(*topic as usize, at);
    }
}

#[test]
fn the_status_is_watched_where_nobody_says_what() {
    assert_eq!(wanted(None, None).topics().expect("topics"), [Topic::Status]);
    let both = wanted(Some("jobs,iostat"), None).topics().expect("topics");
    assert_eq!(both, [Topic::Jobs, Topic::IoStat]);
    let often = wanted(Some("jobs,jobs,jobs"), None).topics().expect("topics");
    assert_eq!(often, [Topic::Jobs], "each once, however often it is named");
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_with_what_can() {
    for topics in ["", "status,", "drives"] {
        let said = wanted(Some(topics), None).topics().expect_err("no topic").to_string();
        assert!(said.contains("choose status, iostat or jobs"), "{said}");
    }
    for seconds in [0, 61] {
        let said = wanted(None, Some(seconds)).interval().expect_err("no interval").to_string();
        assert!(said.contains("choose 1 to 60"), "{said}");
    }
}
