//! What the system's errors mean, and its limit of open files: the same on every Unix.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Whether this is the report of an ICMP error that an earlier answer caused, which says nothing about the call.
#[cfg(all(target_os = "linux", not(portable_only)))]
pub(super) fn is_stale(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH))
}

/// Whether the system does not know the address family.
pub(super) fn is_unsupported_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

/// Whether the process or the system is out of file descriptors.
pub(super) fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Raises the soft limit of open files to the hard one, and returns it; `None`: there is no limit.
pub(super) fn raise_open_files() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    }
    Ok(limit.maximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_open_files_becomes_the_hard_one() {
        let raised = raise_open_files().unwrap();
        assert!(raised.is_none_or(|limit| limit > 0));
        assert_eq!(getrlimit(Resource::Nofile).current, raised);
        assert_eq!(raise_open_files().unwrap(), raised);
    }
}
