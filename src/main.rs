//! Arguments, logging and the exit code; nothing but this file prints or exits.

#![warn(clippy::disallowed_methods)]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::exit;

use clap::Parser;
use pilcrow::cli::{self, Arguments, Command, McpOptions};
use pilcrow::mcp;
use pilcrow::protocol::Settings;
use pilcrow::rpc::{self, Shutdown};
use pilcrow::server;
use pilcrow::task::Threads;
use tokio::runtime::{Handle, Runtime};

#[allow(clippy::disallowed_methods, reason = "the log has its own folder")]
mod logging;

fn main() {
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::Serve { stdio: true }) {
        Command::Serve { .. } => exit(serving(serve)),
        Command::Mcp(options) => exit(serving(|| mcp(&options))),
        Command::Read(options) => exit(print(cli::read(&options))),
        Command::Search(options) => exit(print(cli::search(&options))),
        Command::Edit(options) => exit(print(cli::edit(&options))),
        Command::Tools(options) => exit(print(cli::tools(&options))),
        Command::Status(options) => exit(print(cli::status(&options))),
        Command::Worker(options) => exit(cli::work(&options)),
    }
}

/// Prints what a command gives, or its error; returns the exit code. A reader that went away
/// (`| head`) is not an error.
fn print(outcome: anyhow::Result<String>) -> i32 {
    match outcome {
        Ok(text) => {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            0
        }
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

/// Serves one client over stdin and stdout; returns the exit code that `serve` tells.
fn serving(serve: impl FnOnce() -> anyhow::Result<i32>) -> i32 {
    // The log is the place for a panic's words: stderr belongs to the editor's own log view.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    serve().unwrap_or_else(|error| {
        eprintln!("pilcrow cannot start: {error}");
        1
    })
}

/// Duplicates of stdin and stdout themselves: `Stdout` would flush after every line.
fn streams() -> std::io::Result<(File, rpc::Output)> {
    let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let output = rpc::Output::of(std::io::stdout().as_fd().try_clone_to_owned()?.into());
    Ok((input, output))
}

/// For timers and signals; calls have threads of their own.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Serves an agent until the end.
fn mcp(options: &McpOptions) -> anyhow::Result<i32> {
    let setup = options.setup()?;
    let shutdown = Shutdown::new();
    // Its end is the client's too, when a shell or another process still holds the pipe.
    rpc::watch_parent(shutdown.clone());
    let (input, output) = streams()?;
    let log = logging::start();
    let runtime = runtime()?;
    let served = runtime.block_on(async move {
        tokio::spawn(rpc::end_on_signals(shutdown.clone()));
        let threads = Threads::new(Handle::current());
        let applied = log.clone();
        let on_settings = Box::new(move |settings: &Settings| applied.apply(&settings.log));
        let served = mcp::serve(setup, input, output, threads, shutdown, on_settings).await;
        if let Ok(ending) = &served {
            tracing::info!(?ending, "the daemon ends");
        }
        log.flush();
        served
    });
    runtime.shutdown_background();
    served.map(|_| 0)
}

/// Serves an editor until the end; the exit code is the LSP's.
fn serve() -> anyhow::Result<i32> {
    let (input, output) = streams()?;
    let log = logging::start();
    let runtime = runtime()?;
    let was_shut_down = runtime.block_on(async move {
        let shutdown = Shutdown::new();
        tokio::spawn(rpc::end_on_signals(shutdown.clone()));
        let on_settings = log.clone();
        let connection = rpc::Connection::new(output, server::limits());
        let threads = Threads::new(Handle::current());
        let options = server::Options {
            shutdown: shutdown.clone(),
            threads: threads.clone(),
            on_settings: Box::new(move |settings| on_settings.apply(&settings.log)),
        };
        let front = server::build(options, connection.client());
        let was_shut_down = front.was_shut_down();
        let commits = front.commits();
        let ending = connection.serve(front, input, threads, shutdown).await;
        commits.settled(ending).await;
        tracing::info!(?ending, "the daemon ends");
        log.flush();
        was_shut_down()
    });
    // Who reads may sit in a read that never returns: leave without waiting for it.
    runtime.shutdown_background();
    Ok(i32::from(!was_shut_down))
}
