//! What was fetched, in one SQLite file that all daemons of the user share.
//!
//! It is the one database that the process which serves opens itself: its own, in a directory of its own. A rollback
//! journal and no mapped memory, so that nothing another process does to the file can hurt this one. Whatever goes wrong
//! costs the cache and never an answer: what is no database is moved aside and made anew, what cannot be written turns
//! the cache off for a while.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::items::Answers;

const VERSION: i64 = 1;
const BUSY: Duration = Duration::from_millis(3000);
/// Of one access: where several daemons mend a file at once, it may be another under each of them more than once.
const TRIES: u32 = 4;
/// Bytes of the file.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Of one row, unpacked.
const MAX_ROW: u64 = 128 * 1024 * 1024;
/// How long it stays off after it failed.
const OFF: Duration = Duration::from_secs(60);
/// And after another process had it for longer than is waited: who reads then waits no second time.
const PASSED_OVER: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS item (account TEXT, repo TEXT, kind TEXT CHECK (kind IN ('issue','pr','pr-diff')), number INTEGER, comments INTEGER,
  fetched_at INTEGER NOT NULL, etags TEXT NOT NULL, payload BLOB NOT NULL,
  PRIMARY KEY (account, repo, kind, number, comments)) STRICT, WITHOUT ROWID;
CREATE INDEX item_by_age ON item (fetched_at);";

/// Which row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowKey {
    pub account: String,
    pub repo: String,
    pub kind: &'static str,
    pub number: u64,
    pub comments: bool,
}

impl RowKey {
    /// It stands in the payload, too: a row that damage brought under another key is no row.
    fn mark(&self) -> String {
        let RowKey {
            account,
            repo,
            kind,
            number,
            comments,
        } = self;
        format!("{account} {repo} {kind} {number} {comments}")
    }
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Milliseconds since 1970: of the last time that GitHub said it is so.
    pub fetched_at: u64,
    pub answers: Answers,
}

/// How it is with the file.
#[derive(Debug)]
enum State {
    NotOpened,
    Open(Connection),
    /// Not tried again before.
    Off(Instant),
}

/// The file of one user. Nothing is opened before it is asked.
#[derive(Debug)]
pub struct AnswerCache {
    /// `None` where the user has no place for it.
    path: Option<PathBuf>,
    max_bytes: u64,
    state: Mutex<State>,
    /// By itself, so that who asks for it never waits for the file.
    census: Mutex<CacheCensus>,
}

/// What the status says.
#[derive(Debug, Clone, Default)]
pub struct CacheCensus {
    /// Why it is off.
    pub off: Option<String>,
    pub rows: u64,
    pub bytes: u64,
}

impl AnswerCache {
    pub fn new(directory: Option<PathBuf>) -> Arc<AnswerCache> {
        Arc::new(AnswerCache {
            path: directory.map(|it| it.join("github.db")),
            max_bytes: MAX_BYTES,
            state: Mutex::new(State::NotOpened),
            census: Mutex::default(),
        })
    }

    /// The row, if it was fetched in that time; any other is dropped. Blocking.
    pub fn get(&self, key: &RowKey, within: &RangeInclusive<u64>) -> Option<Row> {
        let found = self.with(|connection| {
            let mut query = connection.prepare_cached(
                "SELECT fetched_at, etags, payload FROM item WHERE account = ?1 AND repo = ?2 AND kind = ?3 AND number = ?4 AND comments = ?5",
            )?;
            let found = query.query_row(
                params![key.account, key.repo, key.kind, key.number as i64, key.comments],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Vec<u8>>(2)?)),
            );
            found.optional()
        })??;
        let (fetched_at, etags, payload) = found;
        let fetched_at = fetched_at.max(0) as u64;
        let row = within
            .contains(&fetched_at)
            .then(|| unpacked(key, &etags, &payload))
            .flatten();
        match row {
            Some(answers) => Some(Row {
                fetched_at,
                answers,
            }),
            None => {
                self.remove(key);
                None
            }
        }
    }

    pub fn remove(&self, key: &RowKey) {
        self.with(|connection| {
            connection.execute(
                "DELETE FROM item WHERE account = ?1 AND repo = ?2 AND kind = ?3 AND number = ?4 AND comments = ?5",
                params![key.account, key.repo, key.kind, key.number as i64, key.comments],
            )
        });
    }

    /// Keeps a row, and drops what was not fetched in that time, and the oldest where there is too much. Blocking.
    pub fn put(&self, key: &RowKey, row: &Row, within: &RangeInclusive<u64>) {
        let Some((etags, payload)) = packed(key, &row.answers) else {
            return;
        };
        let times =
            [*within.start(), *within.end()].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        self.with(|connection| {
            let change = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            change.execute("DELETE FROM item WHERE fetched_at < ?1 OR fetched_at > ?2", times)?;
            // Another daemon may have asked later than we did.
            change.execute(
                "INSERT INTO item VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT DO UPDATE SET fetched_at = excluded.fetched_at, etags = excluded.etags, payload = excluded.payload
                 WHERE excluded.fetched_at >= fetched_at",
                params![
                    key.account, key.repo, key.kind, key.number as i64, key.comments,
                    row.fetched_at as i64, etags, payload
                ],
            )?;
            while used(&change)? > self.max_bytes {
                let gone = change.execute(
                    "DELETE FROM item WHERE fetched_at <= (SELECT fetched_at FROM item ORDER BY fetched_at LIMIT 1 OFFSET (SELECT count(*) / 16 FROM item))",
                    [],
                )?;
                if gone == 0 {
                    break;
                }
            }
            let rows: i64 = change.query_row("SELECT count(*) FROM item", [], |row| row.get(0))?;
            let bytes = used(&change)?;
            change.commit()?;
            let mut census = self.census.lock();
            (census.rows, census.bytes) = (rows as u64, bytes);
            Ok(())
        });
    }

    /// GitHub said that nothing of a row changed. Blocking.
    pub fn touch(&self, key: &RowKey, fetched_at: u64) {
        self.with(|connection| {
            connection.execute(
                "UPDATE item SET fetched_at = ?6 WHERE account = ?1 AND repo = ?2 AND kind = ?3 AND number = ?4 AND comments = ?5 AND fetched_at < ?6",
                params![key.account, key.repo, key.kind, key.number as i64, key.comments, fetched_at as i64],
            )
        });
    }

    /// As of the last write. Does no I/O.
    pub fn census(&self) -> CacheCensus {
        self.census.lock().clone()
    }

    /// Does something with the database, which is opened, and made anew where it is none. `None` where it is off.
    fn with<T>(&self, mut act: impl FnMut(&mut Connection) -> rusqlite::Result<T>) -> Option<T> {
        let mut state = self.state.lock();
        if let State::Off(until) = &*state
            && Instant::now() < *until
        {
            return None;
        }
        for more_tries in (0..TRIES).rev() {
            let connection = match std::mem::replace(&mut *state, State::NotOpened) {
                State::Open(connection) => Ok(connection),
                State::NotOpened | State::Off(_) => self.open(),
            };
            let failed = match connection {
                Err(failed) => failed,
                Ok(mut connection) => match act(&mut connection) {
                    Ok(done) => {
                        *state = State::Open(connection);
                        self.census.lock().off = None;
                        return Some(done);
                    }
                    Err(error) => Failed::Sqlite(error),
                },
            };
            if failed.is_momentary() {
                self.census.lock().off = Some("another process holds it".to_owned());
                *state = State::Off(Instant::now() + PASSED_OVER);
                return None;
            }
            let is_mended =
                more_tries > 0 && (failed.is_moved() || failed.is_damage() && self.set_aside());
            if !is_mended {
                let why = failed.words();
                tracing::warn!(%why, "the cache of GitHub's answers is off");
                self.census.lock().off = Some(why);
                *state = State::Off(Instant::now() + OFF);
                return None;
            }
        }
        None
    }

    fn open(&self) -> Result<Connection, Failed> {
        let path = self.path.as_ref().ok_or(Failed::NoPlace)?;
        make_private(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "mmap_size", 0)?;
        // A hostile schema runs nothing.
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        if version_of(&connection)? != VERSION {
            let change =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            if version_of(&change)? != VERSION {
                change.execute_batch("DROP TABLE IF EXISTS item;")?;
                change.execute_batch(SCHEMA)?;
                change.pragma_update(None, "user_version", VERSION)?;
            }
            change.commit()?;
        }
        Ok(connection)
    }

    /// Moves what is no database away. One daemon does it; the others find what it made.
    fn set_aside(&self) -> bool {
        let Some(path) = &self.path else {
            return false;
        };
        let moved = || -> io::Result<()> {
            let lock = private_file(&path.with_extension("db.lock"))?;
            lock.lock()?;
            if is_sound(path) {
                return Ok(());
            }
            let journal = path.with_extension("db-journal");
            match std::fs::remove_file(journal) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            std::fs::rename(path, path.with_extension("db.corrupt"))
        };
        let outcome = moved();
        if let Err(error) = &outcome {
            tracing::warn!(%error, "the damaged cache of GitHub's answers cannot be moved away");
        }
        outcome.is_ok()
    }
}

/// Whether another daemon made a database of it meanwhile, or moved it away and is about to.
fn is_sound(path: &Path) -> bool {
    let checked = || -> rusqlite::Result<bool> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(BUSY)?;
        let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        // Who opens one of another version makes the table. In one of ours it is there already.
        if version_of(&connection)? == VERSION {
            connection.prepare(
                "SELECT account, repo, kind, number, comments, fetched_at, etags, payload FROM item",
            )?;
        }
        Ok(said == "ok")
    };
    let is_missing =
        |error: rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
    checked().unwrap_or_else(is_missing)
}

fn version_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The directory and the file, for this user alone.
fn make_private(path: &Path) -> Result<(), Failed> {
    if let Some(directory) = path.parent() {
        if let Some(above) = directory.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(above)?;
        }
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let found = std::fs::symlink_metadata(directory)?;
        if !found.is_dir() {
            return Err(Failed::Io(io::Error::other("its directory is none")));
        }
        if found.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    private_file(path)?;
    Ok(())
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    options.open(path)
}

/// Bytes of the pages that hold something.
fn used(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
    };
    let pages = number("page_count")? - number("freelist_count")?;
    Ok((pages * number("page_size")?).max(0) as u64)
}

/// Zlib and not bare deflate: it has a checksum, so that a byte that rots costs the row and changes no word.
fn packed(key: &RowKey, answers: &Answers) -> Option<(String, Vec<u8>)> {
    let etags = serde_json::to_string(&answers.etags).ok()?;
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut packer, &(key.mark(), &answers.bodies)).ok()?;
    packer.flush().ok()?;
    Some((etags, packer.finish().ok()?))
}

fn unpacked(key: &RowKey, etags: &str, payload: &[u8]) -> Option<Answers> {
    let mut unpacked = Vec::new();
    ZlibDecoder::new(payload)
        .take(MAX_ROW)
        .read_to_end(&mut unpacked)
        .ok()?;
    let (mark, bodies): (String, _) = serde_json::from_slice(&unpacked).ok()?;
    if mark != key.mark() {
        return None;
    }
    Some(Answers {
        etags: serde_json::from_str(etags).ok()?,
        bodies,
    })
}

/// Why it cannot be used.
#[derive(Debug)]
enum Failed {
    NoPlace,
    Io(io::Error),
    Sqlite(rusqlite::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Io(error)
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Failed {
        Failed::Sqlite(error)
    }
}

impl Failed {
    fn is_damage(&self) -> bool {
        match self {
            Failed::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(
                    error.code,
                    ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown
                )
            }
            // A table of that name with other columns, or values of other types; so may be what has no code of its own.
            Failed::Sqlite(error) => !matches!(error, rusqlite::Error::QueryReturnedNoRows),
            Failed::NoPlace | Failed::Io(_) => false,
        }
    }

    /// Another daemon moved the file away that this one has open, or was about to open: what has its
    /// name now is another.
    fn is_moved(&self) -> bool {
        let Failed::Sqlite(rusqlite::Error::SqliteFailure(error, _)) = self else {
            return false;
        };
        error.code == ErrorCode::CannotOpen
            || error.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED
    }

    /// Another process has it for longer than is waited.
    fn is_momentary(&self) -> bool {
        let Failed::Sqlite(error) = self else {
            return false;
        };
        let code = error.sqlite_error_code();
        matches!(
            code,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }

    fn words(&self) -> String {
        match self {
            Failed::NoPlace => "there is no directory for it".to_owned(),
            Failed::Io(error) => {
                let text = error.to_string();
                text.split(" (os error").next().unwrap_or(&text).to_owned()
            }
            Failed::Sqlite(error) => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::super::api::NextPage;
    use super::super::items::KeptBody;
    use super::*;

    fn cache(max_bytes: u64) -> (TempDir, AnswerCache) {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = AnswerCache::new(Some(directory.path().join("pilcrow")));
        let cache = Arc::into_inner(cache).expect("nobody else has it");
        (directory, AnswerCache { max_bytes, ..cache })
    }

    fn key(number: u64) -> RowKey {
        RowKey {
            account: "github.com:-".to_owned(),
            repo: "github.com/octo/demo".to_owned(),
            kind: "issue",
            number,
            comments: true,
        }
    }

    fn row(fetched_at: u64, body: &str) -> Row {
        let kept = KeptBody {
            body: json!(body),
            next: NextPage::End,
        };
        let answers = Answers {
            etags: [("issues/7".to_owned(), "\"e\"".to_owned())].into(),
            bodies: [("issues/7".to_owned(), kept)].into(),
        };
        Row {
            fetched_at,
            answers,
        }
    }

    /// Letters in no order, so that little of them is packed away.
    fn noise(seed: u64, length: usize) -> String {
        let mut hash = seed;
        let letters = (0..length).map(|_| {
            hash = hash
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(b' ' + (hash >> 33) as u8 % 90)
        });
        letters.collect()
    }

    #[test]
    fn the_oldest_rows_go_where_there_is_too_much() {
        let (_directory, cache) = cache(1 << 20);
        let kept = |number: u64| cache.get(&key(number), &(0..=9999)).is_some();
        for number in 1..=200 {
            // The last ones are not the newest.
            let at = match number {
                1..=100 => 1000 + number,
                number => 2000 - number,
            };
            cache.put(&key(number), &row(at, &noise(number, 20_000)), &(0..=9999));
            assert!(cache.census().bytes <= 1 << 20, "{:?}", cache.census());
        }
        let left: Vec<u64> = (1..=200).filter(|number| kept(*number)).collect();
        assert!((30..=80).contains(&left.len()), "{left:?}");
        assert!(!kept(1) && !kept(100) && kept(101), "{left:?}");
        // What was fetched before the limit goes with the next write.
        cache.put(&key(7), &row(5000, "new"), &(5000..=9999));
        assert_eq!(cache.census().rows, 1);
    }

    #[test]
    fn a_row_that_rots_is_no_row() {
        let (directory, cache) = cache(MAX_BYTES);
        let written = row(1000, &"It panics on an empty list. ".repeat(40));
        let kept = packed(&key(7), &written.answers).expect("packed");
        for at in 0..kept.1.len() {
            for bit in [1, 0x20] {
                let mut payload = kept.1.clone();
                payload[at] ^= bit;
                let found = unpacked(&key(7), &kept.0, &payload);
                assert!(found.is_none_or(|it| it == written.answers), "byte {at}");
            }
        }
        assert!(unpacked(&key(8), &kept.0, &kept.1).is_none());
        // In the file: another number, and the row is fetched anew.
        cache.put(&key(7), &written, &(0..=9999));
        let path = directory.path().join("pilcrow/github.db");
        let other = Connection::open(path).expect("opened");
        other
            .execute("UPDATE item SET number = 8", [])
            .expect("changed");
        assert_eq!(cache.get(&key(8), &(0..=9999)), None);
        assert_eq!(cache.census().off, None);
    }
}
