// The settings of this extension; those for the daemon are taken from the user alone, never from a folder, which may be hostile.
import * as vscode from "vscode";

export type Confirm = "always" | "outsideVersionControl" | "never";

/** The sections of the daemon's own settings. */
const OF_THE_DAEMON = /^pilcrow\.((?:read|edit|access|images|web|internal|artifacts|mcp|github|memory|watch|log)\.\S+)$/;

/** What starts the daemon. Both are restricted: of a folder that is not trusted VS Code itself leaves them out. */
export function server(): { path: string | undefined; extraEnv: Record<string, string> } {
  const settings = vscode.workspace.getConfiguration("pilcrow.server");
  return {
    path: settings.get<string | null>("path") || undefined,
    extraEnv: settings.get<Record<string, string>>("extraEnv") ?? {},
  };
}

export function confirmEdits(): Confirm {
  return vscode.workspace.getConfiguration("pilcrow").get<Confirm>("confirmEdits") ?? "always";
}

export function saveAfterEdit(): boolean {
  return vscode.workspace.getConfiguration("pilcrow").get<boolean>("saveAfterEdit") ?? false;
}

/** What this window says and nobody sets. */
export interface OfTheWindow {
  /** Of a folder that is not trusted no skill, rule or memory is given. */
  isTrusted: boolean;
  /** Undefined for a process whose sessions end with it: of those that last one daemon is in charge. */
  sessionDirectory: string | undefined;
}

/** The daemon's settings object, with what the user has set and nothing else, so that the defaults are the daemon's own. */
export function forTheDaemon(extension: vscode.Extension<unknown>, { isTrusted, sessionDirectory }: OfTheWindow): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  const properties: object = extension.packageJSON.contributes.configuration.properties;
  for (const name of Object.keys(properties)) {
    const key = OF_THE_DAEMON.exec(name)?.[1];
    const value = key && vscode.workspace.getConfiguration("pilcrow").inspect(key)?.globalValue;
    if (key && value !== undefined) {
      put(settings, key.split("."), value);
    }
  }
  if (sessionDirectory !== undefined) {
    put(settings, ["internal", "sessionDirectory"], sessionDirectory);
  }
  if (!isTrusted) {
    put(settings, ["internal", "workspace"], false);
  }
  return settings;
}

function put(object: Record<string, unknown>, [first, ...rest]: string[], value: unknown): void {
  if (first === undefined) {
    return;
  }
  if (rest.length === 0) {
    object[first] = value;
    return;
  }
  const inner = (object[first] ??= {}) as Record<string, unknown>;
  put(inner, rest, value);
}
