//! `waypost reload`.

use super::args::Reload;
use super::client::Client;
use super::{Context, Failure, Said, orders};
use crate::serve::admin::ReloadBody;

pub(super) fn run(context: &Context, args: &Reload) -> Result<Said, Failure> {
    let body = ReloadBody { accept_geo: args.accept_geo, force: args.force };
    let answer = Client::new(context)?.post("/api/v1/reload", &body)?;
    orders::told(context, &answer)
}
