use super::*;

#[test]
fn counters_are_called_by_their_whole_names_and_units_and_the_end_are_left_out() {
    let open_metrics = "# HELP a_bytes What a has.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\n\
        a_bytes_total{pool=\"x # y\"} 1\n# HELP b What b is.\n# TYPE b gauge\nb 2.5\n\
        # HELP c_seconds How long.\n# TYPE c_seconds histogram\nc_seconds_bucket{le=\"+Inf\"} 1\n# EOF\n";
    let classic = "# HELP a_bytes_total What a has.\n# TYPE a_bytes_total counter\n\
        a_bytes_total{pool=\"x # y\"} 1\n# HELP b What b is.\n# TYPE b gauge\nb 2.5\n\
        # HELP c_seconds How long.\n# TYPE c_seconds histogram\nc_seconds_bucket{le=\"+Inf\"} 1\n";
    assert_eq!(of(open_metrics), classic);
}
