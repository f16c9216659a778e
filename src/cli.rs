//! One-shot commands over the same engine, in process; nothing in here prints.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, Parser, Subcommand};
use serde_json::{Map, Value, json};

use crate::buffer::{Detour, Lane, Overlays};
use crate::protocol::Settings;
use crate::protocol::read::{ContentBlock, ReadResult};
use crate::read::Ask;
use crate::server::{self, Engine};
use crate::task::{CancelToken, Work};

/// Pilcrow reads files for coding agents.
///
/// Editors start it as a language server: `pilcrow serve --stdio` speaks JSON-RPC over stdin and
/// stdout, keeps files warm, and answers `agent/read` with exactly what a model should see. The
/// other commands do one thing over the same engine and exit.
#[derive(Debug, Parser)]
#[command(name = "pilcrow", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Serve over stdin and stdout, as `serve` does
    #[arg(long)]
    pub stdio: bool,
}

const EXAMPLES: &str = "\
Examples:
  pilcrow read src/main.rs              the file, numbered, under its snapshot header
  pilcrow read src/main.rs:40-60        a range (with a little context)
  pilcrow read 'src/main.rs:1-9,80-90'  several ranges, exactly
  pilcrow read notes.txt:-20            the last 20 lines
  pilcrow read src/main.rs:5-9:raw      the text itself
  pilcrow read .env --set access.deny='[]'

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
    /// Read a path and print what a model would see
    Read(ReadOptions),
    /// Print what the engine reports of itself, as JSON
    Status(StatusOptions),
}

#[derive(Debug, Args)]
pub struct ReadOptions {
    /// A path, which may end in a selector (`:5-9`, `:-20`, `:raw`)
    pub path: String,
    /// How the answer is written: hashline, numbered or plain
    #[arg(long)]
    pub dialect: Option<String>,
    /// Print the whole result of `agent/read`
    #[arg(long)]
    pub json: bool,
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
    let engine = engine(&options.common)?;
    let world = engine.world();
    let mut params = Map::new();
    params.insert("path".to_owned(), json!(options.path));
    if let Some(dialect) = &options.dialect {
        params.insert("dialect".to_owned(), json!(dialect));
    }
    let ask = Ask::parse(&Value::Object(params), "default", &world.settings)?;
    let work = Work::new(CancelToken::new(), std::time::Duration::from_secs(60));
    let no_editor = Overlays::default();
    let prepared =
        engine
            .reader
            .prepare(&ask, &world.scope, &no_editor, Lane::Long, &work, &|_| ());
    let prepared = prepared.map_err(|detour| match detour {
        Detour::Refused(refusal) => anyhow!(refusal),
        Detour::TakesLong => anyhow!("the read takes too long"),
    })?;
    let (result, _) = engine.reader.finish(&ask, &prepared, None);
    match options.json {
        true => Ok(serde_json::to_string_pretty(&result)? + "\n"),
        false => Ok(printed(&result)),
    }
}

/// `pilcrow status`.
pub fn status(options: &StatusOptions) -> anyhow::Result<String> {
    let engine = engine(&options.common)?;
    let status = server::status_of(&engine);
    Ok(serde_json::to_string_pretty(&status)? + "\n")
}

/// The text blocks, each ended by a newline; what is not text is named.
fn printed(result: &ReadResult) -> String {
    let mut out = String::new();
    for block in &result.content {
        match block {
            ContentBlock::Text { text } => out.push_str(text),
            ContentBlock::Image { mime_type, .. } => out.push_str(&format!("[image: {mime_type}]")),
        }
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

fn engine(common: &Common) -> anyhow::Result<Engine> {
    let mut given = json!({});
    for assignment in &common.settings {
        let (key, value) = assignment
            .split_once('=')
            .ok_or_else(|| anyhow!("--set takes KEY=VALUE, not '{assignment}'"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        Settings::set(&mut given, key, value);
    }
    let (settings, problems) = Settings::read(&given);
    if let Some(problem) = problems.first() {
        return Err(anyhow!("{problem}"));
    }
    let here = std::env::current_dir().context("There is no current directory")?;
    let mut roots: Vec<PathBuf> = common.roots.iter().map(|root| here.join(root)).collect();
    if roots.is_empty() {
        roots.push(here);
    }
    Ok(Engine::new(roots, settings))
}
