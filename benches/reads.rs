//! Reads under a clock, each beside the least that could be done instead; nothing here judges a time.

mod support;

use divan::Bencher;

use serde_json::json;

use support::{Answer, InProcess, Pair, Peer, READERS, SETTLED, Workspace, request};

// The daemon's own allocator, for the echo and for reads in this process.
fn main() -> Answer<()> {
    if !support::serve_if_asked()? {
        divan::main();
    }
    Ok(())
}

/// Its files are gone as soon as it is dropped: each bench holds its own to its end.
fn workspace() -> Workspace {
    Workspace::new().expect("a workspace")
}

mod warm_read_over_pipes {
    use super::*;

    #[divan::bench]
    fn read(bencher: Bencher) {
        let workspace = workspace();
        let mut pair = Pair::new(&workspace, 1).expect("a daemon and an echo");
        bencher.bench_local(|| pair.read().expect("an answer"));
    }

    #[divan::bench]
    fn echo(bencher: Bencher) {
        let workspace = workspace();
        let mut pair = Pair::new(&workspace, 1).expect("a daemon and an echo");
        bencher.bench_local(|| pair.echo().expect("an answer"));
    }
}

mod warm_read_of_200_kb_over_pipes {
    use super::*;

    fn pair(workspace: &Workspace) -> Pair {
        let large = ["src/large.rs".to_owned()];
        Pair::of(workspace, &large).expect("a daemon and an echo")
    }

    #[divan::bench]
    fn read(bencher: Bencher) {
        let workspace = workspace();
        let mut pair = pair(&workspace);
        bencher.bench_local(|| pair.read().expect("an answer"));
    }

    #[divan::bench]
    fn echo(bencher: Bencher) {
        let workspace = workspace();
        let mut pair = pair(&workspace);
        bencher.bench_local(|| pair.echo().expect("an answer"));
    }
}

/// The same page of the same text, as an artifact and as a file of the workspace, both warm. Around the
/// lines of a file stand one before and three after.
mod page_of_an_artifact_over_pipes {
    use super::*;

    fn warm(workspace: &Workspace, path: &str) -> Answer<(Peer, Vec<u8>)> {
        let mut daemon = Peer::daemon(workspace.path())?;
        let put = json!({ "path": "src/large.rs", "mimeType": "text/plain" });
        daemon.result(&request("agent/putArtifact", put))?;
        std::thread::sleep(SETTLED);
        let read = request("agent/read", json!({ "path": path }));
        daemon.exchange(&read)?;
        match daemon.result(&read)?["details"]["cache"] == "hit" {
            true => Ok((daemon, read)),
            false => Err("the second read is not warm".into()),
        }
    }

    #[divan::bench]
    fn artifact(bencher: Bencher) {
        let workspace = workspace();
        let (mut daemon, read) = warm(&workspace, "artifact://1:1000-1300").expect("a daemon");
        bencher.bench_local(|| daemon.exchange(&read).expect("an answer").len());
    }

    #[divan::bench]
    fn file(bencher: Bencher) {
        let workspace = workspace();
        let (mut daemon, read) = warm(&workspace, "src/large.rs:1001-1297").expect("a daemon");
        bencher.bench_local(|| daemon.exchange(&read).expect("an answer").len());
    }
}

mod sixteen_readers_over_pipes {
    use super::*;

    #[divan::bench]
    fn reads(bencher: Bencher) {
        let workspace = workspace();
        let mut pair = Pair::new(&workspace, READERS).expect("a daemon and an echo");
        bencher.bench_local(|| pair.read().expect("answers"));
    }

    #[divan::bench]
    fn echoes(bencher: Bencher) {
        let workspace = workspace();
        let mut pair = Pair::new(&workspace, READERS).expect("a daemon and an echo");
        bencher.bench_local(|| pair.echo().expect("answers"));
    }
}

mod warm_read_in_process {
    use super::*;

    #[divan::bench]
    fn read(bencher: Bencher) {
        let workspace = workspace();
        let read = InProcess::new(&workspace, &support::small(0)).expect("a scope");
        let reader = InProcess::reader();
        bencher.bench(|| read.read(&reader).expect("an answer"));
    }
}

mod cold_read_of_200_kb_in_process {
    use super::*;

    #[divan::bench]
    fn read(bencher: Bencher) {
        let workspace = workspace();
        let read = InProcess::new(&workspace, "src/large.rs").expect("a scope");
        bencher
            .with_inputs(InProcess::reader)
            .bench_refs(|reader| read.read(reader).expect("an answer"));
    }

    #[divan::bench]
    fn read_to_string(bencher: Bencher) {
        let workspace = workspace();
        let path = workspace.large();
        bencher.bench(|| std::fs::read_to_string(&path).expect("a text"));
    }
}

mod start_up_to_first_answer {
    use super::*;

    #[divan::bench(sample_count = 30)]
    fn daemon(bencher: Bencher) {
        let workspace = workspace();
        bencher.bench_local(|| support::start_up(&workspace).expect("an answer"));
    }

    #[divan::bench(sample_count = 30)]
    fn echo(bencher: Bencher) {
        let workspace = workspace();
        bencher.bench_local(|| support::echo_start_up(&workspace).expect("an answer"));
    }
}
