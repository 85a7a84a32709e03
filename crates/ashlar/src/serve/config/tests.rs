use super::*;

fn resolve(text: &str) -> anyhow::Result<Config> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let config = Some(file.path().to_owned());
    let arguments = ServeArguments { config, ..ServeArguments::default() };
    Config::resolve(&arguments, None)
}

#[test]
fn memory_for_the_map_is_a_number_of_bytes_or_a_size() {
    for text in ["map_memory_bytes = 67108864", "map_memory_bytes = \"64MiB\""] {
        assert_eq!(resolve(text).unwrap().store.map_memory_bytes, 64 << 20, "{text}");
    }
    let error = format!("{:#}", resolve("map_memory_bytes = 1").unwrap_err());
    assert!(error.contains("map_memory_bytes is 1B: it must be at least 16MiB"), "{error}");
}

#[test]
fn the_default_of_the_maps_memory_follows_from_what_there_is() {
    let mebibytes = |total: u64| default_map_memory(total << 20).0 >> 20;
    assert_eq!([64, 256, 1024, 4096].map(mebibytes), [16, 32, 128, 256]);
    assert_eq!(mebibytes(1 << 20), (1 << 20) / 20);
}

#[test]
fn the_wait_for_late_drives_can_be_set_within_its_bound() {
    assert_eq!(resolve("").unwrap().member_wait, Duration::from_secs(10));
    assert_eq!(resolve("member_wait_seconds = 0").unwrap().member_wait, Duration::ZERO);
    let error = resolve("member_wait_seconds = 9999").unwrap_err();
    assert!(error.to_string().contains("at most 3600"), "{error}");
}

#[test]
fn an_unknown_key_is_refused_by_name() {
    let error = format!("{:#}", resolve("map_memory = \"64MiB\"").unwrap_err());
    assert!(error.contains("map_memory") && error.contains("map_memory_bytes"), "{error}");
}

#[test]
fn drives_are_asked_each_minute_unless_somebody_says_otherwise_within_its_bounds() {
    let health = |text: &str| resolve(text).unwrap().health;
    assert_eq!(health("").interval, Duration::from_secs(60));
    assert_eq!(health("drive_poll_seconds = 5").interval, Duration::from_secs(5));
    let thresholds = health("drive_hot_celsius = 60\ndrive_worn_percent = 50").thresholds;
    assert_eq!((thresholds.hot_celsius, thresholds.worn_percent), (Some(60), 50));
    for text in ["drive_poll_seconds = 0", "drive_hot_celsius = 0", "drive_worn_percent = 101"] {
        let error = resolve(text).unwrap_err().to_string();
        assert!(error.contains(text.split(' ').next().unwrap()), "{error}");
    }
}
