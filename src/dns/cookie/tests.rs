//! The published examples, and the arithmetic of time.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const VECTORS: &str = include_str!("../../../tests/cases/cookie_vectors.json");

fn bytes<const LEN: usize>(hex: &str) -> [u8; LEN] {
    assert_eq!(hex.len(), 2 * LEN);
    std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
}

/// A published server cookie with what it was made of.
struct Vector {
    client: [u8; CLIENT_LEN],
    server: [u8; SERVER_LEN],
    secrets: Secrets,
    peer: IpAddr,
    made_s: u32,
}

impl Vector {
    fn of(case: &Value) -> Self {
        let text = |key: &str| case[key].as_str().unwrap();
        Self {
            client: bytes(text("client_cookie")),
            server: bytes(text("server_cookie")),
            secrets: Secrets { first: Secret::new(bytes(text("secret"))), second: None },
            peer: text("client_ip").parse().unwrap(),
            made_s: u32::try_from(case["timestamp"].as_u64().unwrap()).unwrap(),
        }
    }

    fn standing_at(&self, now_s: u32) -> Standing {
        self.answer_at(now_s).standing
    }

    fn answer_at(&self, now_s: u32) -> Cookie {
        self.secrets.answer(&[&self.client[..], &self.server].concat(), self.peer, now_s).unwrap()
    }
}

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn vector(id: &str) -> Vector {
    Vector::of(cases().iter().find(|case| case["id"] == id).unwrap())
}

fn some() -> Vector {
    vector("cookie-a5")
}

#[test]
fn every_published_vector_comes_out() {
    let mut seen = 0;
    for case in cases() {
        match case["kind"].as_str().unwrap() {
            "server-cookie" => {
                let vector = Vector::of(&case);
                assert_eq!(vector.standing_at(vector.made_s), Standing::Valid, "{case}");
                if vector.server[1..4] == [0; 3] {
                    let made = vector.secrets.make(vector.client, vector.peer, vector.made_s);
                    assert_eq!(made, vector.server, "{case}");
                }
            }
            "lifetime" => {
                let base = vector(case["base"].as_str().unwrap());
                let offset_s = case["check_at_offset_s"].as_i64().unwrap();
                let now_s = base.made_s.wrapping_add_signed(i32::try_from(offset_s).unwrap());
                let expected = if case["valid"] == true { Standing::Valid } else { Standing::Invalid };
                assert_eq!(base.standing_at(now_s), expected, "{case}");
            }
            "version" => {
                let mut vector = some();
                vector.server[0] = 10;
                assert_eq!(vector.standing_at(vector.made_s), Standing::Invalid);
            }
            other => panic!("a kind of case that nobody checks: {other}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn a_cookie_is_valid_for_an_hour_and_five_minutes_ahead_whatever_the_year() {
    // 2019, across 2038, across 2106, zero.
    for made_s in [1_559_741_961, 0x7fff_ffff, 0xffff_ff00, 0xffff_ffff, 0] {
        let made = some();
        let server = made.secrets.make(made.client, made.peer, made_s);
        let vector = Vector { server, ..made };
        for (offset_s, valid) in
            [(-301, false), (-300, true), (-1, true), (0, true), (1, true), (3600, true), (3601, false)]
        {
            let standing = vector.standing_at(made_s.wrapping_add_signed(offset_s));
            assert_eq!(standing == Standing::Valid, valid, "{made_s} {offset_s}");
        }
    }
}

#[test]
fn a_valid_cookie_is_kept_for_half_an_hour_and_then_renewed() {
    let vector = some();
    for (age_s, kept) in [(-300, true), (0, true), (1799, true), (1800, false), (3600, false)] {
        let now_s = vector.made_s.wrapping_add_signed(age_s);
        let full = vector.answer_at(now_s).full;
        assert_eq!(full[..CLIENT_LEN], vector.client);
        let fresh = vector.secrets.make(vector.client, vector.peer, now_s);
        assert_eq!(full[CLIENT_LEN..], if kept { vector.server } else { fresh }, "{age_s}");
    }
}

#[test]
fn the_second_secret_verifies_and_does_not_make() {
    let vector = some();
    let other = Secret::new([9; SECRET_LEN]);
    let rolled = Secrets { first: other, second: Some(vector.secrets.first) };
    let option = [&vector.client[..], &vector.server].concat();
    let young = rolled.answer(&option, vector.peer, vector.made_s).unwrap();
    assert_eq!((young.standing, &young.full[CLIENT_LEN..]), (Standing::Valid, &vector.server[..]));
    let old = rolled.answer(&option, vector.peer, vector.made_s + 1800).unwrap();
    assert_eq!(old.standing, Standing::Valid);
    let by_other =
        Secrets { first: other, second: None }.make(vector.client, vector.peer, vector.made_s + 1800);
    assert_eq!(old.full[CLIENT_LEN..], by_other);
    let dropped = Secrets { first: other, second: None };
    assert_eq!(dropped.answer(&option, vector.peer, vector.made_s).unwrap().standing, Standing::Invalid);
}

#[test]
fn a_client_is_the_same_to_a_socket_for_both_families() {
    let vector = vector("cookie-a1");
    let IpAddr::V4(v4) = vector.peer else { panic!("the example is of IPv4") };
    let mapped = Vector { peer: v4.to_ipv6_mapped().into(), ..vector };
    assert_eq!(mapped.standing_at(mapped.made_s), Standing::Valid);
}

#[test]
fn only_lengths_of_8_and_16_to_40_are_cookies() {
    let vector = some();
    for len in 0..=64 {
        let option = vec![7; len];
        let well_formed = len == 8 || (16..=40).contains(&len);
        assert_eq!(vector.secrets.answer(&option, vector.peer, 0).is_ok(), well_formed, "{len}");
    }
}

#[test]
fn a_secret_is_never_shown() {
    let shown = format!("{:?}", Cookies { secrets: some().secrets, unverified_udp: 512 });
    assert_eq!(shown.matches("Secret(..)").count(), 1);
    assert!(!shown.contains("68") && !shown.contains("44"), "{shown}");
}

proptest! {
    #[test]
    fn any_changed_bit_or_address_makes_a_cookie_invalid(
        client: [u8; 8], secret: [u8; 16], made_s: u32, v4: [u8; 4], bit in 0_usize..192,
    ) {
        let secrets = Secrets { first: Secret::new(secret), second: None };
        let peer = IpAddr::from(v4);
        let mut option = [&client[..], &secrets.make(client, peer, made_s)].concat();
        prop_assert_eq!(secrets.answer(&option, peer, made_s).unwrap().standing, Standing::Valid);
        let other = IpAddr::from((u32::from_be_bytes(v4) ^ 1).to_be_bytes());
        prop_assert_eq!(secrets.answer(&option, other, made_s).unwrap().standing, Standing::Invalid);
        option[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(secrets.answer(&option, peer, made_s).unwrap().standing, Standing::Invalid);
    }
}
