// Finds the daemon's program and asks its version; nothing is ever downloaded, and no folder of the workspace is ever searched.
import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import * as path from "node:path";

/** The program, where it was found, and the version it says it is. */
export interface Found {
  command: string;
  from: "setting" | "bundled" | "PATH";
  version: string;
}

export interface Places {
  setting: string | undefined;
  extension: string;
  env: NodeJS.ProcessEnv;
}

const PROGRAM = process.platform === "win32" ? "pilcrow.exe" : "pilcrow";

/** By the setting, else bundled, else on the PATH; an error says what to do. */
export async function find(places: Places): Promise<Found> {
  const { command, from } = locate(places);
  return { command, from, version: await version(command, from, places.env) };
}

function locate({ setting, extension, env }: Places): Omit<Found, "version"> {
  if (setting) {
    if (!path.isAbsolute(setting)) {
      throw new Error(`The setting pilcrow.server.path must be an absolute path, not '${setting}'.`);
    }
    return { command: setting, from: "setting" };
  }
  const bundled = path.join(extension, "server", PROGRAM);
  if (isProgram(bundled)) {
    return { command: bundled, from: "bundled" };
  }
  // An empty or relative entry would be a folder of the workspace.
  const folders = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const onPath = folders.map((folder) => path.join(folder, PROGRAM)).find(isProgram);
  if (onPath) {
    return { command: onPath, from: "PATH" };
  }
  throw new Error("pilcrow is neither bundled nor on the PATH. Install it, or name it in the setting pilcrow.server.path.");
}

/**
 * Why a daemon of that version is not to be used by an extension of this one: it must have the same major number and at
 * least the same minor one. Undefined where it may be.
 */
export function mismatch(own: string, daemon: string): string | undefined {
  const [major, minor] = own.split(".").map(Number);
  const [itsMajor, itsMinor] = daemon.split(".").map(Number);
  if (itsMajor === major && itsMinor! >= minor!) {
    return undefined;
  }
  const which = itsMajor! > major! ? "Update this extension" : `Update pilcrow (npm i -g @pilcrow/pilcrow@${major}, or as it was installed)`;
  return `pilcrow ${daemon} does not fit the extension, which needs ${major}.${minor} or a later ${major}.x. ${which}.`;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function version(command: string, from: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, ["--version"], { env, timeout: 10_000 }, (error, stdout) => {
      const said = /^pilcrow (\d+\.\d+\.\d+\S*)(?: \(.*\))?\s*$/.exec(stdout);
      if (said?.[1]) {
        resolve(said[1]);
        return;
      }
      const why = error?.message.trim() ?? `it says '${stdout.trim().slice(0, 100)}' when asked for its version`;
      reject(new Error(`${command} (${from}) is not a pilcrow that can be used: ${why}`));
    });
  });
}
