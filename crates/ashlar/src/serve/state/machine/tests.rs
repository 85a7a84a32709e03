use super::*;

fn machine(name: &str, id: Option<u128>, hardware: Option<u128>) -> Machine {
    Machine {
        name: name.to_owned(),
        id: id.map(Uuid::from_u128),
        hardware: hardware.map(Uuid::from_u128),
    }
}

#[test]
fn a_machine_is_another_one_where_an_identity_differs() {
    let known = machine("a", Some(1), Some(2));
    assert!(
        machine("a", Some(9), Some(2)).is_another_than(&known),
        "the state directory was copied"
    );
    assert!(
        machine("a", Some(1), Some(9)).is_another_than(&known),
        "the whole virtual machine was cloned"
    );
    assert!(!machine("b", Some(1), Some(2)).is_another_than(&known), "it was renamed");
}

#[test]
fn what_cannot_be_read_makes_no_machine_another_one() {
    let known = machine("a", Some(1), Some(2));
    for unread in
        [machine("a", None, None), machine("a", Some(1), None), machine("a", None, Some(2))]
    {
        assert!(!unread.is_another_than(&known) && !known.is_another_than(&unread));
        assert_eq!(unread.with_what_is_known_of(Some(&known)), known);
    }
}

#[test]
fn nothing_is_kept_of_another_machine() {
    let here = machine("b", Some(9), None);
    assert_eq!(here.clone().with_what_is_known_of(Some(&machine("a", Some(1), Some(2)))), here);
    assert_eq!(here.clone().with_what_is_known_of(None), here);
}

#[test]
fn a_machine_is_read_back_as_it_was_written() {
    for here in [machine("a", Some(1), None), machine("a", None, None), Machine::here()] {
        let text = toml::to_string(&here).unwrap();
        assert_eq!(toml::from_str::<Machine>(&text).unwrap(), here);
    }
}
