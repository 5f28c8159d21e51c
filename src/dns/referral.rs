//! Referrals: the NS records of a zone cut, with glue (RFC 1034 4.3.2 step 3b, RFC 9471).

use super::names::Names;
use super::reply::{Full, Reply, Section};
use super::zone::Cut;

/// Writes the referral of the newest name to the cut that it ends in.
///
/// Glue at or below the cut that does not fit sets TC, for without it the servers may not be found (RFC 9471 3.1); then
/// none is left, so that no RRset is half there. Other glue is left out in silence.
pub(super) fn write(reply: &mut Reply<'_>, cut: &Cut, names: &Names) -> Result<(), Full> {
    let start = reply.len();
    reply.put_template(Section::Authority, &cut.ns, start, names)?;
    match reply.put_template(Section::Additional, &cut.glue, start, names) {
        Ok(()) => _ = reply.put_template(Section::Additional, &cut.sibling_glue, start, names),
        Err(Full) => reply.mark_truncated(),
    }
    Ok(())
}
