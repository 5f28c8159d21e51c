//! One server: whether it answers as the files of this node say that it should.

use domain::base::iana::Rtype;

use crate::cli::doctor::exchange::{Proto, Trouble};
use crate::cli::doctor::facts::{Asked, BADVERS, Facts, NOERROR, SERVFAIL, Server};
use crate::cli::doctor::finding::Findings;
use crate::cli::doctor::message::{Edns, Manner, Reply};

/// Largest UDP answer that every path carries in one piece (RFC 9715; the "DNS flag day 2020").
const SAFE_PAYLOAD: u16 = 1232;

pub(super) fn judge(server: &Server, facts: &Facts, findings: &mut Findings) {
    let judged = Judged { server, target: target(server), facts };
    judged.time(findings);
    for asked in &server.asked {
        match (asked.question.manner, asked.proto, &asked.got) {
            (_, _, Err(Trouble::NotAsked)) => {}
            (Manner::Plain, Proto::Udp, Err(trouble)) if asked.question.rtype == Rtype::SOA => {
                judged.udp_trouble(trouble, findings);
            }
            (Manner::Plain, Proto::Tcp, Err(trouble)) => judged.tcp_trouble(trouble, findings),
            (_, _, Err(trouble)) => judged.later_trouble(asked, trouble, findings),
            (Manner::Plain, _, Ok(reply)) if asked.question.rtype == Rtype::SOA => {
                judged.authority(asked, reply, findings);
            }
            (Manner::Plain, _, Ok(reply)) => judged.service(asked, reply, findings),
            (Manner::Recursive, _, Ok(reply)) => judged.recursion(reply, findings),
            (Manner::Subnet, _, Ok(reply)) => judged.subnet(asked, reply, findings),
            (Manner::Version1, _, Ok(reply)) => judged.version(reply, findings),
        }
    }
}

/// How a server is called: by its address, and its names.
pub(super) fn target(server: &Server) -> String {
    let node = server.is_node.then_some("this node");
    let known: Vec<&str> = node.into_iter().chain(server.names.iter().map(String::as_str)).collect();
    format!("{} ({})", server.addr, known.join(", "))
}

struct Judged<'j> {
    server: &'j Server,
    target: String,
    facts: &'j Facts,
}

impl Judged<'_> {
    fn is_node(&self) -> bool {
        self.server.is_node
    }

    /// What was not asked is nobody's fault.
    fn time(&self, findings: &mut Findings) {
        let left = self.server.asked.iter().filter(|asked| asked.got == Err(Trouble::NotAsked)).count();
        if left > 0 {
            let text = format!("{left} questions were not asked: the time that doctor takes was up");
            findings.warning("time", &*self.target, text, "ask for one zone: --zone NAME");
        }
    }

    /// Whether over that it has this trouble with everything.
    fn has_over(&self, proto: Proto, trouble: &Trouble) -> bool {
        let mut over = self.server.asked.iter().filter(|asked| asked.proto == proto);
        // Only what speaks, but no DNS, is another thing than not to answer.
        let broken = |trouble: &Trouble| *trouble == Trouble::Broken;
        over.all(|asked| asked.got.as_ref().is_err_and(|other| broken(other) == broken(trouble)))
    }

    fn serves_over_udp(&self) -> bool {
        let mut over_udp = self.server.asked.iter().filter(|asked| asked.proto == Proto::Udp);
        over_udp.any(|asked| asked.got.as_ref().is_ok_and(|reply| served(reply).is_some()))
    }

    fn udp_trouble(&self, trouble: &Trouble, findings: &mut Findings) {
        let port = self.server.addr.port();
        let over = if self.has_over(Proto::Tcp, trouble) { "UDP and TCP" } else { "UDP" };
        let text = format!("over {over} it {}", trouble.text());
        if *trouble == Trouble::Broken {
            let fix = format!(
                "another program answers there: find it with `ss -lnup 'sport = :{port}'` on that machine"
            );
            findings.error("udp", &*self.target, text, fix);
        } else if self.is_node() {
            let fix = "start it: `waypost serve`, or `systemctl start waypost`; when it runs, its log says \
                       whether it listens here";
            findings.error("udp", &*self.target, text, fix);
        } else if *trouble == Trouble::NoRoute {
            let fix = "run doctor on a machine that has a route there as well";
            findings.warning("udp", &*self.target, text, fix);
        } else {
            let fix = format!(
                "start Waypost there and let udp/{port} and tcp/{port} through its firewall; or take this \
                 address out of the zone and the parent's glue"
            );
            findings.error("udp", &*self.target, text, fix);
        }
    }

    fn tcp_trouble(&self, trouble: &Trouble, findings: &mut Findings) {
        // What fails for both is told once.
        if self.has_over(Proto::Udp, trouble) {
            return;
        }
        let port = self.server.addr.port();
        let text = format!("over TCP it {}", trouble.text());
        let fix = if self.is_node() {
            "start it; when it runs, look for a local firewall rule".to_owned()
        } else {
            format!(
                "let tcp/{port} through the firewall: resolvers need it for every answer that UDP cannot carry \
                 (RFC 7766)"
            )
        };
        findings.error("tcp", &*self.target, text, fix);
    }

    /// It answered over UDP, but not this.
    fn later_trouble(&self, asked: &Asked, trouble: &Trouble, findings: &mut Findings) {
        let what = match asked.question.manner {
            Manner::Plain => format!("{} {}", asked.question.name, asked.question.rtype),
            Manner::Recursive => "a query for a foreign name".to_owned(),
            Manner::Subnet => "a query with a client subnet".to_owned(),
            Manner::Version1 => "a query with EDNS version 1".to_owned(),
        };
        let fix = "every well-formed query gets an answer (RFC 8906): look for a firewall that drops DNS packets \
                   it does not know";
        findings.error(check_of(asked), &*self.target, format!("{what}: it {}", trouble.text()), fix);
    }

    fn authority(&self, asked: &Asked, reply: &Reply, findings: &mut Findings) {
        let (check, proto) = match asked.proto {
            Proto::Udp => ("udp", "UDP"),
            Proto::Tcp => ("tcp", "TCP"),
        };
        let zone = &asked.question.name;
        let Some(serial) = served(reply) else {
            // What it does not serve over UDP it does not serve over TCP, and is told once.
            if asked.proto == Proto::Tcp && !self.serves_over_udp() {
                return;
            }
            let flag = if reply.authoritative { "" } else { " without the flag aa" };
            let text = format!(
                "over {proto} it answers {}{flag} for {zone}: it does not serve it",
                reply.rcode_name()
            );
            let fix = if self.is_node() {
                "load the zone: `waypost reload` says what keeps it out".to_owned()
            } else {
                format!(
                    "put the zone file of {zone} there and `waypost reload`; or take this server out of the \
                     delegation (it is lame)"
                )
            };
            return findings.error(check, &*self.target, text, fix);
        };
        match asked.expected.serial() {
            // Told of all servers together.
            Some(wanted) if wanted != serial => {}
            _ => findings.ok(
                check,
                &*self.target,
                format!("answers for {zone} with authority over {proto}, serial {serial}"),
            ),
        }
    }

    fn recursion(&self, reply: &Reply, findings: &mut Findings) {
        let text = "it offers recursion: anybody can use it, also for attacks on others";
        if reply.recursion {
            let fix =
                "a name server of a zone is no resolver: switch recursion off there, or name another server";
            findings.error("recursion", &*self.target, text, fix);
        } else {
            findings.ok("recursion", &*self.target, "no recursion");
        }
    }

    fn subnet(&self, asked: &Asked, reply: &Reply, findings: &mut Findings) {
        let wanted = asked.expected.edns.as_ref().and_then(Edns::echoed_scope);
        match (reply.edns.as_ref(), reply.edns.as_ref().and_then(Edns::echoed_scope)) {
            (None, _) => {
                let fix = "look for a firewall or proxy that takes EDNS out of answers; resolvers behind it get \
                           the region of their own address";
                findings.error("subnet", &*self.target, "the answer has no EDNS", fix);
            }
            (Some(edns), None) => {
                let text = match edns.subnet {
                    None => "the client subnet is not answered",
                    Some(_) => "the client subnet comes back changed: resolvers throw such answers away",
                };
                let fix = "is it a Waypost, and of this version? Other software there does not answer by client \
                           subnet";
                findings.error("subnet", &*self.target, text, fix);
            }
            (Some(edns), Some(scope)) => {
                self.payload(edns, findings);
                self.scope(scope, wanted, findings);
            }
        }
    }

    fn scope(&self, scope: u8, wanted: Option<u8>, findings: &mut Findings) {
        match wanted {
            Some(wanted) if wanted != scope => {
                let text = format!(
                    "the client subnet is answered with scope {scope}; this node's files say {wanted}"
                );
                let fix = "regions, networks or geo database differ: give every node the same, and reload";
                findings.warning("subnet", &*self.target, text, fix);
            }
            _ if !self.facts.subnets_decide => {
                let text = "client subnets are echoed and, as dns.ecs says, not used";
                findings.ok("subnet", &*self.target, text);
            }
            _ => findings.ok("subnet", &*self.target, format!("client subnet echoed, scope {scope}")),
        }
    }

    fn payload(&self, edns: &Edns, findings: &mut Findings) {
        if edns.payload > SAFE_PAYLOAD {
            let text =
                format!("it sends UDP answers of up to {} bytes, which some networks lose", edns.payload);
            let fix = format!("set dns.max_udp_size to {SAFE_PAYLOAD}; longer answers then go over TCP");
            findings.warning("edns", &*self.target, text, fix);
        }
    }

    fn service(&self, asked: &Asked, reply: &Reply, findings: &mut Findings) {
        let what = format!("{} {}", asked.question.name, asked.question.rtype);
        if reply.rcode != asked.expected.rcode || !reply.authoritative {
            let flag = if reply.authoritative { "" } else { " without the flag aa" };
            let text = format!("{what} is answered {}{flag}", reply.rcode_name());
            let fix = match reply.rcode {
                SERVFAIL => "`waypost status` there: is no region able, and all_down = \"servfail\"?",
                _ => {
                    "`waypost explain` says what this node would answer; give that server the same configuration"
                }
            };
            return findings.error("service", &*self.target, text, fix);
        }
        match (reply.answers.len(), asked.expected.answers.len()) {
            (0, 0) => {
                findings.ok("service", &*self.target, format!("{what}: there is none, as the files say"));
            }
            (0, _) => {
                let fix = "give that server the same configuration, and reload";
                findings.error("service", &*self.target, format!("{what}: the answer is empty"), fix);
            }
            (count, _) => findings.ok("service", &*self.target, format!("{what}: {count} in the answer")),
        }
    }

    fn version(&self, reply: &Reply, findings: &mut Findings) {
        let version = reply.edns.as_ref().map(|edns| edns.version);
        if reply.rcode == BADVERS && version == Some(0) {
            findings.ok("edns", &*self.target, "EDNS 0, and BADVERS for what is newer");
        } else {
            let text = format!("EDNS version 1 is answered {}, not BADVERS", reply.rcode_name());
            let fix =
                "resolvers that learn a newer EDNS will stumble there (RFC 6891 6.1.3): update its software";
            findings.warning("edns", &*self.target, text, fix);
        }
    }
}

/// The zone's serial, in an answer with authority.
pub(super) fn served(reply: &Reply) -> Option<u32> {
    reply.serial().filter(|_| reply.rcode == NOERROR && reply.authoritative)
}

fn check_of(asked: &Asked) -> &'static str {
    match asked.question.manner {
        Manner::Plain if asked.question.rtype == Rtype::SOA => "udp",
        Manner::Plain => "service",
        Manner::Recursive => "recursion",
        Manner::Subnet => "subnet",
        Manner::Version1 => "edns",
    }
}
