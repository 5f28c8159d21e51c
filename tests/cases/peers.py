#!/usr/bin/env python3
"""Asks other authoritative servers the cases that Waypost is asked, and prints the table of docs/conformance.md.

  peers.py [--keep DIR] [SERVER...]       SERVER: waypost nsd knot pdns gdnsd; default: all that are installed

Each server runs on a loopback address of its own, with the same zones, NSID `probe`, cookies and client subnets on where
it has them, and is ended when its cases are done. Run by hand: it compares, it judges nobody. Needs dnspython >= 2.4 and,
on Debian, `apt-get install nsd knot pdns-server pdns-backend-bind gdnsd`. WAYPOST names Waypost's program
(target/debug/waypost).
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import dns.exception
import dns.message
import dns.query

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUNNER = os.path.join(HERE, "run_dns_cases.py")
FILES = ["ferret.json", "pdns_static.json", "knot_gdnsd_static.json", "protocol_probes.json"]
PORT = 5399
NOT_LOADED = "NOT LOADED"
VERDICTS = ["PASS", "TOLERATED", "FAIL", NOT_LOADED]
# Seconds until a server has to answer, and has to be gone.
STARTS, ENDS = 20, 10


def write_zones(folder, kind):
    files = [os.path.join(HERE, name) for name in FILES]
    subprocess.run([sys.executable, "-B", RUNNER, "--write-zones", folder, "--for", kind, "--port", str(PORT)] + files,
                   check=True, stdout=subprocess.DEVNULL)


def rewrite(path, address):
    """The runner's configurations listen on 127.0.0.1; here each server has an address of its own."""
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("127.0.0.1", address))


def nsd(folder, address):
    write_zones(folder, "nsd")
    rewrite(os.path.join(folder, "nsd.conf"), address)
    return ["nsd", "-d", "-c", os.path.join(folder, "nsd.conf")]


def knot(folder, address):
    write_zones(folder, "knot")
    rewrite(os.path.join(folder, "knot.conf"), address)
    return ["knotd", "-c", os.path.join(folder, "knot.conf")]


def pdns(folder, address):
    write_zones(folder, "pdns")
    rewrite(os.path.join(folder, "pdns.conf"), address)
    return ["pdns_server", "--config-dir=" + folder]


def gdnsd(folder, address):
    """gdnsd takes a file per zone, named like the zone, and starts only when it accepts them all: others are left out."""
    plain, zones = os.path.join(folder, "plain"), os.path.join(folder, "zones")
    write_zones(plain, "plain")
    os.mkdir(zones)
    with open(os.path.join(folder, "config"), "w") as file:
        file.write('options => {\n listen => "%s:%d"\n udp_threads => 1\n tcp_threads => 1\n nsid_ascii => "probe"\n'
                   ' edns_client_subnet => true\n min_ttl => 1\n run_dir => "%s/run"\n state_dir => "%s/state"\n}\n'
                   % (address, PORT, folder, folder))
    for name in sorted(os.listdir(plain)):
        with open(os.path.join(plain, name)) as file:
            # Every name ends in a dot, and its origin is the zone.
            text = file.read().replace("$ORIGIN .\n", "")
        path = os.path.join(zones, re.search(r"^(\S+)\. \d+ IN SOA", text, re.M).group(1))
        with open(path, "w") as file:
            file.write(text)
        check = subprocess.run([program("gdnsd"), "-c", folder, "checkconf"], capture_output=True)
        if check.returncode != 0:
            os.remove(path)
    return ["gdnsd", "-c", folder, "start"]


def waypost(folder, address):
    write_zones(os.path.join(folder, "zones"), "plain")
    shutil.copy(geo_file(), os.path.join(folder, "country.mmdb"))
    with open(os.path.join(folder, "waypost.toml"), "w") as file:
        file.write('version = 1\n[routing]\nfallback = ["here"]\n[geo]\ndatabase = "country.mmdb"\nunmapped = "here"\n'
                   '[dns]\nlisten = ["%s:%d"]\nzones = "zones"\nudp_workers = 1\nnsid = "probe"\n'
                   '[admin]\nlisten = "%s:%d"\n' % (address, PORT, address, PORT + 1))
    return [program("waypost"), "serve", "--config", os.path.join(folder, "waypost.toml")]


def geo_file():
    folder = os.path.join(ROOT, "geoip")
    return next(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".mmdb"))


STARTERS = {"waypost": (waypost, "waypost"), "nsd": (nsd, "nsd"), "knot": (knot, "knotd"),
            "pdns": (pdns, "pdns_server"), "gdnsd": (gdnsd, "gdnsd")}
VERSIONS = {"waypost": "--version", "nsd": "-v", "knot": "--version", "pdns": "--version", "gdnsd": "version"}


def program(name):
    if name == "waypost":
        path = os.environ.get("WAYPOST", os.path.join(ROOT, "target/debug/waypost"))
        return path if os.access(path, os.X_OK) else None
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def version(server):
    arguments = [program(STARTERS[server][1]), VERSIONS[server]]
    said = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    found = re.search(r"\d+\.\d+\.\d+", said)
    return found.group(0) if found else "?"


def answers(address):
    """Whether the zone of the protocol probes is served."""
    try:
        answer = dns.query.udp(dns.message.make_query("probe.test.", "SOA"), address, timeout=0.5, port=PORT)
        return answer.rcode() == 0
    except (OSError, dns.exception.DNSException):
        return False


def compare(server, number, folder):
    """Runs one server through all cases -> list of results, as the runner writes them"""
    address = "127.53.0.%d" % number
    prepare, name = STARTERS[server]
    os.makedirs(folder)
    command = prepare(folder, address)
    command[0] = program(name)
    with open(os.path.join(folder, "log"), "w") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
    try:
        until = time.monotonic() + STARTS
        while not answers(address):
            if child.poll() is not None or time.monotonic() > until:
                with open(os.path.join(folder, "log"), errors="replace") as log:
                    sys.exit("%s does not answer; its log ends:\n%s" % (server, log.read()[-2000:]))
            time.sleep(0.1)
        results = os.path.join(folder, "results.json")
        subprocess.run([sys.executable, "-B", RUNNER, "--server", address, "--port", str(PORT), "--quiet",
                        "--json", results] + [os.path.join(HERE, name) for name in FILES],
                       stdout=subprocess.DEVNULL)
        with open(results) as file:
            return marked(json.load(file), refused_zones(address))
    finally:
        child.terminate()
        try:
            child.wait(ENDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def marked(results, refused):
    """A case that fails because its zone was refused at load is not the same as a wrong answer."""
    zones = zone_of()
    for result in results:
        if result["verdict"] != "PASS" and zones[result["id"]] in refused:
            result["verdict"] = NOT_LOADED
    return results


def refused_zones(address):
    """Origins whose SOA the server does not have: it would not load them."""
    refused = []
    for name in FILES:
        with open(os.path.join(HERE, name)) as file:
            zones = json.load(file).get("zones", {})
        for origin in (zone["origin"] for zone in zones.values()):
            query = dns.message.make_query(origin, "SOA")
            answer, _ = dns.query.udp_with_fallback(query, address, timeout=2, port=PORT)
            if answer.rcode() != 0 or not answer.answer or answer.answer[0].name != query.question[0].name:
                refused.append(origin)
    return refused


def zone_of():
    """id of each case -> origin of its zone, where it has one"""
    zones = {}
    for name in FILES:
        with open(os.path.join(HERE, name)) as file:
            document = json.load(file)
        for case in document["cases"]:
            zone = document.get("zones", {}).get(case.get("zone"))
            zones[case["id"]] = zone["origin"] if zone else None
    return zones


def table(found):
    servers = list(found)
    print("PASS / TOLERATED / FAIL / zone not loaded\n")
    print("| file | cases | " + " | ".join("%s %s" % (s, version(s)) for s in servers) + " |")
    print("|---|---|" + "---|" * len(servers))
    for name in FILES + [None]:
        row = []
        for server in servers:
            count = collections.Counter(r["verdict"] for r in found[server] if name in (None, r["file"]))
            # A warning is a pass that lacks what an RFC only recommends.
            count["PASS"] += count["WARN"]
            row.append(" / ".join(str(count[verdict]) for verdict in VERDICTS))
            total = sum(count[verdict] for verdict in VERDICTS)
        print("| %s | %d | %s |" % ("`%s`" % name if name else "all", total, " | ".join(row)))


def by_kind(found):
    for server, results in found.items():
        print("\n%s" % server)
        for verdict in VERDICTS[1:]:
            kinds = collections.defaultdict(list)
            for result in results:
                if result["verdict"] == verdict:
                    kinds[result["kind"]].append(result["id"])
            for kind, ids in sorted(kinds.items()):
                print("  %s %s: %s" % (verdict, kind, " ".join(ids)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="DIR", help="leave configurations, logs and results.json of each server here")
    parser.add_argument("servers", nargs="*", choices=[*STARTERS, []], metavar="SERVER")
    arguments = parser.parse_args()
    servers = arguments.servers or [server for server in STARTERS if program(STARTERS[server][1])]
    missing = [server for server in servers if not program(STARTERS[server][1])]
    if missing:
        sys.exit("not here: %s" % " ".join(missing))
    folder = arguments.keep or tempfile.mkdtemp(prefix="waypost-peers.")
    try:
        found = {server: compare(server, number, os.path.join(folder, server))
                 for number, server in enumerate(servers, 1)}
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    table(found)
    by_kind(found)


if __name__ == "__main__":
    main()
