// The daemon as an MCP server for other extensions and agents in VS Code; it is started by VS Code when somebody wants it.
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import * as settings from "./settings";

/** As package.json contributes it. */
const ID = "pilcrow";
/** Agents let tools that only read run unasked: web addresses are read there only where the user says so at the start. */
const NOT_PASSED_ON = new Set(["web.enabled"]);

export function registerMcpServer(daemon: Daemon, extension: vscode.Extension<unknown>): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  return vscode.Disposable.from(
    changed,
    daemon.onDidChangeLife(() => changed.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("pilcrow")) {
        changed.fire();
      }
    }),
    vscode.lm.registerMcpServerDefinitionProvider(ID, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => definitions(daemon, extension),
    }),
  );
}

/** One server over all local folders; none where there are none, or where no daemon was found. */
export function definitions(daemon: Daemon, extension: vscode.Extension<unknown>): vscode.McpStdioServerDefinition[] {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  if (folders.length === 0 || daemon.life.is !== "running") {
    return [];
  }
  const { command, version } = daemon.life.found;
  const roots = folders.flatMap(({ uri }) => ["--root", uri.fsPath]);
  const window = { isTrusted: vscode.workspace.isTrusted, sessionDirectory: undefined };
  const set = leaves(settings.forTheDaemon(extension, window)).filter(([key]) => !NOT_PASSED_ON.has(key));
  const args = ["mcp", ...roots, ...set.flatMap(([key, value]) => ["--set", `${key}=${JSON.stringify(value)}`])];
  return [new vscode.McpStdioServerDefinition("Pilcrow", command, args, settings.server().extraEnv, version)];
}

/** Every key with a value that is no object: `read.contextLines.leading`. */
function leaves(object: Record<string, unknown>, prefix = ""): [string, unknown][] {
  return Object.entries(object).flatMap(([name, value]) => {
    const key = `${prefix}${name}`;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? leaves(value as Record<string, unknown>, `${key}.`) : [[key, value] as [string, unknown]];
  });
}
