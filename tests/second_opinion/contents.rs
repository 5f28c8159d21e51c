//! All that a message holds, as hickory-proto reads it: every field and every byte of data, for other readers to agree.

use hickory_proto::op::Message;
use hickory_proto::rr::Record;
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder, NameEncoding};

use crate::query::hex;

/// In the words of `read_answers.py`; `None`: no well-formed message.
pub(crate) fn of(bytes: &[u8]) -> Option<String> {
    let message = Message::from_vec(bytes).ok()?;
    let flags = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?) & 0xfff0;
    let mut fields = vec![format!("ok {flags:04x} {}", u16::from(message.metadata.response_code))];
    for question in &message.queries {
        let (qtype, qclass) = (u16::from(question.query_type()), u16::from(question.query_class()));
        fields.push(format!("0:{}/{qtype}/{qclass}", written_out(question.name())?));
    }
    let sections = [&message.answers, &message.authorities, &message.additionals];
    for (number, section) in (1..).zip(sections) {
        for record in section {
            fields.push(format!("{number}:{}", record_text(record)?));
        }
    }
    if let Some(edns) = &message.edns {
        fields.push(format!("opt:{}/{}/{}", edns.max_payload(), edns.version(), u16::from(*edns.flags())));
        for (code, option) in edns.options().as_ref() {
            let data: Vec<u8> = option.try_into().ok()?;
            fields.push(format!("option {}:{}", u16::from(*code), hex(&data)));
        }
    }
    Some(fields.join(" "))
}

fn record_text(record: &Record) -> Option<String> {
    let (rtype, class) = (u16::from(record.record_type()), u16::from(record.dns_class));
    let (owner, data) = (written_out(&record.name)?, written_out(&record.data)?);
    Some(format!("{owner}/{rtype}/{class}/{}/{data}", record.ttl))
}

/// Its bytes, names in it without compression.
fn written_out(part: &impl BinEncodable) -> Option<String> {
    let mut bytes = Vec::new();
    let mut encoder = BinEncoder::new(&mut bytes);
    encoder.set_name_encoding(NameEncoding::Uncompressed);
    part.emit(&mut encoder).ok()?;
    Some(hex(&bytes))
}
