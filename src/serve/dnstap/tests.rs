//! Queue, messages and frames by themselves; the sender against a collector of our own, which misbehaves on purpose.

mod collector;

use std::net::{IpAddr, SocketAddr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::frames::{CONTENT_TYPE, Control, Frames, Heard, hear};
use super::queue::QUEUE_BYTES;
use super::*;

fn exchange<'a>(query: &'a [u8], answer: &'a [u8]) -> Exchange<'a> {
    Exchange {
        transport: Transport::Udp,
        peer: "192.0.2.7:4711".parse().unwrap(),
        local: Some("198.51.100.53".parse().unwrap()),
        port: 53,
        time: Duration::new(1_700_000_000, 5),
        query,
        answer,
    }
}

fn settings() -> Settings {
    Settings { socket: "nowhere.sock".into(), identity: "ns1".into(), version: "waypost 1".into() }
}

/// Bytes from hexadecimal digits, blanks ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn a_query_is_encoded_as_the_schema_says() {
    let mut out = Vec::new();
    Encoder::new("ns1", "waypost 1").query(&exchange(b"QQ", b"AAA"), &mut out);
    let wanted = hex("0a 03 6e7331  12 09 776179706f73742031
        72 26  08 01 10 01 18 01  22 04 c0000207  2a 04 c6336435  30 e724 38 35
               40 80e2cfaa06  4d 05000000  52 02 5151
        78 01");
    assert_eq!(out, wanted);
}

#[test]
fn an_answer_is_encoded_as_the_schema_says() {
    let mut out = Vec::new();
    let exchange = Exchange {
        transport: Transport::Tcp,
        peer: "[2001:db8::7]:65535".parse().unwrap(),
        local: None,
        ..exchange(b"QQ", b"AAA")
    };
    Encoder::new("ns1", "waypost 1").response(&exchange, &mut out);
    let wanted = hex("0a 03 6e7331  12 09 776179706f73742031
        72 2e  08 02 10 02 18 02  22 10 20010db8000000000000000000000007  30 ffff03 38 35
               60 80e2cfaa06  6d 05000000  72 03 414141
        78 01");
    assert_eq!(out, wanted);
}

#[test]
fn a_full_queue_drops_whole_exchanges_and_counts_their_messages() {
    let (mut taps, mut output) = taps(settings(), 1);
    let (query, answer) = (vec![1; 100], vec![2; 300]);
    for _ in 0..QUEUE_BYTES {
        taps[0].record(&exchange(&query, &answer));
    }
    let mut kept = 0;
    while let Some(popped) = output.queues[0].pop() {
        assert_eq!(popped, exchange(&query, &answer));
        kept += 1;
    }
    assert_eq!(kept, (QUEUE_BYTES / 454) as u64);
    assert_eq!(output.counts.dropped(), 2 * (QUEUE_BYTES as u64 - kept));
    taps[0].record(&exchange(&query, &[]));
    assert!(output.queues[0].pop().is_some(), "there is room again");
}

#[test]
fn the_longest_messages_fit_and_what_is_longer_than_dns_allows_is_dropped() {
    let (mut taps, mut output) = taps(settings(), 1);
    let longest = vec![7; 65_535];
    taps[0].record(&exchange(&longest, &longest));
    assert_eq!(output.queues[0].pop(), Some(exchange(&longest, &longest)));
    taps[0].record(&exchange(&[7; 65_536], &[]));
    assert_eq!(output.queues[0].pop(), None);
    assert_eq!(output.counts.dropped(), 1);
}

#[test]
fn a_control_frame_is_heard_once_it_is_whole() {
    for (control, heard) in [
        (Control::Accept, Heard::Accept),
        (Control::Finish, Heard::Finish),
        (Control::Ready, Heard::Nonsense),
        (Control::Start, Heard::Nonsense),
        (Control::Stop, Heard::Nonsense),
    ] {
        let frame = control.frame();
        for len in 0..frame.len() {
            assert_eq!(hear(&frame[..len]), Heard::Part, "{control:?} {len}");
        }
        assert_eq!(hear(&frame), heard, "{control:?}");
    }
}

#[test]
fn an_accept_names_our_content_among_others_or_none() {
    let accept = |contents: &[&[u8]]| {
        let mut body = vec![0, 0, 0, 1];
        for content in contents {
            body.extend([0, 0, 0, 1, 0, 0, 0, content.len() as u8]);
            body.extend(*content);
        }
        let mut frame = vec![0, 0, 0, 0, 0, 0, 0, body.len() as u8];
        frame.extend(body);
        hear(&frame)
    };
    assert_eq!(accept(&[]), Heard::Accept);
    assert_eq!(accept(&[b"protobuf:other", CONTENT_TYPE]), Heard::Accept);
    assert_eq!(accept(&[b"protobuf:other"]), Heard::OtherContent);
}

fn any_ip(is_v6: bool) -> BoxedStrategy<IpAddr> {
    if is_v6 {
        any::<[u8; 16]>().prop_map(IpAddr::from).boxed()
    } else {
        any::<[u8; 4]>().prop_map(IpAddr::from).boxed()
    }
}

type Owned = (bool, SocketAddr, Option<IpAddr>, (u16, u64, u32), Vec<u8>, Vec<u8>);

fn any_exchange() -> impl Strategy<Value = Owned> {
    let addresses = any::<bool>().prop_flat_map(|is_v6| {
        (any_ip(is_v6), any::<u16>(), proptest::option::of(any_ip(is_v6)))
            .prop_map(|(peer, port, local)| (SocketAddr::new(peer, port), local))
    });
    let numbers = (any::<u16>(), any::<u64>(), 0..1_000_000_000_u32);
    (any::<bool>(), addresses, numbers, vec(any::<u8>(), 0..600), vec(any::<u8>(), 0..1300)).prop_map(
        |(is_tcp, (peer, local), numbers, query, answer)| (is_tcp, peer, local, numbers, query, answer),
    )
}

fn borrowed((is_tcp, peer, local, (port, secs, nanos), query, answer): &Owned) -> Exchange<'_> {
    Exchange {
        transport: if *is_tcp { Transport::Tcp } else { Transport::Udp },
        peer: *peer,
        local: *local,
        port: *port,
        time: Duration::new(*secs, *nanos),
        query,
        answer,
    }
}

proptest! {
    #[test]
    fn what_is_queued_comes_out_as_it_was_and_in_order(
        exchanges in vec(any_exchange(), 1..20),
        offset in 0..QUEUE_BYTES,
    ) {
        let (mut writer, mut queue) = queue::new();
        // Somewhere in the ring, so that what follows also lies across its end.
        let mut left = offset;
        while left > 0 {
            let len = left.min(60_000);
            prop_assert!(writer.push(&exchange(&vec![0; len], &[])));
            prop_assert!(queue.pop().is_some());
            left -= len;
        }
        for exchange in &exchanges {
            prop_assert!(writer.push(&borrowed(exchange)));
        }
        for exchange in &exchanges {
            prop_assert_eq!(queue.pop(), Some(borrowed(exchange)));
        }
        prop_assert_eq!(queue.pop(), None);
    }

    /// However the socket cuts them, and wherever the connection breaks: each collector sees whole frames, from one
    /// end of a frame on.
    #[test]
    fn frames_are_sent_whole_also_over_a_second_connection(
        contents in vec(vec(any::<u8>(), 0..40), 1..20),
        cuts in vec(1..60_usize, 0..30),
        broken_at in 0..30_usize,
    ) {
        let mut frames = Frames::default();
        for content in &contents {
            frames.push(|out| out.extend(content));
        }
        let mut connections = [Vec::new(), Vec::new()];
        let mut completed = 0;
        for (number, cut) in cuts.iter().chain(std::iter::repeat(&7)).enumerate() {
            if frames.len() == 0 {
                break;
            }
            if number == broken_at {
                frames.rewind();
            }
            let rest = frames.rest();
            let sent = rest.len().min(*cut);
            connections[usize::from(number >= broken_at)].extend_from_slice(&rest[..sent]);
            completed += frames.advance(sent);
        }
        let wanted: Vec<Vec<u8>> = contents;
        let seen: Vec<Vec<u8>> = connections.iter().flat_map(|bytes| collector::whole_frames(bytes)).collect();
        prop_assert_eq!(completed, wanted.len() as u64);
        prop_assert_eq!(seen, wanted);
    }

    #[test]
    fn whatever_a_collector_says_is_understood_or_refused(bytes in vec(any::<u8>(), 0..700)) {
        hear(&bytes);
    }
}
