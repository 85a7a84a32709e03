use super::*;

/// Takes field 1, a number.
fn take(bytes: &[u8]) -> Result<(u32, Kept), FieldsError> {
    let mut number = 0;
    let kept = take_fields("thing", bytes, |tag, r| match tag {
        1 => {
            number = r.u32()?;
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok((number, kept))
}

fn fields(fields: &[(u16, &[u8])]) -> Vec<u8> {
    let mut w = Writer::default();
    fields.iter().for_each(|(tag, value)| put_field(&mut w, *tag, |w| w.bytes(value)));
    w.0
}

#[test]
fn a_field_that_is_not_known_is_kept_and_written_again() {
    let bytes = fields(&[(7, b"later"), (1, &[5, 0, 0, 0]), (9, b"")]);
    let (number, kept) = take(&bytes).expect("whole");
    assert_eq!(number, 5);
    let mut w = Writer::default();
    put_kept(&mut w, &kept);
    assert_eq!(w.0, fields(&[(7, b"later"), (9, b"")]));
}

#[test]
fn a_critical_field_that_is_not_known_is_refused_by_its_number() {
    let error = take(&fields(&[(CRITICAL | 7, b"later")])).expect_err("critical");
    assert_eq!(error, FieldsError::Unknown { what: "thing", tag: 7 });
    assert!(error.to_string().contains("use a newer Ashlar"));
}

#[test]
fn a_field_that_is_cut_off_or_too_long_is_malformed() {
    let bytes = fields(&[(7, b"later"), (1, &[5, 0, 0, 0])]);
    let cuts = (1..bytes.len()).filter(|end| *end != 2 + 4 + 5);
    assert!(cuts.into_iter().all(|end| take(&bytes[..end]).is_err()));
    assert!(take(&fields(&[(1, &[5, 0, 0, 0, 0])])).is_err());
}
