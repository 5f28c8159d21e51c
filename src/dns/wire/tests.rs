use super::*;

#[test]
fn every_code_has_its_own_place_and_word() {
    for (place, rcode) in Rcode::ALL.into_iter().enumerate() {
        assert_eq!(rcode as usize, place);
        assert!(Rcode::ALL.iter().filter(|other| other.word() == rcode.word()).count() == 1);
    }
}

#[test]
fn a_folded_name_is_lower_case_whatever_its_length() {
    for len in 1..=63_u8 {
        let raw = [&[len][..], &vec![b'Q'; len.into()], &[0]].concat();
        let mut name = Name::EMPTY;
        assert!(name.set(&[&raw]));
        assert_eq!(name.as_wire(), raw.to_ascii_lowercase());
    }
}

#[test]
fn a_shorter_name_leaves_nothing_of_a_longer_one() {
    let mut name = Name::EMPTY;
    assert!(name.set(&[b"\x05HELLO\x02Yo\x00"]) && name.set(&[b"\x01", b"A\x00"]));
    assert_eq!(name.as_wire(), b"\x01a\x00");
    assert!(!name.set(&[&[1; 200], &[1; 56]]));
}

#[test]
fn a_pointer_ends_a_records_name_and_a_reserved_label_type_is_none() {
    assert_eq!(any_name_end(b"\x01a\xc0\x0c", 0), Some(4));
    assert_eq!(any_name_end(b"\x01a\xc0", 0), None);
    assert_eq!(any_name_end(b"\x01a\x80\x00", 0), None);
    assert_eq!(plain_name_end(b"\x01a\xc0\x0c", 0), None);
}
