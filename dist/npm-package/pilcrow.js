#!/usr/bin/env node
// Starts the program of this platform in the place of this process where Node can do that, else beside it: then signals
// are passed on, and its exit code or signal becomes this process's own.
"use strict";

const { spawn } = require("node:child_process");
const { accessSync, constants: files } = require("node:fs");
const { constants } = require("node:os");
const { scope, version } = (() => {
  const { name, version } = require("./package.json");
  return { scope: name.split("/")[0], version };
})();

/** Whether the C library of this system is musl. */
function isMusl() {
  const report = process.report;
  // Looking up host names of open sockets could take seconds.
  report.excludeNetwork = true;
  return !report.getReport().header.glibcVersionRuntime;
}

/** The program of one of the packages beside this one. */
function installed(name) {
  try {
    return require.resolve(`${scope}/${name}/bin/pilcrow`);
  } catch {
    return undefined;
  }
}

function program() {
  const platform = `${process.platform}-${process.arch}`;
  const own = installed(platform);
  // npm installs one of the two, older ones both. musl's runs on every Linux, the other is faster where it runs; the
  // report takes longer than all else here.
  const musl = process.platform === "linux" ? installed(`${platform}-musl`) : undefined;
  const found = own && musl ? (isMusl() ? musl : own) : own || musl;
  if (!found) {
    console.error(
      `pilcrow ${version}: there is no program for ${platform} beside this package. ` +
        `Install again without --omit=optional (npm i -g ${scope}/pilcrow), or build from source.`,
    );
    process.exit(1);
  }
  return found;
}

function isExecutable(file) {
  try {
    accessSync(file, files.X_OK);
    return true;
  } catch {
    return false;
  }
}

const file = program();
const args = process.argv.slice(2);
// Node ends with a core dump where this fails: what can be known before is asked before.
if (typeof process.execve === "function" && isExecutable(file)) {
  process.execve(file, [file, ...args], process.env);
}

const child = spawn(file, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`pilcrow cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // As a shell says it; a signal of its own would be caught above.
  process.exit(128 + constants.signals[signal]);
});
