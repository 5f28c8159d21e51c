//! The geo file, watched: a new one is compiled beside the one in use.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::{InUse, Operator};
use crate::config::{Config, Geo};
use crate::control::Now;
use crate::control::cookie_key::Access;
use crate::control::desk::Message;
use crate::control::geo_source::{self, GeoRefusal, LoadedGeo};
use crate::control::load::LoadOptions;
use crate::region::geo::GeoTable;

/// A geo file that is new and at rest, and what it is held against.
struct NewGeo {
    geo: Geo,
    config: Arc<Config>,
    in_use: Option<InUse>,
    now: Now,
}

impl Operator {
    /// Looks at the geo file; a new one is compiled beside the one in use, while everything else goes on.
    pub async fn look_at_geo(&self) {
        let Some(NewGeo { geo, config, in_use, now }) = self.new_geo_file().await else { return };
        let path = geo.database.display().to_string();
        let (held_against, compiled_for) = (in_use.clone(), Arc::clone(&config));
        let compiling = spawn_blocking(move || {
            let in_use = in_use.as_ref().map(|(table, info)| (table, info));
            let options = LoadOptions {
                generation: 0,
                now,
                in_use,
                accept_geo: false,
                stand_in: false,
                cookie_key: Access::Untouched,
            };
            geo_source::compile(&geo, &geo_source::rules(&config, &geo), options)
        });
        let LoadedGeo { table, info, warnings } = match compiling.await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(refusal)) => {
                if let GeoRefusal::Unreadable(_) = refusal {
                    // Perhaps in passing: it is looked at again.
                    self.inner.lock().await.geo_settled = None;
                }
                let text = format!("{path}: {refusal}; the table in use stays");
                return self.warn("geo_file", text, now).await;
            }
            Err(_) => {
                return self.warn("geo_file", format!("{path}: compiling it failed"), now).await;
            }
        };
        let mut inner = self.inner.lock().await;
        let same = |a: &InUse, b: &InUse| Arc::ptr_eq(&a.0, &b.0);
        let still = match (&inner.geo, &held_against) {
            (Some(a), Some(b)) => same(a, b),
            (None, None) => true,
            _ => false,
        };
        if !Arc::ptr_eq(&inner.config, &compiled_for) || !still {
            // A reload came between, and read the file itself.
            return;
        }
        inner.geo = Some((Arc::clone(&table), info.clone()));
        self.tell(Message::Geo { table: Arc::clone(&table), info, warnings }).await;
        self.keep_geo(&compiled_for, table).await;
    }

    /// A geo file that is not dealt with yet and has come to rest.
    async fn new_geo_file(&self) -> Option<NewGeo> {
        let mut inner = self.inner.lock().await;
        let config = Arc::clone(&inner.config);
        let geo = config.geo.clone().filter(|_| config.dns.is_some())?;
        let now = self.clock.now();
        let at = geo.clone();
        let state = spawn_blocking(move || geo_source::FileState::of(&at)).await.ok()?;
        let Some(state) = state else {
            if inner.geo_settled.take().is_some() {
                let text = format!("{} is gone; the table in use stays", geo.database.display());
                self.warn("geo_file", text, now).await;
            }
            return None;
        };
        let rested = inner.geo_seen.replace(state) == Some(state);
        if inner.geo_settled == Some(state) || !rested {
            return None;
        }
        inner.geo_settled = Some(state);
        let in_use = inner.geo.clone();
        Some(NewGeo { geo, config, in_use, now })
    }

    /// Keeps the compiled table in use for a start without a usable file.
    pub(super) async fn keep_geo(&self, config: &Config, table: Arc<GeoTable>) {
        let dir = config.state_dir.clone();
        let kept = spawn_blocking(move || geo_source::keep(&dir, &table)).await;
        let trouble = match kept {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                Some(format!("cannot keep the compiled geo table in {}: {error}", config.state_dir.display()))
            }
            Err(_) => Some("keeping the compiled geo table failed".to_owned()),
        };
        self.warn_while("geo_table", trouble.as_deref(), self.clock.now()).await;
    }

    /// Keeps the table that the start found.
    pub async fn keep_first_geo(&self) {
        let (config, geo) = {
            let inner = self.inner.lock().await;
            (Arc::clone(&inner.config), inner.geo.clone())
        };
        if let Some((table, _)) = geo.filter(|(_, info)| !info.stands_in) {
            self.keep_geo(&config, table).await;
        }
    }
}
