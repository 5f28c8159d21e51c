//! The geo file: read, verified, compiled beside the one in use, and refused when it can't replace it.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use super::clock::Now;
use super::files;
use super::journal::rfc3339;
use super::load::{GeoInfo, LoadOptions};
use super::recorder::write_atomically;
use super::status::Warning;
use crate::config::{Config, Geo};
use crate::region::geo::{Database, GeoTable, Rules};
use crate::region::mmdb::MmdbError;

/// The compiled table of the last good file, in `state_dir`.
pub const COMPILED: &str = "geo.table";

/// A file whose share of unmapped networks is above this is worth a warning.
const MANY_UNMAPPED: f64 = 0.05;

/// A compiled geo file.
#[derive(Clone, Debug)]
pub struct LoadedGeo {
    /// The table.
    pub table: Arc<GeoTable>,
    /// What it is.
    pub info: GeoInfo,
    /// What is odd about it.
    pub warnings: Vec<Warning>,
}

/// Why a geo file was refused.
#[derive(Debug)]
pub enum GeoRefusal {
    /// It can't be read.
    Unreadable(io::Error),
    /// It is broken, or not what it should be.
    Broken(MmdbError),
    /// It is older than the one in use: its moment and that one's, in seconds since 1970.
    Older(i64, i64),
    /// It moves this share of the sampled networks, and at most that share may be moved unasked.
    Moves(f64, f64),
}

impl fmt::Display for GeoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = |seconds: &i64| rfc3339(seconds * 1000);
        match self {
            Self::Unreadable(error) => write!(f, "cannot read it: {error}"),
            Self::Broken(error) => write!(f, "{error}"),
            Self::Older(new, old) => write!(
                f,
                "it was built {}, the one in use {}: `waypost reload --accept-geo` takes it all the same",
                day(new),
                day(old)
            ),
            Self::Moves(moved, most) => write!(
                f,
                "it moves {:.1} % of the sampled networks to another region, more than the {:.1} % of \
                 `geo.max_moved`: look at it, then `waypost reload --accept-geo`",
                moved * 100.0,
                most * 100.0
            ),
        }
    }
}

/// What identifies one state of the file without reading it: inode, size, modification time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState(u64, u64, i128);

impl FileState {
    /// The file's present state; absent when it is not there.
    pub fn of(geo: &Geo) -> Option<Self> {
        let metadata = fs::metadata(&geo.database).ok()?;
        let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Some(Self(metadata.ino(), metadata.size(), modified_ns))
    }
}

/// The rules of a configuration by which clients are placed.
pub fn rules(config: &Config, geo: &Geo) -> Rules {
    let mut rules = Rules::everybody(geo.unmapped);
    for (region, of) in config.regions.iter().zip(&config.region_rules) {
        rules.countries.extend(of.countries.iter().map(|&country| (country, region)));
        rules.continents.extend(of.continents.iter().map(|&continent| (continent, region)));
        rules.networks.extend(of.networks.iter().map(|&network| (network, region)));
    }
    rules
}

/// Loads the file; with [`LoadOptions::stand_in`], the last good compiled table stands in for one that can't be used.
pub fn load(geo: &Geo, config: &Config, options: LoadOptions<'_>) -> Result<LoadedGeo, GeoRefusal> {
    let rules = rules(config, geo);
    let refusal = match compile(geo, &rules, options) {
        Ok(loaded) => return Ok(loaded),
        Err(refusal) if options.stand_in => refusal,
        Err(refusal) => return Err(refusal),
    };
    let Some(mut loaded) = stand_in(config, &rules, options.now) else { return Err(refusal) };
    let path = geo.database.display();
    let text = format!("{path}: {refusal}; the last good compiled table stands in");
    loaded.warnings.push(warning("geo_stands_in", text, options.now));
    Ok(loaded)
}

/// Compiles the file and holds it against the one in use.
pub fn compile(geo: &Geo, rules: &Rules, options: LoadOptions<'_>) -> Result<LoadedGeo, GeoRefusal> {
    // Before the read: a file that is replaced meanwhile then counts as a new one.
    let file = FileState::of(geo);
    let unchanged = options.in_use.filter(|(_, info)| file.is_some() && info.file == file);
    let database = match unchanged.and_then(|(table, _)| table.database().cloned()) {
        Some(database) => database,
        None => {
            let bytes = files::read(&geo.database).map_err(GeoRefusal::Unreadable)?;
            Arc::new(Database::from_mmdb(bytes).map_err(GeoRefusal::Broken)?)
        }
    };
    let table = Arc::new(GeoTable::build(rules, Some(database)));
    let info = GeoInfo { file, ..info(&table, options.now, false) };
    if let Some((old_table, old)) = options.in_use.filter(|_| !options.accept_geo) {
        if info.build_s > 0 && old.build_s > info.build_s {
            return Err(GeoRefusal::Older(info.build_s, old.build_s));
        }
        // Under the same rules: what new rules move is not the file's doing.
        let moved = GeoTable::build(rules, old_table.database().cloned()).moved(&table);
        if moved > geo.max_moved {
            return Err(GeoRefusal::Moves(moved, geo.max_moved));
        }
    }
    let mut warnings = Vec::new();
    if info.unmapped_share > MANY_UNMAPPED {
        let share = info.unmapped_share * 100.0;
        let text =
            format!("nothing places {share:.1} % of the sampled networks; their home is `geo.unmapped`");
        warnings.push(warning("geo_unmapped", text, options.now));
    }
    Ok(LoadedGeo { table, info, warnings })
}

fn info(table: &GeoTable, now: Now, stands_in: bool) -> GeoInfo {
    let wall_s = u64::try_from(now.wall_ms / 1000).unwrap_or(0);
    let build_s = table.database().and_then(|database| database.build_s(wall_s)).unwrap_or(0);
    let build_s = i64::try_from(build_s).unwrap_or(0);
    GeoInfo {
        build: (build_s > 0).then(|| rfc3339(build_s.saturating_mul(1000))),
        build_s,
        ranges: table.ranges(),
        loaded: rfc3339(now.wall_ms),
        unmapped_share: table.unmapped_share(),
        stands_in,
        file: None,
    }
}

/// Keeps the compiled table for a start without a usable file; one that is kept already is not written again.
///
/// Errors: it can't be written.
pub fn keep(state_dir: &Path, table: &GeoTable) -> io::Result<()> {
    let Some(database) = table.database() else { return Ok(()) };
    let path = state_dir.join(COMPILED);
    let bytes = database.to_bytes();
    if files::read(&path).is_ok_and(|kept| kept == bytes) {
        return Ok(());
    }
    write_atomically(&path, &bytes)
}

fn stand_in(config: &Config, rules: &Rules, now: Now) -> Option<LoadedGeo> {
    let path = config.state_dir.join(COMPILED);
    let bytes = files::read(&path).ok()?;
    let database = Database::from_bytes(&bytes)
        .inspect_err(|error| tracing::warn!("{} can't stand in: {error}", path.display()))
        .ok()?;
    let table = Arc::new(GeoTable::build(rules, Some(Arc::new(database))));
    let info = info(&table, now, true);
    Some(LoadedGeo { table, info, warnings: Vec::new() })
}

fn warning(code: &'static str, text: String, now: Now) -> Warning {
    Warning { code, text, since: rfc3339(now.wall_ms) }
}
