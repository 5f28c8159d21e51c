//! What the standard library lacks for UDP: batches of datagrams, and a few socket options. The only unsafe code.
//!
//! A [`Batch`] is memory for [`BATCH`] datagrams and their answers, made once. The kernel fills in peer and local
//! address (PKTINFO) of each datagram, and the answer's header points at the very same bytes, so an answer goes back
//! to who asked, from the address that was asked.

#![allow(unsafe_code)]

use std::alloc::{self, Layout};
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::slice;

use libc::{c_int, c_void, cmsghdr, iovec, mmsghdr, msghdr, sockaddr_in, sockaddr_in6, socklen_t};

use crate::control::Now;
use crate::dns::{Query, Transport};

use super::system::is_stale;

/// Datagrams taken by one receive call. Wider batches were measured to save nothing more.
pub(super) const BATCH: usize = 32;

/// Bytes of a datagram or an answer: the largest UDP answer that can be configured, and one cache line more. Without
/// the line the buffers would lie a page apart, and their first lines share one set of the processor's first cache.
pub(super) const BUFFER_BYTES: usize = 4096 + 64;

/// Bytes of control data a datagram: room for the larger PKTINFO, `CMSG_SPACE(sizeof(in6_pktinfo))` = 40.
const CONTROL_BYTES: usize = 64;

/// How to receive when nothing is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Wait for the first datagram, as long as the socket's receive timeout.
    One,
    /// Do not wait.
    None,
}

/// How answers left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// Answers that the kernel took.
    pub(super) taken: usize,
    /// Answers that it did not take, for the buffer was full or the way barred.
    pub(super) refused: usize,
}

/// One datagram, and where its answer goes.
#[derive(Debug)]
pub(super) struct Packet<'b> {
    bytes: &'b [u8],
    pub(super) peer: SocketAddr,
    /// Whether the datagram was longer than the buffer, so that its end is missing.
    pub(super) is_oversize: bool,
    /// Room for the answer.
    pub(super) out: &'b mut [u8],
}

impl<'b> Packet<'b> {
    /// The query, and where its answer goes.
    pub(super) fn into_query(self, now: Now) -> (Query<'b>, &'b mut [u8]) {
        let (peer, transport) = (self.peer.ip(), Transport::Udp);
        let query = Query { bytes: self.bytes, peer, transport, now: now.mono, wall_s: now.wall_s() };
        (query, self.out)
    }
}

/// Memory for a batch of datagrams and their answers; made once a worker, some 270 KiB.
#[derive(Debug)]
pub(super) struct Batch {
    /// Owned, from the global allocator. Reached only through this pointer, never through a reference to the whole:
    /// the headers point into the same memory.
    memory: NonNull<Memory>,
    /// Datagrams of the last receive; at most [`BATCH`].
    received: usize,
    /// Answers queued; at most `received`.
    queued: usize,
}

/// All zeroes is a valid value of each field: integers, and raw pointers.
#[repr(C)]
struct Memory {
    query_headers: [mmsghdr; BATCH],
    answer_headers: [mmsghdr; BATCH],
    query_slices: [iovec; BATCH],
    answer_slices: [iovec; BATCH],
    peers: [Peer; BATCH],
    controls: [Control; BATCH],
    queries: [[u8; BUFFER_BYTES]; BATCH],
    answers: [[u8; BUFFER_BYTES]; BATCH],
}

#[repr(C)]
#[derive(Clone, Copy)]
union Peer {
    family: libc::sa_family_t,
    v4: sockaddr_in,
    v6: sockaddr_in6,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Control {
    bytes: [u8; CONTROL_BYTES],
    align: cmsghdr,
}

impl Batch {
    pub(super) fn new() -> Self {
        let layout = Layout::new::<Memory>();
        // SAFETY: the layout's size is not zero.
        let zeroed = unsafe { alloc::alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(zeroed.cast::<Memory>()) else { alloc::handle_alloc_error(layout) };
        for index in 0..BATCH {
            // SAFETY: the memory is allocated, of the right layout, owned by nobody else, and all zeroes, which is a
            // valid `Memory`. No reference is made; the pointers stay good until `drop`, as the memory never moves.
            unsafe {
                let memory = memory.as_ptr();
                (*memory).query_slices[index] = slice_of(&raw mut (*memory).queries[index]);
                (*memory).answer_slices[index] = slice_of(&raw mut (*memory).answers[index]);
                let header = &raw mut (*memory).query_headers[index].msg_hdr;
                (*header).msg_name = (&raw mut (*memory).peers[index]).cast::<c_void>();
                (*header).msg_namelen = size_of::<Peer>() as socklen_t;
                (*header).msg_iov = &raw mut (*memory).query_slices[index];
                (*header).msg_iovlen = 1;
                (*header).msg_control = (&raw mut (*memory).controls[index]).cast::<c_void>();
                (*header).msg_controllen = CONTROL_BYTES as _;
            }
        }
        Self { memory, received: 0, queued: 0 }
    }

    /// Takes up to [`BATCH`] datagrams and returns how many; what was queued and not sent is forgotten.
    ///
    /// Errors: the system's; `WouldBlock` when there was nothing in time.
    pub(super) fn receive(&mut self, socket: &impl AsFd, wait: Wait) -> io::Result<usize> {
        let flags = match wait {
            Wait::One => libc::MSG_WAITFORONE,
            Wait::None => libc::MSG_DONTWAIT,
        };
        self.rearm();
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: the descriptor is open as long as `socket` is borrowed. The headers are `BATCH` many, and every
        // pointer in them names memory of the stated length inside `self.memory`, which nobody else holds: a
        // `Packet` borrows `self`.
        let count = unsafe {
            let headers = (&raw mut (*self.memory.as_ptr()).query_headers).cast::<mmsghdr>();
            libc::recvmmsg(fd, headers, BATCH as _, flags as _, ptr::null_mut())
        };
        self.received = usize::try_from(count).map_err(|_| io::Error::last_os_error())?.min(BATCH);
        Ok(self.received)
    }

    /// The datagram at `index`, with room for its answer; `None` when there is none, or when it came from port 0 or
    /// no Internet address, where nothing can be sent.
    pub(super) fn packet(&mut self, index: usize) -> Option<Packet<'_>> {
        if index >= self.received {
            return None;
        }
        // SAFETY: `index` is below `BATCH`. The kernel has written the header and the peer; all of the memory was
        // initialised before. Both slices lie inside buffers that nothing but the kernel, in calls that borrow
        // `self` mutably, writes through another pointer.
        unsafe {
            let memory = self.memory.as_ptr();
            let header = &raw const (*memory).query_headers[index];
            let len = ((*header).msg_len as usize).min(BUFFER_BYTES);
            let peer = answerable(&(*memory).peers[index])?;
            Some(Packet {
                bytes: slice::from_raw_parts((&raw const (*memory).queries[index]).cast::<u8>(), len),
                peer,
                is_oversize: (*header).msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                out: slice::from_raw_parts_mut(
                    (&raw mut (*memory).answers[index]).cast::<u8>(),
                    BUFFER_BYTES,
                ),
            })
        }
    }

    /// The address that the datagram at `index` was sent to, where the socket reports it ([`report_destination`]).
    pub(super) fn destination(&self, index: usize) -> Option<IpAddr> {
        if index >= self.received {
            return None;
        }
        // SAFETY: `index` is below `BATCH`. The kernel has written the header, whose control pointer names our own
        // aligned memory of at least that length, which nobody changes while `self` is borrowed.
        unsafe { destination(&raw const (*self.memory.as_ptr()).query_headers[index].msg_hdr) }
    }

    /// Queues the first `len` bytes of the answer to the datagram at `index`; zero: none. Each at most once a batch.
    pub(super) fn queue(&mut self, index: usize, len: usize) {
        if len == 0 || index >= self.received || self.queued >= self.received {
            return;
        }
        // SAFETY: `index` and `queued` are below `BATCH`. The answer's header borrows name and control data of the
        // query's, with the lengths that the kernel wrote, and its own slice of at most the buffer's length.
        unsafe {
            let memory = self.memory.as_ptr();
            (*memory).answer_slices[index].iov_len = len.min(BUFFER_BYTES);
            let query = &raw mut (*memory).query_headers[index].msg_hdr;
            release_interface(query);
            let answer = &raw mut (*memory).answer_headers[self.queued].msg_hdr;
            (*answer).msg_name = (*query).msg_name;
            (*answer).msg_namelen = (*query).msg_namelen;
            (*answer).msg_iov = &raw mut (*memory).answer_slices[index];
            (*answer).msg_iovlen = 1;
            (*answer).msg_controllen = (*query).msg_controllen;
            (*answer).msg_control =
                if (*query).msg_controllen == 0 { ptr::null_mut() } else { (*query).msg_control };
        }
        self.queued += 1;
    }

    /// Sends what is queued. An answer that the kernel does not take is given up: over UDP the client asks again, and
    /// waiting for one client would make all others wait.
    pub(super) fn send(&mut self, socket: &impl AsFd) -> Sent {
        let fd = socket.as_fd().as_raw_fd();
        let queued = mem::take(&mut self.queued);
        let mut sent = Sent::default();
        let mut stale_errors_left = BATCH;
        while sent.taken + sent.refused < queued {
            let first = sent.taken + sent.refused;
            // SAFETY: the descriptor is open as long as `socket` is borrowed. `first + (queued - first)` is at most
            // `BATCH`, and `queue` has filled in every header below `queued` since the last receive.
            let count = unsafe {
                let headers = (&raw mut (*self.memory.as_ptr()).answer_headers).cast::<mmsghdr>();
                libc::sendmmsg(fd, headers.add(first), (queued - first) as _, libc::MSG_DONTWAIT as _)
            };
            if let Ok(count) = usize::try_from(count) {
                sent.taken += count;
                continue;
            }
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if is_stale(&error) && stale_errors_left > 0 {
                // Told in place of sending this answer, which is tried again.
                stale_errors_left -= 1;
                continue;
            }
            sent.refused += 1;
        }
        sent
    }

    /// Puts back the lengths that the kernel has overwritten.
    fn rearm(&mut self) {
        for index in 0..mem::take(&mut self.received) {
            // SAFETY: `index` is below `BATCH`; plain writes to fields of memory we own.
            unsafe {
                let header = &raw mut (*self.memory.as_ptr()).query_headers[index].msg_hdr;
                (*header).msg_namelen = size_of::<Peer>() as socklen_t;
                (*header).msg_controllen = CONTROL_BYTES as _;
            }
        }
        self.queued = 0;
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout and freed nowhere else; nothing in it needs dropping.
        unsafe { alloc::dealloc(self.memory.as_ptr().cast::<u8>(), Layout::new::<Memory>()) };
    }
}

/// Sends answers whole, or in fragments of the interface's MTU: whatever path MTU an ICMP message claims, as
/// anybody can forge one.
pub(super) fn ignore_path_mtu(socket: &impl AsFd, addr: SocketAddr) -> io::Result<()> {
    match addr {
        SocketAddr::V4(_) => {
            set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_OMIT)
        }
        SocketAddr::V6(_) => {
            set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_OMIT)
        }
    }
}

/// Asks for the address that each datagram was sent to; for sockets bound to the wildcard address.
pub(super) fn report_destination(socket: &impl AsFd, addr: SocketAddr) -> io::Result<()> {
    match addr {
        SocketAddr::V4(_) => set_option(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
        SocketAddr::V6(_) => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1),
    }
}

fn set_option(socket: &impl AsFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let len = size_of::<c_int>() as socklen_t;
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the pointer names a live `c_int`, whose size is
    // what `len` says.
    let result = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast::<c_void>(), len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn slice_of(buffer: *mut [u8; BUFFER_BYTES]) -> iovec {
    iovec { iov_base: buffer.cast::<c_void>(), iov_len: BUFFER_BYTES }
}

/// The peer's address, when something can be sent there.
fn answerable(peer: &Peer) -> Option<SocketAddr> {
    // SAFETY: the memory was all zeroes or written by the kernel, and every bit pattern is valid for all three
    // fields. `family` lies at the beginning of both addresses.
    let (ip, port) = unsafe {
        match c_int::from(peer.family) {
            libc::AF_INET => (IpAddr::from(peer.v4.sin_addr.s_addr.to_ne_bytes()), peer.v4.sin_port),
            libc::AF_INET6 => (IpAddr::from(peer.v6.sin6_addr.s6_addr), peer.v6.sin6_port),
            _ => return None,
        }
    };
    (port != 0).then(|| SocketAddr::new(ip, u16::from_be(port)))
}

/// The local address in the PKTINFO control data, if there is any: the one that the answer leaves from.
///
/// # Safety
///
/// As for [`release_interface`], but that others may read.
unsafe fn destination(header: *const msghdr) -> Option<IpAddr> {
    // SAFETY: as in `release_interface`.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(header);
        if first.is_null() {
            return None;
        }
        let data = libc::CMSG_DATA(first);
        let holds = |size: usize| (*first).cmsg_len as usize >= libc::CMSG_LEN(size as _) as usize;
        match ((*first).cmsg_level, (*first).cmsg_type) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) if holds(size_of::<libc::in_pktinfo>()) => {
                let info = data.cast::<libc::in_pktinfo>();
                let addr = (&raw const (*info).ipi_spec_dst.s_addr).read_unaligned();
                Some(addr.to_ne_bytes().into())
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if holds(size_of::<libc::in6_pktinfo>()) => {
                let info = data.cast::<libc::in6_pktinfo>();
                Some((&raw const (*info).ipi6_addr.s6_addr).read_unaligned().into())
            }
            _ => None,
        }
    }
}

/// Takes the interface out of the PKTINFO control data, if there is any: answers leave by the routing table, not
/// necessarily by where the query came in. But a link-local address means nothing without its interface.
///
/// # Safety
///
/// `header` is a message header as `recvmmsg` left it, whose control pointer, if its length is not zero, names
/// memory of that length, aligned for `cmsghdr`, which nobody else accesses.
unsafe fn release_interface(header: *mut msghdr) {
    // SAFETY: as the caller promises. `CMSG_FIRSTHDR` checks that a whole header lies inside the control data, the
    // comparison of `cmsg_len` that the data does. The reads and writes do not assume alignment of the data.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(header);
        if first.is_null() {
            return;
        }
        let data = libc::CMSG_DATA(first);
        let holds = |size: usize| (*first).cmsg_len as usize >= libc::CMSG_LEN(size as _) as usize;
        match ((*first).cmsg_level, (*first).cmsg_type) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) if holds(size_of::<libc::in_pktinfo>()) => {
                let info = data.cast::<libc::in_pktinfo>();
                (&raw mut (*info).ipi_ifindex).write_unaligned(0);
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if holds(size_of::<libc::in6_pktinfo>()) => {
                let info = data.cast::<libc::in6_pktinfo>();
                let addr = (&raw const (*info).ipi6_addr.s6_addr).read_unaligned();
                if !Ipv6Addr::from(addr).is_unicast_link_local() {
                    (&raw mut (*info).ipi6_ifindex).write_unaligned(0);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer_v4(port: u16) -> Peer {
        let mut peer = Peer { v6: sockaddr_in6 { ..zeroed() } };
        peer.v4 = sockaddr_in {
            sin_family: libc::AF_INET as _,
            sin_port: port.to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([192, 0, 2, 7]) },
            sin_zero: [0; 8],
        };
        peer
    }

    fn zeroed() -> sockaddr_in6 {
        // SAFETY: all zeroes is a valid socket address.
        unsafe { mem::zeroed() }
    }

    /// Control data as the kernel writes it for an IPv6 datagram to `addr` on interface 7.
    fn v6_control(addr: Ipv6Addr) -> Control {
        let mut control = Control { bytes: [0; CONTROL_BYTES] };
        // SAFETY: the control data is aligned for `cmsghdr` and longer than CMSG_SPACE of what is written.
        unsafe {
            let first = (&raw mut control).cast::<cmsghdr>();
            (*first).cmsg_level = libc::IPPROTO_IPV6;
            (*first).cmsg_type = libc::IPV6_PKTINFO;
            (*first).cmsg_len = libc::CMSG_LEN(size_of::<libc::in6_pktinfo>() as _) as _;
            let info = libc::CMSG_DATA(first).cast::<libc::in6_pktinfo>();
            let value =
                libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: addr.octets() }, ipi6_ifindex: 7 };
            info.write_unaligned(value);
        }
        control
    }

    fn interface_after_release(addr: &str) -> u32 {
        let mut control = v6_control(addr.parse().unwrap());
        // SAFETY: all zeroes is a valid message header; the control pointer names live, aligned memory.
        unsafe {
            let mut header: msghdr = mem::zeroed();
            header.msg_control = (&raw mut control).cast::<c_void>();
            header.msg_controllen = CONTROL_BYTES as _;
            release_interface(&raw mut header);
            let info = libc::CMSG_DATA((&raw const control).cast::<cmsghdr>()).cast::<libc::in6_pktinfo>();
            (&raw const (*info).ipi6_ifindex).read_unaligned()
        }
    }

    #[test]
    fn a_datagram_from_port_zero_cannot_be_answered() {
        assert_eq!(answerable(&peer_v4(0)), None);
        assert_eq!(answerable(&peer_v4(53)), Some(SocketAddr::from(([192, 0, 2, 7], 53))));
    }

    #[test]
    fn a_datagram_from_no_internet_address_cannot_be_answered() {
        assert_eq!(answerable(&Peer { v6: zeroed() }), None);
    }

    #[test]
    fn an_answer_leaves_by_any_interface_unless_its_address_is_link_local() {
        assert_eq!(interface_after_release("2001:db8::53"), 0);
        assert_eq!(interface_after_release("::1"), 0);
        assert_eq!(interface_after_release("fe80::53"), 7);
    }

    #[test]
    fn an_empty_batch_has_no_packets_and_queues_nothing() {
        let mut batch = Batch::new();
        assert!(batch.packet(0).is_none());
        assert!(batch.packet(BATCH).is_none());
        batch.queue(0, 12);
        assert_eq!(batch.queued, 0);
    }
}
