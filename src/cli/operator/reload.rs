//! Everything read again, and put in force as a whole or not at all.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::super::probing::specs;
use super::{Inner, Operator, cookie_secrets, geo_in_use, invalid, lost, stopping};
use crate::config::Config;
use crate::config::admin::AdminFile;
use crate::control::cookie_key::Access;
use crate::control::desk::Message;
use crate::control::load::{LoadOptions, Loaded, load, parse_orders};
use crate::control::operate::{Done, Refusal, RefusalKind, too_many_removed};

impl Operator {
    /// Reads everything again; nothing changes when anything is wrong.
    pub async fn reload(&self, accept_geo: bool, force: bool, by: &str) -> Result<Done, Refusal> {
        let _one = self.reloading.lock().await;
        let result = self.try_reload(accept_geo, force, by).await;
        match &result {
            Ok(_) => self.tell(Message::Unwarn("reload")).await,
            Err(refusal) => {
                tracing::error!("reload refused, the old state keeps answering: {}", refusal.text);
                self.tell(Message::ReloadFailed).await;
                let text = format!("the last reload was refused: {}", first_line(&refusal.text));
                self.warn("reload", text, self.clock.now()).await;
            }
        }
        result
    }

    /// Loads beside what is in force, while orders go on; then puts it in force.
    async fn try_reload(&self, accept_geo: bool, force: bool, by: &str) -> Result<Done, Refusal> {
        let now = self.clock.now();
        let path = self.config_path.clone();
        let (generation, in_use, secrets) = {
            let inner = self.inner.lock().await;
            (inner.generation + 1, inner.geo.clone(), inner.cookie_secrets)
        };
        let loading = spawn_blocking(move || {
            let in_use = in_use.as_ref().map(|(table, info)| (table, info));
            load(
                &path,
                LoadOptions {
                    generation,
                    now,
                    in_use,
                    accept_geo,
                    stand_in: false,
                    cookie_key: Access::Kept(secrets),
                },
            )
        });
        let loaded = loading.await.map_err(lost)?.map_err(invalid)?;
        let mut inner = self.inner.lock().await;
        needs_restart(&inner.config, &loaded.config)?;
        if !force {
            too_many_removed(&inner.config, &loaded.config)?;
        }
        let accepted = inner.admin.accepted();
        let orders = match accepted.is_empty() {
            true => AdminFile::default(),
            false => {
                parse_orders(accepted, inner.admin.path(), &loaded.config, now.wall_ms).map_err(invalid)?
            }
        };
        self.put_in_force(&mut inner, loaded, orders, by).await
    }

    async fn put_in_force(
        &self,
        inner: &mut Inner,
        loaded: Loaded,
        orders: AdminFile,
        by: &str,
    ) -> Result<Done, Refusal> {
        let warnings = loaded.warnings.iter().map(|warning| warning.text.clone()).collect();
        inner.config = Arc::clone(&loaded.config);
        inner.generation = loaded.generation;
        inner.geo = geo_in_use(&loaded);
        inner.cookie_secrets = cookie_secrets(&loaded);
        inner.geo_settled = inner.geo.as_ref().and_then(|(_, info)| info.file);
        // A file that was refused may be valid under this configuration.
        inner.admin.look_again();
        let specs = specs(&loaded.config, &loaded.plan);
        self.probing.stop().await;
        let generation = loaded.generation;
        let text = format!("configuration {generation} is in force");
        let loaded = Box::new(loaded);
        let serial =
            self.handle.ask(|done| Message::Load { loaded, orders, done }).await.map_err(stopping)?;
        self.start_checks(generation, specs);
        if let Some((table, _)) = inner.geo.clone() {
            self.keep_geo(&inner.config, table).await;
        }
        self.audit(inner, "reload", by, &text, "", serial).await;
        Ok(Done {
            serial: Some(serial),
            live: true,
            changed: true,
            text,
            preview: None,
            warnings,
            still: Vec::new(),
        })
    }
}

/// Keys that are fixed when the process starts.
fn needs_restart(old: &Config, new: &Config) -> Result<(), Refusal> {
    let mut keys = Vec::new();
    let mut compare = |key: &'static str, same: bool| {
        if !same {
            keys.push(key);
        }
    };
    let (old_dns, new_dns) = (old.dns.as_ref(), new.dns.as_ref());
    compare("dns", old_dns.is_some() == new_dns.is_some());
    if let (Some(old), Some(new)) = (old_dns, new_dns) {
        compare("dns.listen", old.listen == new.listen);
        compare("dns.udp_workers", old.udp_workers == new.udp_workers);
        compare("dns.tcp", old.tcp == new.tcp);
        compare("dns.dnstap", old.dnstap == new.dnstap);
    }
    compare("admin.listen", old.admin.listen == new.admin.listen);
    compare("state_dir", old.state_dir == new.state_dir);
    compare("admin_file", old.admin_file == new.admin_file);
    compare("node", old.node == new.node);
    compare("log", old.log == new.log);
    if keys.is_empty() {
        return Ok(());
    }
    let text = format!("{} changed, which needs a restart; nothing was reloaded", keys.join(", "));
    Err(Refusal::new(RefusalKind::NeedsRestart, text).hint("restart the server, or put the old values back"))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
