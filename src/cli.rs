//! The commands; those that do one thing are clients of an engine in this process. `main.rs`
//! prints what they give.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::convert;
use crate::edit::Patch;
use crate::mcp::{self, AnswerBudget};
use crate::protocol::read::ContentBlock;
use crate::protocol::{Settings, to_json};
use crate::server::CommandLine;
use crate::sqlite;
use crate::structure;
use crate::task::Threads;
use crate::view::{Budget, dialect};
use crate::worker::{Readable, Without, child};
use crate::workspace::may_be_folder;

/// Pilcrow reads and edits files for coding agents.
///
/// Editors start it as a language server: `pilcrow serve --stdio` speaks JSON-RPC over stdin and
/// stdout, keeps files warm, answers `agent/read` with exactly what a model should see, and
/// `agent/edit` with a change that is either right or refused. The other commands do one thing over the same engine and exit.
#[derive(Debug, Parser)]
#[command(name = "pilcrow", version = VERSION, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Serve over stdin and stdout, as `serve` does
    #[arg(long)]
    pub stdio: bool,
}

/// `0.1.0 (x86_64-unknown-linux-gnu, 1a2b3c4d5e6f)`; `build.rs` tells the last two.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("PILCROW_TARGET"),
    ", ",
    env!("PILCROW_COMMIT"),
    ")"
);

const EXAMPLES: &str = "\
Examples:
  pilcrow read src/main.rs              the file, numbered, under its snapshot header
  pilcrow read src/main.rs:40-60        a range (with a little context)
  pilcrow read 'src/main.rs:1-9,80-90'  several ranges, exactly
  pilcrow read notes.txt:-20            the last 20 lines
  pilcrow read src/main.rs:5-9:raw      the text itself
  pilcrow search 'fn \\w+' src -g '*.rs'  the lines that match, ready to be edited
  pilcrow read .env --set access.deny='[]'
  pilcrow edit fix.patch --dry-run      the diff that a hashline patch would make
  pilcrow edit < fix.patch              apply it
  claude mcp add pilcrow -- pilcrow mcp

Environment:
  PILCROW_LOG      what the daemon logs (pilcrow=debug)
  XDG_STATE_HOME   where its log and state live";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve one client over stdin and stdout (the default)
    Serve {
        /// The transport; there is no other
        #[arg(long)]
        stdio: bool,
    },
    /// Serve one agent over stdin and stdout, by the Model Context Protocol
    Mcp(McpOptions),
    /// Read a path and print what a model would see
    Read(ReadOptions),
    /// Search files for a pattern and print what a model would see
    Search(SearchOptions),
    /// Apply a patch in hashline form and print what came of it
    Edit(EditOptions),
    /// Print the tools for a model's tool list, as JSON
    Tools(ToolsOptions),
    /// Print what the engine reports of itself, as JSON
    Status(StatusOptions),
    /// Work for a parent process, over frames on a socket that is stdin
    #[command(hide = true)]
    Worker(WorkerOptions),
}

/// What a worker is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum WorkerKind {
    /// Documents to Markdown, large pictures to small ones
    Convert,
    /// Source files to their outlines, definitions, blocks and errors
    Syntax,
    /// Questions to one database
    Query,
}

/// What a worker's parent wants of it.
#[derive(Debug, Args)]
pub struct WorkerOptions {
    pub kind: WorkerKind,
    /// Bytes of what comes with a request
    #[arg(long)]
    pub input_bytes: u64,
    /// Bytes of address space
    #[arg(long)]
    pub memory_bytes: u64,
    /// End after so long without a job
    #[arg(long)]
    pub idle_ms: u64,
    /// A file that it may read, as DEVICE:INODE:PATH
    #[arg(long)]
    pub reads: Vec<OsString>,
    /// Do what requests of tests ask for
    #[arg(long)]
    pub misbehave: bool,
    /// As on a kernel without Landlock
    #[arg(long)]
    pub without_landlock: bool,
    /// As on a kernel without seccomp
    #[arg(long)]
    pub without_seccomp: bool,
}

impl WorkerOptions {
    /// As the worker takes them.
    pub fn for_child(&self) -> child::Options {
        child::Options {
            input_bytes: self.input_bytes,
            memory_bytes: self.memory_bytes,
            idle: std::time::Duration::from_millis(self.idle_ms),
            reads: self
                .reads
                .iter()
                .filter_map(|file| Readable::from_argument(file))
                .collect(),
            misbehave: self.misbehave,
            without: Without {
                landlock: self.without_landlock,
                seccomp: self.without_seccomp,
            },
        }
    }
}

/// Works for a parent process until it hangs up; returns the exit code. To be called before the
/// process opens anything or starts a thread.
pub fn work(options: &WorkerOptions) -> i32 {
    // What a document does to a parser is told in a frame, if at all.
    std::panic::set_hook(Box::new(|_| {}));
    child::close_inherited();
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return 1;
    };
    let work = match options.kind {
        WorkerKind::Convert => convert::serve,
        WorkerKind::Syntax => {
            child::hold_memory();
            structure::serve
        }
        WorkerKind::Query => sqlite::serve,
    };
    child::run(File::from(socket), options.for_child(), work);
    0
}

#[derive(Debug, Args)]
pub struct McpOptions {
    #[command(flatten)]
    pub common: Common,
    /// No tool that changes files; the same as --set edit.enabled=false
    #[arg(long)]
    pub read_only: bool,
    /// The tools that are listed: read, read_many, search, edit, write [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// Whose read it is: hashline, numbered, plain, opencode, pikuri, llm-gateway or roo
    #[arg(long, value_name = "NAME")]
    pub dialect: Option<String>,
    /// Bytes of the rows of one answer [default: 28672]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1024..=Budget::CAP.bytes))]
    pub budget_bytes: Option<u64>,
    /// Rows of one answer [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Budget::CAP.lines))]
    pub budget_lines: Option<u64>,
}

impl McpOptions {
    /// How the server is to be.
    ///
    /// # Errors
    ///
    /// Settings and names that there are not, folders that are none.
    pub fn setup(&self) -> anyhow::Result<mcp::Setup> {
        // Agents run what only reads unasked; a page that is fetched hears what it is asked for.
        let mut given = json!({ "web": { "enabled": false } });
        assign(&mut given, self.common.settings.iter().map(String::as_str))?;
        if self.read_only {
            Settings::set(&mut given, "edit.enabled", json!(false));
        }
        if let Some(dialect) = &self.dialect {
            Settings::set(&mut given, "read.dialect", json!(dialect));
        }
        let settings = read_settings(&given)?;
        dialect::by_name(&settings.read.dialect)?;
        let folders = match self.common.roots.is_empty() {
            true => None,
            false => Some(self.common.folders()?),
        };
        for folder in folders.iter().flatten() {
            if !may_be_folder(folder) {
                return Err(anyhow!("There is no folder {}", folder.display()));
            }
        }
        let AnswerBudget { lines, bytes } = AnswerBudget::default();
        Ok(mcp::Setup {
            settings,
            folders,
            tools: self.tools.clone(),
            budget: AnswerBudget {
                lines: self.budget_lines.unwrap_or(lines),
                bytes: self.budget_bytes.unwrap_or(bytes),
            },
        })
    }
}

#[derive(Debug, Args)]
pub struct EditOptions {
    /// A file that holds the patch; `-` or nothing for stdin
    pub patch: Option<PathBuf>,
    /// Write nothing, print the diff
    #[arg(long)]
    pub dry_run: bool,
    /// Print the whole result of `agent/edit`
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct ReadOptions {
    /// A path, which may end in a selector (`:5-9`, `:-20`, `:raw`)
    pub path: String,
    /// How the answer is written: hashline, numbered, plain, opencode, pikuri, llm-gateway or roo
    #[arg(long)]
    pub dialect: Option<String>,
    /// Print the whole result of `agent/read`
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct SearchOptions {
    /// A regex, as ripgrep takes it
    pub pattern: String,
    /// A file or a folder [default: all workspace folders]
    pub path: Option<String>,
    /// Only files with such paths ('*.rs', '!tests/**'); may be given several times
    #[arg(short, long, value_name = "GLOB")]
    pub glob: Vec<String>,
    /// The pattern is plain text
    #[arg(short = 'F', long)]
    pub literal: bool,
    /// Large and small letters are the same
    #[arg(short, long)]
    pub ignore_case: bool,
    /// Whole words only
    #[arg(short, long)]
    pub word: bool,
    /// Matches may go over several lines
    #[arg(short = 'U', long)]
    pub multiline: bool,
    /// Rows before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub context: u64,
    /// Only how many matches there are in each file
    #[arg(short, long)]
    pub count: bool,
    /// Rows at most, in up to a mebibyte [default: 200, in 50 KiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Budget::CAP.lines))]
    pub rows: Option<u64>,
    /// Go on where the last answer says
    #[arg(long, value_name = "PATH#TAG:LINE")]
    pub after: Option<String>,
    /// How the answer is written: hashline, numbered, plain, opencode, pikuri, llm-gateway or roo
    #[arg(long)]
    pub dialect: Option<String>,
    /// Print the whole result of `agent/search`
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub common: Common,
}

impl SearchOptions {
    /// As `agent/search` takes them.
    fn params(&self) -> Value {
        json!({
            "pattern": self.pattern,
            "path": self.path,
            "glob": (!self.glob.is_empty()).then_some(&self.glob),
            "literal": self.literal,
            "ignoreCase": self.ignore_case,
            "word": self.word,
            "multiline": self.multiline,
            "context": self.context,
            "count": self.count,
            "after": self.after,
            "dialect": self.dialect,
            "budget": self.rows.map(|rows| json!({ "lines": rows, "bytes": Budget::CAP.bytes })),
        })
    }
}

#[derive(Debug, Args)]
pub struct ToolsOptions {
    /// In whose words: hashline, numbered, plain, opencode, pikuri, llm-gateway or roo
    #[arg(long)]
    pub dialect: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct StatusOptions {
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Common {
    /// A workspace folder; may be given several times [default: the current directory]
    #[arg(long = "root", value_name = "DIR")]
    pub roots: Vec<PathBuf>,
    /// A setting, as in --set access.deny='[]'; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

/// `pilcrow read`: the text blocks of one answer, or the whole result as JSON.
pub fn read(options: &ReadOptions) -> anyhow::Result<String> {
    let (runtime, here) = command_line(&options.common, &[])?;
    let dialect = options.dialect.as_deref();
    let settings = here.settings();
    let dialect = dialect::by_name(dialect.unwrap_or(&settings.read.dialect))?;
    let params = json!({ "dialect": dialect.name(), dialect.path_parameter(): options.path });
    let result = runtime.block_on(here.read(&params))?;
    match (options.json, result.is_error) {
        (true, _) => pretty(&result),
        (false, None | Some(false)) => Ok(printed(&result.content)),
        (false, Some(true)) => Err(anyhow!(printed(&result.content).trim_end().to_owned())),
    }
}

/// `pilcrow search`: the text of one answer, or the whole result as JSON.
pub fn search(options: &SearchOptions) -> anyhow::Result<String> {
    let (runtime, here) = command_line(&options.common, &[])?;
    let result = runtime.block_on(here.search(&options.params()))?;
    match options.json {
        true => pretty(&result),
        false => Ok(printed(&result.content)),
    }
}

/// `pilcrow edit`: what a patch made of its files. Nobody has read anything in this process: what
/// the patch names counts as shown, and its tags must be those of what is there.
pub fn edit(options: &EditOptions) -> anyhow::Result<String> {
    let patch = patch_text(options.patch.as_deref())?;
    let seen = ["edit.requireSeen=false"];
    let (runtime, here) = command_line(&options.common, &seen)?;
    let edited = runtime.block_on(async {
        for section in Patch::Text(patch.clone()).sections().0 {
            // A notebook may be meant in either of its forms. What cannot be read is refused
            // below, in the words of the edit.
            for form in ["", ":raw"] {
                let params = json!({ "path": format!("{}{form}", section.path) });
                let _ = here.read(&params).await;
            }
        }
        let params = json!({ "patch": patch, "dryRun": options.dry_run });
        here.edit(&params).await
    });
    let result = edited?;
    match options.json {
        true => pretty(&result),
        false => Ok(printed(&result.content)),
    }
}

/// The longest patch that is read, in bytes: that of a frame of the daemon's.
const MAX_PATCH: u64 = 64 * 1024 * 1024;

fn patch_text(file: Option<&Path>) -> anyhow::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = match file.filter(|file| *file != Path::new("-")) {
        None => Box::new(std::io::stdin().lock()),
        Some(file) => {
            let opened = std::fs::File::open(file);
            Box::new(opened.with_context(|| format!("Cannot read {}", file.display()))?)
        }
    };
    let read = source.take(MAX_PATCH + 1).read_to_string(&mut text);
    let read = read.context("Cannot read the patch, which must be UTF-8")?;
    match read as u64 > MAX_PATCH {
        true => Err(anyhow!("The patch is longer than 64 MiB.")),
        false => Ok(text),
    }
}

/// `pilcrow tools`.
pub fn tools(options: &ToolsOptions) -> anyhow::Result<String> {
    let (_runtime, here) = command_line(&options.common, &[])?;
    let tools = here.tools(options.dialect.as_deref())?;
    Ok(serde_json::to_string_pretty(&tools)? + "\n")
}

/// `pilcrow status`.
pub fn status(options: &StatusOptions) -> anyhow::Result<String> {
    let (_runtime, here) = command_line(&options.common, &[])?;
    Ok(serde_json::to_string_pretty(&here.status())? + "\n")
}

/// A result as JSON, for who reads it.
fn pretty(result: &impl Serialize) -> anyhow::Result<String> {
    let result: Value = serde_json::from_slice(&to_json(result)?)?;
    Ok(serde_json::to_string_pretty(&result)? + "\n")
}

/// The text blocks, each ended by a newline; what is not text is named.
fn printed(content: &[ContentBlock]) -> String {
    let mut out = String::new();
    for block in content {
        match block {
            ContentBlock::Text { text } => out.push_str(text),
            ContentBlock::Image { mime_type, .. } => out.push_str(&format!("[image: {mime_type}]")),
            ContentBlock::Resource { resource } => {
                out.push_str(&format!("[file: {}]", resource.mime_type));
            }
        }
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

impl Common {
    /// The folders that are given, absolute.
    fn folders(&self) -> anyhow::Result<Vec<PathBuf>> {
        let here = std::env::current_dir().context("There is no current directory")?;
        Ok(self.roots.iter().map(|root| here.join(root)).collect())
    }
}

/// Sets what `KEY=VALUE` says, one after the other.
fn assign<'a>(given: &mut Value, assignments: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    for assignment in assignments {
        let (key, value) = assignment
            .split_once('=')
            .ok_or_else(|| anyhow!("--set takes KEY=VALUE, not '{assignment}'"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        Settings::set(given, key, value);
    }
    Ok(())
}

fn read_settings(given: &Value) -> anyhow::Result<Settings> {
    let (settings, problems) = Settings::read(given);
    match problems.first() {
        Some(problem) => Err(anyhow!("{problem}")),
        None => Ok(settings),
    }
}

/// An engine of this process, and the runtime for it. `more` are settings beside the given ones.
fn command_line(common: &Common, more: &[&str]) -> anyhow::Result<(Runtime, CommandLine)> {
    let mut given = json!({});
    let assignments = common.settings.iter().map(String::as_str);
    assign(&mut given, assignments.chain(more.iter().copied()))?;
    let settings = read_settings(&given)?;
    let mut roots = common.folders()?;
    if roots.is_empty() {
        roots.push(std::env::current_dir().context("There is no current directory")?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("No runtime can be made")?;
    let threads = Threads::new(runtime.handle().clone());
    Ok((runtime, CommandLine::new(roots, settings, threads)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `pilcrow read` prints in the dialect `example`, which only tests have.
    fn in_example(root: &Path, path: &str) -> Result<String, String> {
        let options = ReadOptions {
            path: path.to_owned(),
            dialect: Some("example".to_owned()),
            json: false,
            common: common(root),
        };
        read(&options).map_err(|error| error.to_string())
    }

    fn common(root: &Path) -> Common {
        Common {
            roots: vec![root.to_owned()],
            settings: Vec::new(),
        }
    }

    #[test]
    fn one_more_dialect_costs_one_file_and_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let long: String = (1..=2001).map(|line| format!("line {line}\n")).collect();
        std::fs::write(root.join("a.txt"), "one\ntwo\n").expect("a file");
        std::fs::write(root.join("long.txt"), long).expect("a file");
        assert_eq!(in_example(root, "a.txt"), Ok("1. one\n2. two\n".to_owned()));
        let long = in_example(root, "long.txt").expect("a read");
        assert!(long.ends_with("\n2000. line 2000\n(go on from 2001)\n"));
        assert_eq!(
            in_example(root, "b.txt"),
            Err("Cannot read b.txt: File not found: b.txt.".to_owned())
        );
        let options = ToolsOptions {
            dialect: Some("example".to_owned()),
            common: common(root),
        };
        let tools: Value = serde_json::from_str(&tools(&options).expect("tools")).expect("JSON");
        let schema = &tools["tools"][0]["inputSchema"];
        assert_eq!(schema["required"], json!(["file"]));
        assert_eq!(schema["properties"]["from"]["minimum"], 1);
        assert_eq!(tools["tools"].as_array().map(Vec::len), Some(5));
    }
}
