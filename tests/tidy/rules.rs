//! The rules about code.

use super::Finding;
use super::source::{Path, Source, is_word};

/// Most lines of a file, its tests left out.
const MAX_FILE_LINES: usize = 500;

/// Most lines of a function, from `fn` to its last brace.
const MAX_FUNCTION_LINES: usize = 70;

/// Each module's rank. `dns` and `split` do not know each other.
const RANKS: [(&str, u8); 9] = [
    ("region", 0),
    ("health", 1),
    ("dns", 2),
    ("split", 2),
    ("config", 3),
    ("control", 4),
    ("probe", 5),
    ("serve", 6),
    ("cli", 7),
];

/// What is pure: whole modules, and in `control` what decides.
const PURE: [&str; 10] = [
    "src/region",
    "src/health",
    "src/dns",
    "src/split",
    "src/config",
    "src/control/derive",
    "src/control/inputs",
    "src/control/model",
    "src/control/plan",
    "src/control/storm",
];

/// Dependencies that neither reach outside nor draw chance. Any other is barred from the pure modules.
const PURE_CRATES: [&str; 11] = [
    "annotate_snippets",
    "domain",
    "hickory_proto",
    "maxminddb",
    "serde",
    "serde_json",
    "sha2",
    "siphasher",
    "time",
    "toml",
    "toml_edit",
];

/// Crates that are barred from the pure modules even before somebody adds them.
const IMPURE_CRATES: [&str; 9] = [
    "rand",
    "getrandom",
    "fastrand",
    "log",
    "chrono",
    "once_cell",
    "lazy_static",
    "parking_lot",
    "hashbrown",
];

/// Parts of the standard library that reach outside.
const IMPURE_STD: [&str; 7] = ["fs", "env", "process", "thread", "os", "random", "backtrace"];

/// Types and functions that read clocks, sockets, screens, or whose order is chance.
const IMPURE_NAMES: [&str; 19] = [
    "Instant",
    "SystemTime",
    "now_utc",
    "now_local",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "UnixDatagram",
    "ToSocketAddrs",
    "HashMap",
    "HashSet",
    "RandomState",
    "DefaultHasher",
    "stdin",
    "stdout",
    "stderr",
    "thread_local",
];

/// Macros that print.
const PRINTING_MACROS: [&str; 4] = ["println", "eprintln", "print", "eprint"];

/// Methods of `Path` that look at the disk.
const DISK_METHODS: [&str; 7] =
    ["exists", "try_exists", "canonicalize", "read_dir", "is_file", "is_dir", "symlink_metadata"];

/// Types through which a static changes.
const CELLS: [&str; 10] = [
    "Mutex",
    "RwLock",
    "OnceLock",
    "LazyLock",
    "OnceCell",
    "LazyCell",
    "Cell",
    "RefCell",
    "UnsafeCell",
    "SyncUnsafeCell",
];

/// Words of unfinished work.
const UNFINISHED_WORDS: [&str; 3] = ["FIXME", "XXX", "HACK"];

/// Where a developer's machine keeps things.
const MACHINE_PATHS: [&str; 3] = ["/work/", "/root/", "/home/"];

/// The data flows one way, and `use` says so.
pub(crate) fn ranks(source: &Source) -> Vec<Finding> {
    const WHY: &str =
        "a module uses only modules of lower rank and its own folder, so that the data flows one way";
    let Some(own) = source.module() else { return Vec::new() };
    let Some(own_rank) = rank(own) else {
        return vec![finding(source, 0, format!("module `{own}` has no rank"), WHY)];
    };
    let mut findings = Vec::new();
    for path in shipped_paths(source) {
        let Some(target) = root_module(source, &path) else { continue };
        let allowed = target == own || rank(target).is_some_and(|rank| rank < own_rank);
        if !allowed {
            let rank = rank(target).map_or("no rank".to_owned(), |rank| format!("rank {rank}"));
            let what = format!("`{own}` (rank {own_rank}) uses `crate::{target}` ({rank})");
            findings.push(finding(source, path.line, what, WHY));
        }
    }
    findings
}

fn rank(module: &str) -> Option<u8> {
    RANKS.iter().find(|(name, _)| *name == module).map(|(_, rank)| *rank)
}

/// The module of the crate's root that a path leads through, when it goes by way of the root.
fn root_module<'a>(source: &Source, path: &'a Path) -> Option<&'a str> {
    let segments: Vec<&str> = path.segments.iter().map(String::as_str).collect();
    if let ["crate", rest @ ..] = segments.as_slice() {
        // `pub(crate)` says who may use, not what is used.
        return rest.first().copied();
    }
    let relative = segments.iter().position(|segment| *segment != "self")?;
    let ups = segments[relative..].iter().take_while(|segment| **segment == "super").count();
    let depth = source.depth() + source.tokens[path.at].mods;
    (ups >= depth && ups > 0).then(|| segments.get(relative + ups).copied()).flatten()
}

/// What is pure stays pure.
pub(crate) fn purity(source: &Source, manifest: &str) -> Vec<Finding> {
    const WHY: &str =
        "pure modules do no I/O, read no clock, draw no chance, remember nothing: pass it as an argument";
    let is_in =
        |module: &&str| source.path.strip_prefix(*module).is_some_and(|rest| rest.starts_with(['/', '.']));
    if !PURE.iter().any(is_in) {
        return Vec::new();
    }
    let crates = dependencies(manifest);
    let mut findings = Vec::new();
    for path in shipped_paths(source) {
        if let Some(what) = impure_path(source, &path, &crates) {
            findings.push(finding(source, path.line, what, WHY));
        }
    }
    for (at, token) in source.tokens.iter().enumerate().filter(|(_, token)| !token.test) {
        let is_method = at > 0 && source.text(at - 1) == "." && source.text(at + 1) == "(";
        if token.text == "static" {
            findings.push(finding(source, token.line, "a static".to_owned(), WHY));
        } else if is_method && DISK_METHODS.contains(&token.text.as_str()) {
            findings.push(finding(source, token.line, format!("`.{}()` looks at the disk", token.text), WHY));
        }
    }
    findings
}

fn impure_path(source: &Source, path: &Path, crates: &[String]) -> Option<String> {
    let first = path.segments.first()?.as_str();
    let written = path.segments.join("::");
    let names_crate = path.segments.len() > 1 || (path.at > 0 && source.text(path.at - 1) == "use");
    let is_impure_crate = IMPURE_CRATES.contains(&first)
        || crates.iter().any(|name| name == first && !PURE_CRATES.contains(&first));
    if names_crate && is_impure_crate {
        return Some(format!("`{written}`: crate `{first}` is not pure"));
    }
    if first == "std" && path.segments.get(1).is_some_and(|part| IMPURE_STD.contains(&part.as_str())) {
        return Some(format!("`{written}` reaches outside"));
    }
    let prints = PRINTING_MACROS.contains(&first) && source.text(path.at + 1) == "!";
    let named = path.segments.iter().any(|segment| IMPURE_NAMES.contains(&segment.as_str()));
    (prints || named).then(|| format!("`{written}`"))
}

/// No file outgrows its reader.
pub(crate) fn file_length(source: &Source) -> Vec<Finding> {
    let lines = source.lines_without_tests();
    if lines <= MAX_FILE_LINES {
        return Vec::new();
    }
    let what = format!("{lines} lines without tests, at most {MAX_FILE_LINES}");
    vec![finding(source, 0, what, "the worst code of any project sits in its longest files")]
}

/// No function outgrows a screen.
pub(crate) fn function_length(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, token) in source.tokens.iter().enumerate() {
        // `fn(u8)` is a type.
        if token.test || token.text != "fn" || !is_word(source.text(at + 1)) {
            continue;
        }
        let Some(body) = body_of(source, at) else { continue };
        let lines = source.tokens[source.closing(body)].line - token.line + 1;
        if lines > MAX_FUNCTION_LINES {
            let name = source.text(at + 1);
            let what = format!("function `{name}` has {lines} lines, at most {MAX_FUNCTION_LINES}");
            findings.push(finding(source, token.line, what, "a function fits on a screen"));
        }
    }
    findings
}

/// The opening brace of the function declared at `at`; a declaration without a body has none.
fn body_of(source: &Source, at: usize) -> Option<usize> {
    let mut at = at;
    while at < source.tokens.len() {
        match source.text(at) {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = source.closing(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// One file holds all unsafe code.
pub(crate) fn unsafe_code(source: &Source) -> Vec<Finding> {
    if source.path == "src/serve/udp.rs" {
        return Vec::new();
    }
    let why = "all unsafe code is the batched socket calls of `src/serve/udp.rs`, where it can be read at a sitting";
    words(source, "unsafe").map(|line| finding(source, line, "unsafe code".to_owned(), why)).collect()
}

/// One module swaps snapshots.
pub(crate) fn the_seam(source: &Source) -> Vec<Finding> {
    if source.module() == Some("control") {
        return Vec::new();
    }
    let why = "both planes meet in one swap; others read through `control::Reader`";
    words(source, "arc_swap").map(|line| finding(source, line, "`arc_swap`".to_owned(), why)).collect()
}

/// State lives in values that somebody owns.
pub(crate) fn mutable_statics(source: &Source) -> Vec<Finding> {
    const WHY: &str = "hidden state makes answers depend on history; let a value own it";
    let mut findings = Vec::new();
    for (at, token) in source.tokens.iter().enumerate().filter(|(_, token)| !token.test) {
        let changes = match token.text.as_str() {
            "thread_local" => source.text(at + 1) == "!",
            "static" => {
                let end =
                    (at..source.tokens.len()).find(|&at| matches!(source.text(at), "=" | ";")).unwrap_or(at);
                (at..end)
                    .map(|at| source.text(at))
                    .any(|word| word == "mut" || CELLS.contains(&word) || word.starts_with("Atomic"))
            }
            _ => false,
        };
        if changes {
            findings.push(finding(source, token.line, "a static that can change".to_owned(), WHY));
        }
    }
    findings
}

/// Half-done work stays on its branch.
pub(crate) fn unfinished(source: &Source) -> Vec<Finding> {
    const WHY: &str = "what is committed is finished; what is missing is said in docs/requirements.md";
    let mut findings = Vec::new();
    for (at, token) in source.tokens.iter().enumerate() {
        if matches!(token.text.as_str(), "todo" | "unimplemented") && source.text(at + 1) == "!" {
            findings.push(finding(source, token.line, format!("`{}!`", token.text), WHY));
        }
    }
    for (index, line) in source.lines.iter().enumerate() {
        let is_boundary = |c: char| c != '_' && !c.is_alphanumeric();
        for word in line.split(is_boundary).filter(|word| UNFINISHED_WORDS.contains(word)) {
            findings.push(finding(source, index + 1, format!("`{word}`"), WHY));
        }
    }
    findings
}

/// A test that never runs says nothing.
pub(crate) fn ignored_tests(source: &Source) -> Vec<Finding> {
    let ignores = (0..source.tokens.len()).filter(|&at| source.reads(at, &["#", "[", "ignore"]));
    let why = "a test that does not run proves nothing; mend it or remove it";
    ignores.map(|at| finding(source, source.tokens[at].line, "an ignored test".to_owned(), why)).collect()
}

/// A clone works anywhere.
pub(crate) fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for machine_path in MACHINE_PATHS {
            // Inside a longer path or a URL (`example.com/home/`) it names no machine.
            let stands_alone = |(at, _): (usize, &str)| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}'))
            };
            if line.match_indices(machine_path).any(stands_alone) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: index + 1,
                    what: format!("`{machine_path}`"),
                    why: "a path of one machine means nothing on another",
                });
            }
        }
    }
    findings
}

/// Each dependency is there for a reason, and a line says which.
pub(crate) fn dependency_reasons(path: &str, manifest: &str) -> Vec<Finding> {
    let unexplained = manifest_entries(manifest).into_iter().filter(|entry| entry.reason.is_empty());
    let why = "each dependency is code that somebody has to trust: `name = \"1\" # what for`";
    unexplained
        .map(|entry| Finding {
            path: path.to_owned(),
            line: entry.line,
            what: format!("dependency `{}` has no reason", entry.name),
            why,
        })
        .collect()
}

struct ManifestEntry {
    name: String,
    /// From 1.
    line: usize,
    /// The comment on the entry's own lines.
    reason: String,
}

/// The names of all dependencies, as code writes them.
fn dependencies(manifest: &str) -> Vec<String> {
    manifest_entries(manifest).into_iter().map(|entry| entry.name.replace('-', "_")).collect()
}

fn manifest_entries(manifest: &str) -> Vec<ManifestEntry> {
    let mut entries: Vec<ManifestEntry> = Vec::new();
    let mut in_dependencies = false;
    let mut open_brackets = 0_i32;
    for (index, line) in manifest.lines().enumerate() {
        let (value, comment) = split_comment(line);
        if open_brackets == 0 && value.starts_with('[') {
            let section = value.trim().trim_matches(['[', ']']);
            let (table, name) = section.rsplit_once('.').unwrap_or((section, section));
            in_dependencies = section.ends_with("dependencies");
            // The long form: `[dependencies.name]`.
            if table.ends_with("dependencies") && !in_dependencies {
                entries.push(ManifestEntry {
                    name: name.to_owned(),
                    line: index + 1,
                    reason: comment.to_owned(),
                });
            }
            continue;
        }
        if !in_dependencies {
            continue;
        }
        if let Some((name, _)) = value.split_once('=').filter(|_| open_brackets == 0) {
            let name = name.trim().trim_matches('"').to_owned();
            entries.push(ManifestEntry { name, line: index + 1, reason: comment.to_owned() });
        } else if let Some(entry) = entries.last_mut().filter(|_| open_brackets > 0) {
            entry.reason.push_str(comment);
        }
        open_brackets += brackets(value);
    }
    entries
}

/// A line of TOML without its comment, and the comment.
fn split_comment(line: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return (&line[..at], line[at + 1..].trim()),
            _ => {}
        }
    }
    (line, "")
}

fn brackets(value: &str) -> i32 {
    let count = |wanted: [char; 2]| value.matches(wanted).count() as i32;
    count(['[', '{']) - count([']', '}'])
}

/// The lines of a word in shipped code.
fn words<'a>(source: &'a Source, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    source.tokens.iter().filter(move |token| !token.test && token.text == word).map(|token| token.line)
}

fn shipped_paths(source: &Source) -> Vec<Path> {
    source.paths().into_iter().filter(|path| !source.tokens[path.at].test).collect()
}

fn finding(source: &Source, line: usize, what: String, why: &'static str) -> Finding {
    Finding { path: source.path.clone(), line, what, why }
}
