//! Random record data, as master files have it.

use super::name::{Name, draw_label};
use super::zones::Draft;
use crate::random::Random;

/// Data for a record of that type in `zone`; what it points to is remembered as worth asking for.
pub(super) fn draw_data(random: &mut Random, zone: &mut Draft<'_>, rtype: &str) -> String {
    match rtype {
        "A" => format!("192.0.2.{}", random.below(256)),
        "AAAA" => format!("2001:db8::{:x}", random.below(0xffff)),
        "MX" => format!("{} {}", random.below(3) * 10, draw_target(random, zone)),
        "SRV" => format!("{} 5 {} {}", random.below(3), random.below(65_536), draw_target(random, zone)),
        "TXT" => draw_texts(random),
        "CAA" => format!("{} issue \"ca{}.example\"", random.below(2) * 128, random.below(9)),
        "HTTPS" | "SVCB" => {
            let target = draw_target(random, zone);
            match random.below(3) {
                0 => format!("0 {target}"),
                1 => format!("{} . alpn=h2", 1 + random.below(9)),
                _ => format!("{} {target} alpn=h2,h3 port={}", 1 + random.below(9), random.below(65_536)),
            }
        }
        "DS" => format!("{} 13 2 {}", random.below(65_536), draw_hex(random, 32)),
        "TYPE65280" | "TYPE999" => {
            let len = random.below(40);
            format!("\\# {len} {}", draw_hex(random, len))
        }
        _ => draw_target(random, zone),
    }
}

/// A name to point to: inside the zone, there or not; in another zone; outside all.
fn draw_target(random: &mut Random, zone: &mut Draft<'_>) -> String {
    let owner = (*random.pick(&zone.owners())).clone();
    let dname = zone.dnames().first().cloned();
    let target = match random.below(20) {
        0..9 => Some(owner),
        9..12 => owner.child(&draw_label(random)),
        12 | 13 => zone.apex.child(&draw_label(random)),
        14..16 => dname.and_then(|dname| dname.child(&draw_label(random))),
        16 | 17 => random.pick(zone.apexes).child(&draw_label(random)),
        _ => Name::plain("far.outside.example").child(&draw_label(random)),
    };
    let target = target.unwrap_or_else(|| zone.apex.clone());
    zone.mentioned.insert(target.lower());
    target.in_any_case(random).written()
}

fn draw_texts(random: &mut Random) -> String {
    let texts: Vec<String> = (0..1 + random.below(3))
        .map(|_| {
            let len = random.weighted(&[(5, 0), (80, 12), (10, 100), (5, 255)]);
            let bytes: String = (0..len).map(|_| format!("\\{:03}", random.below(256))).collect();
            format!("\"{bytes}\"")
        })
        .collect();
    texts.join(" ")
}

fn draw_hex(random: &mut Random, len: usize) -> String {
    (0..len).map(|_| format!("{:02x}", random.below(256))).collect()
}
