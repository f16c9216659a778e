#!/usr/bin/env node
// Starts the program of this platform in the place of this process where Node can do that, else beside it: then signals
// are passed on, and its exit code or signal becomes this process's own.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { scope, version } = (() => {
  const { name, version } = require("./package.json");
  return { scope: name.split("/")[0], version };
})();

/** Whether the C library of this system is musl. */
function isMusl() {
  if (process.platform !== "linux") {
    return false;
  }
  const report = process.report;
  // Looking up host names of open sockets could take seconds.
  report.excludeNetwork = true;
  return !report.getReport().header.glibcVersionRuntime;
}

/** The packages that may have the program, the one that fits best first: musl's runs everywhere. */
function candidates() {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") {
    return [base];
  }
  return isMusl() ? [`${base}-musl`] : [base, `${base}-musl`];
}

function program() {
  const names = candidates();
  for (const name of names) {
    try {
      return require.resolve(`${scope}/${name}/bin/pilcrow`);
    } catch {
      // Not installed: the next one.
    }
  }
  console.error(
    `pilcrow ${version}: there is no program for ${names[0]} beside this package. ` +
      `Install again without --no-optional (npm i -g ${scope}/pilcrow), or build from source.`,
  );
  process.exit(1);
}

const file = program();
const args = process.argv.slice(2);
if (typeof process.execve === "function" && process.platform !== "win32") {
  // It gives back only where it fails.
  try {
    process.execve(file, [file, ...args], process.env);
  } catch {
    // Then beside this process.
  }
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
