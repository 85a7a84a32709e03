use super::*;

fn names() -> Vec<String> {
    ["c", "a/1", "b", "d"].map(str::to_owned).to_vec()
}

fn asked(limit: Option<usize>, after: Option<&str>) -> Page<String> {
    let query = PageQuery { limit, after: after.map(str::to_owned) };
    page("/volumes", names(), String::clone, query)
}

#[test]
fn the_pages_of_a_list_together_are_the_list_and_each_leads_to_the_next() {
    let (headers, Json(first)) = asked(Some(2), None).expect("a page");
    assert_eq!(first, ["a/1", "b"]);
    assert_eq!(headers[LINK], "</api/v1/volumes?limit=2&after=b>; rel=\"next\"");
    let (headers, Json(second)) = asked(Some(2), Some("b")).expect("a page");
    assert_eq!((second, headers.is_empty()), (vec!["c".to_owned(), "d".to_owned()], true));
    let (headers, _) = asked(Some(1), None).expect("a page");
    assert_eq!(headers[LINK], "</api/v1/volumes?limit=1&after=a%2F1>; rel=\"next\"");
}

#[test]
fn all_is_answered_where_nobody_asks_for_a_page() {
    let (headers, Json(all)) = asked(None, None).expect("all");
    assert_eq!((all.len(), headers.is_empty()), (4, true));
}

#[test]
fn one_that_was_deleted_meanwhile_does_not_break_the_next_page() {
    let (_, Json(rest)) = asked(Some(9), Some("bb")).expect("a page");
    assert_eq!(rest, ["c", "d"]);
}

#[test]
fn no_page_is_empty_or_larger_than_an_answer_may_be() {
    for limit in [0, LIMIT_MAX + 1] {
        let said = asked(Some(limit), None).expect_err("no page").to_string();
        assert!(said.contains("choose 1 to 10000"), "{said}");
    }
}
