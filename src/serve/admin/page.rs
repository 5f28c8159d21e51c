//! The status page: what `status` says, as plain HTML without scripts. Everything that comes from elsewhere is escaped.

use std::fmt::{Display, Write as _};

use crate::control::status::{PlaceReport, Report};

/// Nothing is loaded, run or framed; the page has only its own style.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta http-equiv=\"refresh\" content=\"10\">\
<title>Waypost</title><style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8884;vertical-align:top}
.healthy,.up{color:#18794e}.degraded{color:#ad5700}.failed,.down{color:#cd2b31}.drained{color:#5746af}
@media(prefers-color-scheme:dark){.healthy,.up{color:#4cc38a}.degraded{color:#f1a10d}.failed,.down{color:#ff6369}.drained{color:#b1a9ff}}
</style></head><body>\n";

/// The page.
pub(super) fn render(report: &Report) -> String {
    let mut page = String::from(HEAD);
    let ready = if report.ready { "answering" } else { "starting" };
    push(&mut page, format_args!("<h1>Waypost on {}</h1>\n", Escaped(&report.node)));
    push(
        &mut page,
        format_args!(
            "<p>{ready}, serial {}, version {}, {}. <a href=\"/api/v1/status\">status</a>, \
             <a href=\"/metrics\">metrics</a>, <a href=\"/api/v1/journal\">journal</a></p>\n",
            report.serial,
            report.version,
            Escaped(&report.at)
        ),
    );
    warnings(&mut page, report);
    fallback(&mut page, report);
    regions(&mut page, report);
    probes(&mut page, report);
    page.push_str("</body></html>\n");
    page
}

fn warnings(page: &mut String, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    page.push_str("<h2>Warnings</h2>\n<ul>\n");
    for warning in &report.warnings {
        let (text, since) = (Escaped(&warning.text), Escaped(&warning.since));
        push(page, format_args!("<li><b>{}</b>: {text} <small>since {since}</small></li>\n", warning.code));
    }
    page.push_str("</ul>\n");
}

fn fallback(page: &mut String, report: &Report) {
    table(page, "Fallback", &["home", "then, in this order"]);
    for (home, others) in &report.fallback {
        row(page, &[(home, ""), (&others.join(", "), "")]);
    }
    page.push_str("</table>\n");
}

fn regions(page: &mut String, report: &Report) {
    table(page, "Regions", &["region", "service", "state", "probed", "ordered", "since", "why"]);
    for (region, of) in &report.regions {
        for (service, place) in &of.services {
            row(
                page,
                &[
                    (region, ""),
                    (service, ""),
                    (place.state, place.state),
                    (place.probed.unwrap_or("not yet"), place.probed.unwrap_or_default()),
                    (&ordered(of.drained, place), ""),
                    (&place.since, ""),
                    (&place.reason, ""),
                ],
            );
        }
    }
    page.push_str("</table>\n");
}

fn ordered(drained: bool, place: &PlaceReport) -> String {
    let mut orders = Vec::new();
    if drained || place.state == "drained" {
        orders.push("drained".to_owned());
    }
    orders.extend(place.forced.map(|forced| format!("forced {forced}")));
    if place.held {
        orders.push("held".to_owned());
    }
    orders.join(", ")
}

fn probes(page: &mut String, report: &Report) {
    table(
        page,
        "Probes",
        &["probe", "region", "endpoint", "state", "in a row", "last run", "ms", "last error"],
    );
    for probe in &report.probes {
        let address = probe.address.map(|address| address.to_string()).unwrap_or_default();
        let took = probe.duration_ms.map(|ms| ms.to_string()).unwrap_or_default();
        row(
            page,
            &[
                (&probe.name, ""),
                (&probe.region, ""),
                (&address, ""),
                (probe.state, probe.state),
                (&probe.streak.to_string(), ""),
                (probe.last_run.as_deref().unwrap_or("not yet"), ""),
                (&took, ""),
                (probe.last_error.as_deref().unwrap_or_default(), ""),
            ],
        );
    }
    page.push_str("</table>\n");
}

fn table(page: &mut String, title: &str, columns: &[&str]) {
    push(page, format_args!("<h2>{}</h2>\n<table><tr>", Escaped(title)));
    for column in columns {
        push(page, format_args!("<th>{}</th>", Escaped(column)));
    }
    page.push_str("</tr>\n");
}

/// A row of texts, each with the class of its cell.
fn row(page: &mut String, cells: &[(&str, &str)]) {
    page.push_str("<tr>");
    for (text, class) in cells {
        push(page, format_args!("<td class=\"{}\">{}</td>", Escaped(class), Escaped(text)));
    }
    page.push_str("</tr>\n");
}

fn push(page: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    let _ = page.write_fmt(arguments);
}

/// A text as it may stand in HTML, in content and in quoted attributes.
struct Escaped<'t>(&'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}
