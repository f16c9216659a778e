// Where VS Code comes in and goes out; everything it is told to do is in another file, and activation never waits for the daemon.
import * as vscode from "vscode";
import type { Pilcrow } from "../api/index";
import { api } from "./calls";
import { registerCommands } from "./commands";
import { Daemon } from "./daemon";
import { registerMcpServer } from "./mcp";
import { statusItem } from "./status";
import { registerTools } from "./tools";
import { Views } from "./view";

let daemon: Daemon | undefined;

export function activate(context: vscode.ExtensionContext): Pilcrow {
  const log = vscode.window.createOutputChannel("Pilcrow", { log: true });
  daemon = new Daemon(context, log);
  const views = new Views();
  const registered = [registerCommands(daemon, views, log), registerTools(daemon), registerMcpServer(daemon, context.extension)];
  context.subscriptions.push(log, views, statusItem(daemon), ...registered);
  void daemon.start();
  return api(daemon);
}

export async function deactivate(): Promise<void> {
  await daemon?.dispose();
}
