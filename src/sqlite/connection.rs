//! One connection to a database: read-only, limited in time, memory and in what it may do; it never leaves a trace on the disk.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::task::Work;

use super::messages::ConnectMode;
use super::{LOCK_WAIT, functions};

/// What the connection of this process may hold: a value of [`MAX_VALUE`] bytes, and as much beside
/// it.
const HEAP_BYTES: usize = 64 * 1024 * 1024;

/// The longest value, and the longest row, that is read (bytes).
pub const MAX_VALUE: usize = 32 * 1024 * 1024;

/// Instructions of SQLite between two looks at the clock: about 20 µs.
const STEPS: i32 = 1000;

/// The limits that keep a statement small before it runs. What a schema holds must pass as well.
const LIMITS: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE as i32),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
    (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 250),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Pragmas that tell of a schema; virtual tables ask the last three of their own tables.
const PRAGMAS: &[&str] = &[
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "data_version",
    "page_size",
    "page_count",
];

/// Functions that reach out of the database. Most are not compiled in; what is, is off.
const FUNCTIONS: &[&str] = &[
    "load_extension",
    "fts3_tokenizer",
    "readfile",
    "writefile",
    "edit",
    "sqlite_log",
];

/// What the authorizer heard and what it may let pass.
#[derive(Debug, Default)]
struct AuthorizerGate {
    /// A statement of ours is being prepared.
    ours: bool,
    /// The first thing that was not allowed, in words.
    refused: Option<String>,
}

/// A guarded connection.
pub struct Link {
    pub connection: Connection,
    gate: Arc<Mutex<AuthorizerGate>>,
    /// The database is damaged, and what of it can be read is used.
    pub salvaged: bool,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Link({:?})", self.connection.path())
    }
}

impl Link {
    /// Opens a database.
    ///
    /// SQLite opens by name, not by descriptor: a log is found by its name. Only the judged inodes
    /// can be opened here at all. Where the kernel has no such rule, `NOFOLLOW` refuses any link on
    /// the way, and the parent compares the file at that name with the judged one before and after;
    /// what can slip through then is only a file put there and taken away again between these two
    /// looks, in a folder that was judged.
    pub fn open(uri: &str, way: ConnectMode, salvage: bool) -> rusqlite::Result<Link> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let immutable = if way == ConnectMode::Fixed {
            "&immutable=1"
        } else {
            ""
        };
        let uri = format!("{uri}?mode=ro&readonly_shm=1{immutable}");
        let connection = match way {
            ConnectMode::Alone => Connection::open_with_flags_and_vfs(uri, flags, "unix-none")?,
            ConnectMode::Locked | ConnectMode::Shared | ConnectMode::Fixed => {
                Connection::open_with_flags(uri, flags)?
            }
        };
        let mut link = Link {
            connection,
            gate: Arc::default(),
            salvaged: salvage,
        };
        link.guard(way)?;
        Ok(link)
    }

    fn guard(&mut self, way: ConnectMode) -> rusqlite::Result<()> {
        let connection = &mut self.connection;
        connection.busy_timeout(LOCK_WAIT)?;
        for (limit, value) in LIMITS {
            connection.set_limit(*limit, *value)?;
        }
        connection.execute_batch(&format!(
            "PRAGMA hard_heap_limit={HEAP_BYTES};
             PRAGMA query_only=ON;
             PRAGMA cell_size_check=ON;
             PRAGMA mmap_size=0;
             PRAGMA temp_store=MEMORY;"
        ))?;
        if way == ConnectMode::Alone {
            connection.execute_batch("PRAGMA locking_mode=EXCLUSIVE;")?;
        }
        if self.salvaged {
            // Not to write it: with this on, what cannot be parsed is left out, and a file that is
            // shorter than it says is read as far as it goes. `DEFENSIVE` would undo that.
            connection.execute_batch("PRAGMA writable_schema=ON;")?;
        }
        for (config, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, !self.salvaged),
            (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        ] {
            connection.set_db_config(config, on)?;
        }
        functions::define(connection)?;
        let gate = self.gate.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            judge(&mut gate.lock(), context.action)
        }))
    }

    /// From now on the work is asked from time to time whether it is to go on.
    pub fn work_for(&mut self, work: &Work) -> rusqlite::Result<()> {
        let work = work.clone();
        let stop = move || work.check().is_err();
        self.connection.progress_handler(STEPS, Some(stop))
    }

    /// Statements of ours see one state of the database until [`Link::end`].
    pub fn begin(&self) -> rusqlite::Result<()> {
        self.run_ours("BEGIN")
    }

    pub fn end(&self) -> rusqlite::Result<()> {
        match self.connection.is_autocommit() {
            true => Ok(()),
            false => self.run_ours("ROLLBACK"),
        }
    }

    fn run_ours(&self, sql: &str) -> rusqlite::Result<()> {
        self.gate.lock().ours = true;
        let done = self.connection.execute_batch(sql);
        self.gate.lock().ours = false;
        done
    }

    /// What the last statement wanted that is not allowed, in words.
    pub fn take_refused(&self) -> Option<String> {
        self.gate.lock().refused.take()
    }
}

/// Reading is allowed. A write of rows is `Ignore`d and not `Deny`d because virtual tables (rtree)
/// prepare theirs as soon as they are looked at; whoever runs a statement sees to it that it is one
/// that reads, and the file is open for reading alone.
fn judge(gate: &mut AuthorizerGate, action: AuthAction<'_>) -> Authorization {
    let known = |list: &[&str], name: &str| list.iter().any(|one| one.eq_ignore_ascii_case(name));
    let refused = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => None,
        AuthAction::Function { function_name } if !known(FUNCTIONS, function_name) => None,
        AuthAction::Function { function_name } => Some(format!("the function {function_name}")),
        AuthAction::Pragma { pragma_name, .. } if known(PRAGMAS, pragma_name) => None,
        AuthAction::Pragma { pragma_name, .. } => Some(format!("PRAGMA {pragma_name}")),
        AuthAction::Transaction { .. } if gate.ours => None,
        AuthAction::Insert { .. } => Some("INSERT".to_owned()),
        AuthAction::Update { .. } => Some("UPDATE".to_owned()),
        AuthAction::Delete { .. } => Some("DELETE".to_owned()),
        AuthAction::Attach { .. } => Some("ATTACH".to_owned()),
        AuthAction::Detach { .. } => Some("DETACH".to_owned()),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            Some("a transaction".to_owned())
        }
        AuthAction::Analyze { .. } => Some("ANALYZE".to_owned()),
        AuthAction::Reindex { .. } => Some("REINDEX".to_owned()),
        _ => Some("a change of the schema".to_owned()),
    };
    let is_write = matches!(
        action,
        AuthAction::Insert { .. } | AuthAction::Update { .. } | AuthAction::Delete { .. }
    );
    match refused {
        None => Authorization::Allow,
        Some(what) => {
            gate.refused.get_or_insert(what);
            match is_write {
                true => Authorization::Ignore,
                false => Authorization::Deny,
            }
        }
    }
}

/// The most that SQLite held since this was asked last, in bytes.
pub fn peak_since() -> u64 {
    // SAFETY: it takes a lock of SQLite's own and reads a number.
    let bytes = unsafe { rusqlite::ffi::sqlite3_memory_highwater(1) };
    bytes.max(0) as u64
}

/// A real path as a `file:` URI, every byte that could mean something else escaped.
pub fn uri(path: &Path) -> String {
    use std::fmt::Write;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02x}");
            }
        }
    }
    uri
}
