//! A day of a server's life under a moved clock: what happened, what was served, what was written down.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use waypost::config::admin::{AdminFile, Entry, Forced, Glob};
use waypost::control::Now;
use waypost::control::inputs::Orders;
use waypost::control::journal::{Homes, Line, Served, homes};
use waypost::control::model::{Event, Load, Model, Outcome, Remembered};
use waypost::control::plan::Plan;
use waypost::control::publish::Press;
use waypost::control::saved::Saved;
use waypost::dns::Worker;
use waypost::health::{Damping, Evidence, Verdict};
use waypost::region::AllDown;

use crate::world::{
    self, Dice, MORNING_MS, REGIONS, ServiceSpec, Wire, ZONE, after_ms, ask, client, parts, plan, rules,
};

/// Something that happens, in names, so that it means the same to every model.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Probed {
        check: (String, String, Option<IpAddr>),
        verdict: Verdict,
    },
    Ordered(Orders),
    Released(&'static str),
    Loaded(Plan),
    Geo {
        turn: usize,
    },
    Restarted,
    /// The journal has become long, say.
    Checkpoint,
    Tick,
}

/// What happens in a day, each with its moment.
pub(crate) type Script = Vec<(Now, Happening)>;

pub(crate) fn damping() -> Damping {
    Damping {
        fall: 3,
        rise: 2,
        cooldown: Duration::from_secs(60),
        grace: Duration::from_secs(20),
        interval: Duration::from_secs(5),
        fast_interval: Duration::from_secs(1),
    }
}

pub(crate) fn load(plan: Plan, orders: &Orders) -> Load {
    let orders = orders.to_file(&plan);
    Load { damping: vec![damping(); plan.checks.len()], plan, orders }
}

/// One model with everything around it, driven by a script.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) model: Model,
    press: Press,
    turn: usize,
    /// What operators ordered last, in names: also what a plan without the region leaves out.
    orders: Orders,
    /// Drained as well, whatever is ordered: for comparisons.
    extra_drain: Option<&'static str>,
    /// Instead of every plan that is loaded.
    instead: Option<Plan>,
    worker: Worker,
}

impl Server {
    pub(crate) fn start(
        first: Plan,
        extra_drain: Option<&'static str>,
        instead: Option<Plan>,
        now: Now,
    ) -> Self {
        let first = instead.clone().unwrap_or(first);
        let orders = with_drain(&Orders::default(), extra_drain);
        let model = Model::new(load(first, &orders), &Remembered::default(), now);
        let dns = parts(model.plan(), &rules(model.plan(), 0), true);
        let press = Press::new(Some(dns), &model, true, now);
        let orders = Orders::default();
        Self { model, press, turn: 0, orders, extra_drain, instead, worker: Worker::new() }
    }

    /// Lets something happen; returns the journal's line for it, if it has one.
    pub(crate) fn live(&mut self, now: Now, happening: &Happening) -> Option<Line> {
        let (cause, event) = match happening {
            Happening::Probed { check, verdict } => {
                let known = |known: &waypost::control::plan::Check| {
                    let region = self.model.plan().region_name(known.region);
                    (known.probe.as_str(), region, known.address) == (&*check.0, &*check.1, check.2)
                };
                let position = self.model.plan().checks.iter().position(known)? as u32;
                ("probe", Event::Observed { check: position, verdict: *verdict })
            }
            Happening::Ordered(orders) => {
                self.orders = orders.clone();
                ("order", Event::Orders(self.orders().to_file(self.model.plan())))
            }
            Happening::Released(region) => ("release", Event::Release(self.model.plan().region(region)?)),
            Happening::Tick => ("time", Event::Tick),
            Happening::Loaded(plan) => {
                let plan = self.instead.clone().unwrap_or_else(|| plan.clone());
                return Some(self.load(now, plan));
            }
            Happening::Geo { turn } => {
                self.turn = *turn;
                self.set_parts();
                let outcome = Outcome { serial: self.model.serial(), ..Outcome::default() };
                return Some(Line::new(&self.model, &outcome, "geo", "another geo file".into()));
            }
            Happening::Checkpoint => {
                return Some(Line::whole(&self.model, "checkpoint", "everything as it stands".into()));
            }
            Happening::Restarted => return Some(self.restart(now)),
        };
        let outcome = self.model.apply(now, event);
        self.publish(now, &outcome, cause)
    }

    fn load(&mut self, now: Now, plan: Plan) -> Line {
        let load = load(plan, &self.orders());
        let outcome = self.model.apply(now, Event::Load(Box::new(load)));
        self.set_parts();
        self.press.reload(&self.model, true, now);
        self.publish(now, &outcome, "load").expect("a load is always told")
    }

    /// Ends and starts again, with what it saved.
    fn restart(&mut self, now: Now) -> Line {
        let saved = serde_json::to_string(&Saved::of(&self.model, now.wall_ms)).unwrap();
        let saved: Saved = serde_json::from_str(&saved).unwrap();
        let plan = (**self.model.plan()).clone();
        let remembered = saved.remembered(&plan, now.wall_ms);
        self.model = Model::new(load(plan, &self.orders()), &remembered, now);
        let dns = parts(self.model.plan(), &rules(self.model.plan(), self.turn), true);
        self.press = Press::new(Some(dns), &self.model, true, now);
        Line::whole(&self.model, "start", "started again".into())
    }

    fn orders(&self) -> Orders {
        with_drain(&self.orders, self.extra_drain)
    }

    fn set_parts(&mut self) {
        let plan = self.model.plan();
        self.press.set_parts(Some(parts(plan, &rules(plan, self.turn), true)));
    }

    fn publish(&mut self, now: Now, outcome: &Outcome, cause: &str) -> Option<Line> {
        if outcome.is_empty() {
            return None;
        }
        self.press.update(&self.model, outcome.touched.iter().map(|(service, _)| *service), now);
        Some(Line::new(&self.model, outcome, cause, "something happened".into()))
    }

    /// What every home of every service gets now, out of the model.
    pub(crate) fn decided(&self) -> BTreeMap<String, Homes> {
        let plan = self.model.plan();
        let services = (0..).zip(plan.services.iter().zip(self.model.states()));
        services.map(|(index, (service, state))| (service.name.clone(), homes(plan, index, state))).collect()
    }

    /// What users of every home of every service are served at `now`, off the wire: region and reason by the counters
    /// that the answer added to, addresses and TTL by its bytes.
    pub(crate) fn served(&mut self, now: Now) -> BTreeMap<(String, String), OnWire> {
        let view = self.press.snapshot(self.model.serial()).view.unwrap();
        let mut served = BTreeMap::new();
        let plan = std::sync::Arc::clone(self.model.plan());
        for service in &plan.services {
            for place in 0..REGIONS.len() {
                let home = REGIONS[(place + self.turn) % REGIONS.len()];
                let before = self.counted(&service.name, home);
                let answers = [(1, true), (28, false)].map(|(rtype, v4)| {
                    ask(&view, &mut self.worker, now.mono, (&service.name, rtype), client(place, v4), None)
                });
                let after = self.counted(&service.name, home);
                let counted = after.into_iter().filter(|counted| !before.contains(counted)).collect();
                served.insert((service.name.clone(), home.to_owned()), OnWire::new(&answers, counted));
            }
        }
        served
    }

    /// How often which decision was counted for the users of a home, where it was.
    fn counted(&self, service: &str, home: &str) -> Vec<(String, u64)> {
        let counters = self.worker.shared();
        let labels =
            self.press.slots().labels().filter(|label| (label.service, label.home) == (service, home));
        let counted =
            labels.map(|label| (label, counters.decisions(label.slot))).filter(|(_, count)| *count > 0);
        counted.map(|(label, count)| (format!("{} {}", label.answer, label.reason), count)).collect()
    }
}

fn with_drain(orders: &Orders, region: Option<&'static str>) -> Orders {
    use waypost::control::inputs::{Order, Ordered};
    let drain = region.map(|region| Order {
        region: region.to_owned(),
        what: Ordered::Drain,
        service: None,
        from_ms: None,
        until_ms: None,
        reason: "compared".into(),
    });
    Orders { entries: orders.entries.iter().cloned().chain(drain).collect() }
}

/// What users of one home are served, off the wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OnWire {
    /// `region reason`.
    decision: String,
    addresses: Vec<IpAddr>,
    cname: Option<String>,
    ttl: Option<u32>,
}

impl OnWire {
    fn new(answers: &[Wire], mut counted: Vec<(String, u64)>) -> Self {
        assert!(counted.len() == 1, "A and AAAA are one decision, of one home: {counted:?}");
        let records = || answers.iter().flat_map(|answer| &answer.answers);
        let mut cnames: Vec<String> = answers
            .iter()
            .filter_map(|wire| {
                let (_, data, _) = wire
                    .answers
                    .first()
                    .filter(|(rtype, ..)| *rtype == hickory_proto::rr::RecordType::CNAME)?;
                Some(data.trim_end_matches('.').to_owned())
            })
            .collect();
        cnames.dedup();
        assert!(cnames.len() <= 1, "both types get the same alias");
        let mut ttls: Vec<u32> = records().map(|(_, _, ttl)| *ttl).collect();
        ttls.dedup();
        assert!(ttls.len() <= 1, "one TTL for everything: {ttls:?}");
        Self {
            decision: counted.remove(0).0,
            addresses: answers.iter().flat_map(Wire::addresses).collect(),
            cname: cnames.pop(),
            ttl: ttls.pop(),
        }
    }

    /// What the journal's words come to on the wire at a moment.
    pub(crate) fn of_record(recorded: &Served, min_s: u32, wall_ms: i64) -> Self {
        let left_s = |until_ms: i64| u32::try_from((until_ms - wall_ms).max(0) / 1000).unwrap();
        let ttl =
            recorded.until_ms.map_or(recorded.ttl_s, |until| left_s(until).clamp(min_s, recorded.ttl_s));
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) =
            recorded.addresses.iter().partition(|address| address.is_ipv4());
        let silent = recorded.addresses.is_empty() && recorded.cname.is_none();
        Self {
            decision: format!("{} {}", recorded.answer, recorded.reason),
            addresses: v4.into_iter().chain(v6).collect(),
            cname: recorded.cname.clone(),
            ttl: (!silent).then_some(ttl),
        }
    }
}

/// Makes up a day.
#[derive(Debug)]
pub(crate) struct Author {
    dice: Dice,
    now: Now,
    /// How each check is at present.
    weather: BTreeMap<(String, String, Option<IpAddr>), Verdict>,
    plan: Plan,
    orders: Orders,
    reloads: bool,
}

impl Author {
    pub(crate) fn new(seed: u64, reloads: bool) -> Self {
        Self {
            dice: Dice(seed),
            now: after_ms(0),
            weather: BTreeMap::new(),
            plan: first_plan(),
            orders: Orders::default(),
            reloads,
        }
    }

    /// The next thing that happens, or several that happen together.
    pub(crate) fn next(&mut self) -> Script {
        self.pass(2_000 + self.dice.clone().roll() % 28_000);
        match self.dice.below(100) {
            0..54 => self.probe_round(),
            54..62 => self.change_weather(),
            62..80 => vec![(self.now, self.order())],
            80..84 => vec![(self.now, Happening::Released(REGIONS[self.dice.below(3)]))],
            84..87 if self.reloads => vec![(self.now, self.reload())],
            // As the server has it: what is due by then comes first.
            87..90 => {
                vec![(self.now, Happening::Tick), (self.now, Happening::Geo { turn: self.dice.below(3) })]
            }
            90..93 => vec![(self.now, self.set_clock())],
            94 => vec![(self.now, Happening::Tick), (self.now, Happening::Checkpoint)],
            93 if self.reloads => vec![(self.now, Happening::Restarted)],
            _ => {
                self.pass(self.dice.clone().roll() % 1_200_000);
                vec![(self.now, Happening::Tick)]
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        self.dice.roll();
        self.now.mono.0 += ms;
        self.now.wall_ms += ms as i64;
    }

    /// The wall clock alone, by seconds or hours, to either side.
    fn set_clock(&mut self) -> Happening {
        let by_s = *self.dice.pick(&[-7_200, -900, -60, -2, 3, 61, 1_000, 7_200]);
        self.now.wall_ms += by_s * 1_000;
        Happening::Tick
    }

    fn keys(&self) -> Vec<(String, String, Option<IpAddr>)> {
        let key = |check: &waypost::control::plan::Check| {
            (check.probe.clone(), self.plan.region_name(check.region).to_owned(), check.address)
        };
        self.plan.checks.iter().map(key).collect()
    }

    /// Every check of one region runs, or of all.
    fn probe_round(&mut self) -> Script {
        let region = self.dice.pick(&["cn", "eu", "us", "", "", ""]).to_owned();
        let keys = self.keys().into_iter().filter(|key| region.is_empty() || key.1 == region);
        let mut script = Script::new();
        for check in keys.collect::<Vec<_>>() {
            self.now.mono.0 += 1;
            self.now.wall_ms += 1;
            let mut verdict = self.weather.get(&check).copied().unwrap_or(Verdict::Ok);
            if self.dice.below(300) == 0 {
                verdict = *self.dice.pick(&[Verdict::Unknown, Verdict::Degraded, Verdict::Ok]);
            }
            script.push((self.now, Happening::Probed { check, verdict }));
        }
        script
    }

    /// A probe goes good or bad: in one region, or in all at once.
    fn change_weather(&mut self) -> Script {
        let (plain, explicit) = (Verdict::Failed(Evidence::Plain), Verdict::Failed(Evidence::Explicit));
        let good = Verdict::Ok;
        let verdict =
            *self.dice.pick(&[good, good, good, plain, explicit, Verdict::Degraded, Verdict::Transitional]);
        let region = self.dice.pick(&["cn", "eu", "us", "", ""]).to_owned();
        let probe = self.dice.pick(&["web", "slow", "db", "all"]).to_owned();
        let concerned = |key: &(String, String, Option<IpAddr>)| {
            (region.is_empty() || key.1 == region) && (key.0 == probe || probe == "all")
        };
        let mut keys: Vec<_> = self.keys().into_iter().filter(concerned).collect();
        if self.dice.percent(60) {
            // One server or database alone.
            let only = self.dice.below(keys.len().max(1));
            keys = keys.into_iter().skip(only).take(1).collect();
        }
        self.weather.extend(keys.into_iter().map(|key| (key, verdict)));
        vec![(self.now, Happening::Tick)]
    }

    /// Operators write another file: one entry more, or fewer.
    fn order(&mut self) -> Happening {
        if self.orders.entries.len() > 3 || self.dice.percent(35) {
            let keep = self.dice.below(2);
            self.orders.entries.truncate(keep);
        } else {
            let entry = Entry {
                line: 1,
                region: self.plan.region(REGIONS[self.dice.below(3)]).unwrap(),
                service: match self.dice.below(4) {
                    0 => Some(Glob("*".into())),
                    1 => Some(Glob(format!("WWW.{ZONE}."))),
                    2 => Some(Glob(format!("?{ZONE}").replace('?', "*l*."))),
                    _ => None,
                },
                from_ms: self
                    .dice
                    .percent(50)
                    .then(|| self.now.wall_ms + self.dice.below(300_000) as i64 - 60_000),
                until_ms: self
                    .dice
                    .percent(60)
                    .then(|| self.now.wall_ms + self.dice.below(900_000) as i64 - 30_000),
                reason: "planned work".into(),
            };
            let mut file = self.orders.to_file(&self.plan);
            match self.dice.below(3) {
                0 => file.drains.push(entry),
                1 => file.forces.push((entry, Forced::Up)),
                _ => file.forces.push((entry, Forced::Down)),
            }
            self.orders = Orders::of(&AdminFile { warnings: Vec::new(), ..file }, &self.plan);
        }
        Happening::Ordered(self.orders.clone())
    }

    /// Services come, go and change; so do endpoints, the fallback order, and who waits for releases.
    fn reload(&mut self) -> Happening {
        let mut services: Vec<ServiceSpec> = world::services();
        services.retain(|service| service.name == "www" || !self.dice.percent(25));
        if self.dice.percent(50) {
            let renamed = ServiceSpec { name: "renamed", ..services[services.len() - 1].clone() };
            services.push(renamed);
        }
        for service in &mut services {
            for (_, count) in &mut service.regions {
                *count = 1 + (*count + self.dice.below(3) as u8) % 4;
            }
            if self.dice.percent(20) {
                service.all_down = *self.dice.pick(&[AllDown::Home, AllDown::All, AllDown::Servfail]);
            }
        }
        let order = self.dice.pick(&[["cn", "eu", "us"], ["us", "cn", "eu"], ["cn", "us", "eu"]]).to_owned();
        let manual = self.dice.pick(&[&[][..], &["eu"], &["cn", "us"]]).to_owned();
        self.plan = plan(&order, manual, &services);
        Happening::Loaded(self.plan.clone())
    }
}

/// The plan that every day begins with.
pub(crate) fn first_plan() -> Plan {
    plan(&REGIONS, &["eu"], &world::services())
}

/// At least so many changes, a thousand a day: the script with the ticks between, and the journal as it was written.
pub(crate) fn day(
    seed: u64,
    changes: usize,
    reloads: bool,
    mut look: impl FnMut(&mut Server, Now, Option<&Line>),
) -> (Script, String, Server) {
    let mut author = Author::new(seed, reloads);
    let start = after_ms(0);
    assert_eq!(start.wall_ms, MORNING_MS);
    let mut server = Server::start(first_plan(), None, None, start);
    let line = Line::whole(&server.model, "start", "started".into());
    let mut journal = serde_json::to_string(&line).unwrap() + "\n";
    look(&mut server, start, Some(&line));
    let (mut script, mut lines, mut last) = (Script::new(), 1, start);
    while lines <= changes || last.mono.0 < 86_400 * changes as u64 {
        let mut happenings = Vec::new();
        for (now, happening) in author.next() {
            // What is due by itself happens in between, as the server's timer has it.
            while let Some(due) =
                server.model.next_wake(last).filter(|due| *due < now.mono && *due > last.mono)
            {
                let passed = due.0 - last.mono.0;
                last = Now { mono: due, wall_ms: last.wall_ms + passed as i64 };
                happenings.push((last, Happening::Tick));
                let line = server.live(last, &Happening::Tick);
                look(&mut server, last, line.as_ref());
                if let Some(line) = line {
                    journal += &(serde_json::to_string(&line).unwrap() + "\n");
                    lines += 1;
                }
            }
            last = now;
            let line = server.live(now, &happening);
            happenings.push((now, happening));
            if let Some(line) = &line {
                journal += &(serde_json::to_string(line).unwrap() + "\n");
                lines += 1;
            }
            look(&mut server, now, line.as_ref());
        }
        script.append(&mut happenings);
    }
    (script, journal, server)
}
