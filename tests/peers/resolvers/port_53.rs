//! The port that delegations lead to, which not everybody may use.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::process::Command;

use crate::harness::own_address;

/// Tells the test that it runs in a network of its own.
const INSIDE: &str = "WAYPOST_TEST_OWN_NETWORK";

/// Runs a test, named by its path, where port 53 of loopback is free for it: right here, or, where only root may have
/// it, once more in a network of its own, in which this user is root.
pub(super) fn where_port_53_is_ours(path: &str, test: impl FnOnce()) {
    match UdpSocket::bind((own_address(), 53)) {
        Ok(_) => test(),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => run_in_own_network(path),
        Err(error) => panic!("port 53 of a loopback address: {error}"),
    }
}

fn run_in_own_network(path: &str) {
    assert!(std::env::var_os(INSIDE).is_none(), "not even in a network of its own this user has port 53");
    let output = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([path, "--exact", "--nocapture"])
        .env(INSIDE, "yes")
        .output()
        .unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    println!("{said}");
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{path} needs port 53 of loopback addresses: run it as root, or `sysctl net.ipv4.ip_unprivileged_port_start=53`, or \
         allow `unshare --map-root-user --net` (it ended with {}; its output is above)",
        output.status
    );
}
