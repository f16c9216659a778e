//! Arguments, logging and the exit code; nothing but this file prints or exits.

use std::io::Write;
use std::process::exit;

use clap::Parser;
use pilcrow::cli::{self, Arguments, Command};
use pilcrow::rpc::{self, Lifeline};
use pilcrow::server;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod logging;

fn main() {
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::Serve { stdio: true }) {
        Command::Serve { .. } => exit(serve()),
        Command::Read(options) => exit(print(cli::read(&options))),
        Command::Status(options) => exit(print(cli::status(&options))),
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

/// Serves one client over stdin and stdout; returns the exit code of the LSP.
fn serve() -> i32 {
    let log = logging::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("pilcrow cannot start: {error}");
            return 1;
        }
    };
    let code = runtime.block_on(async move {
        let lifeline = Lifeline::new();
        tokio::spawn(rpc::end_on_signals(lifeline.clone()));
        let on_settings = log.clone();
        let (face, socket) = server::build(server::Options {
            lifeline: lifeline.clone(),
            on_settings: Box::new(move |settings| on_settings.apply(&settings.log)),
        });
        let was_shut_down = face.was_shut_down();
        let (input, output) = (std::io::stdin(), std::io::stdout());
        let ending = rpc::serve(face, socket, input, output, server::limits(), lifeline).await;
        tracing::info!(?ending, "the daemon ends");
        log.flush();
        if was_shut_down() { 0 } else { 1 }
    });
    // The reader thread may sit in a read that never returns: leave without waiting for it.
    runtime.shutdown_background();
    code
}
