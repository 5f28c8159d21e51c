//! Placeholders: one probe, a check for each region and address.

use std::net::IpAddr;

use crate::config::{HttpProbe, ProbeKind};

/// Puts `region` and `address` in the places of `{region}` and `{address}`. What was put in is not looked at again;
/// other braces stay as they are (the configuration refuses placeholders that do not exist), and so does `{address}`
/// when there is none.
pub fn fill(template: &str, region: &str, address: Option<&str>) -> String {
    let mut out = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some(brace) = rest.find('{') {
        let (before, from_brace) = rest.split_at(brace);
        out.push_str(before);
        let values = [("{region}", Some(region)), ("{address}", address)];
        let hit = values.into_iter().find_map(|(key, value)| Some((from_brace.strip_prefix(key)?, value?)));
        rest = match hit {
            Some((after, value)) => {
                out.push_str(value);
                after
            }
            None => {
                out.push('{');
                from_brace.get(1..).unwrap_or_default()
            }
        };
    }
    out.push_str(rest);
    out
}

/// The probe with every text filled. `target`, when there is one, takes the place of the URL, the address or the
/// path; for a command it is what `{address}` stands for.
pub(super) fn fill_kind(
    kind: &ProbeKind,
    target: Option<&str>,
    region: &str,
    address: Option<IpAddr>,
) -> ProbeKind {
    let raw = address.map(|address| address.to_string());
    let in_url = address.map(bracketed);
    let fill_url = |template: &str| fill(template, region, in_url.as_deref());
    let fill_raw = |template: &str| fill(template, region, raw.as_deref());
    match kind {
        ProbeKind::Http(probe) => ProbeKind::Http(HttpProbe {
            url: fill_url(target.unwrap_or(&probe.url)),
            host: probe.host.as_deref().map(fill_url),
            headers: probe.headers.iter().map(|(name, value)| (name.clone(), fill_raw(value))).collect(),
            ..probe.clone()
        }),
        ProbeKind::Tcp { address } => ProbeKind::Tcp { address: fill_url(target.unwrap_or(address)) },
        ProbeKind::Exec { command } => {
            let target = target.map(fill_raw);
            let address = raw.as_deref().or(target.as_deref());
            ProbeKind::Exec { command: command.iter().map(|word| fill(word, region, address)).collect() }
        }
        ProbeKind::File { path, max_age } => {
            ProbeKind::File { path: fill_raw(target.unwrap_or(path)), max_age: *max_age }
        }
    }
}

/// An address as it stands in a URL or before a port (RFC 3986 3.2.2).
fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const V6: &str = "2001:db8::1";

    fn command(words: &[&str]) -> ProbeKind {
        ProbeKind::Exec { command: words.iter().map(|&word| word.to_owned()).collect() }
    }

    #[test]
    fn an_ipv6_address_is_bracketed_for_tcp_and_raw_for_a_command() {
        let address = V6.parse().ok();
        let tcp = ProbeKind::Tcp { address: "{address}:5432".to_owned() };
        let filled = fill_kind(&tcp, None, "cn", address);
        assert_eq!(filled, ProbeKind::Tcp { address: "[2001:db8::1]:5432".to_owned() });
        let filled = fill_kind(&command(&["/bin/check", "{region}", "{address}"]), None, "cn", address);
        assert_eq!(filled, command(&["/bin/check", "cn", V6]));
    }

    #[test]
    fn a_regions_own_target_takes_the_templates_place() {
        let tcp = ProbeKind::Tcp { address: "unused:1".to_owned() };
        let filled = fill_kind(&tcp, Some("db.{region}.internal:5432"), "eu", None);
        assert_eq!(filled, ProbeKind::Tcp { address: "db.eu.internal:5432".to_owned() });
        let filled = fill_kind(&command(&["check", "{address}"]), Some("10.0.0.1"), "eu", None);
        assert_eq!(filled, command(&["check", "10.0.0.1"]));
        let file = ProbeKind::File { path: "/x".to_owned(), max_age: Duration::ZERO };
        let filled = fill_kind(&file, Some("/run/{region}"), "eu", None);
        assert_eq!(filled, ProbeKind::File { path: "/run/eu".to_owned(), max_age: Duration::ZERO });
    }

    #[test]
    fn what_was_put_in_is_not_filled_again_and_other_braces_stay() {
        assert_eq!(fill("{region}{address}", "{address}", Some("x")), "{address}x");
        assert_eq!(fill(r#"{"a":{}} {address} {"#, "cn", None), r#"{"a":{}} {address} {"#);
        assert_eq!(fill("{{region}}é{", "cn", None), "{cn}é{");
    }
}
