// The status item: whether the daemon runs, and what it keeps warm; never asks while nobody reads.
import * as vscode from "vscode";
import type { Daemon, Life } from "./daemon";
import { messageOf } from "./refusal";

interface Warm {
  buffers: { count: number; bytes: number; budgetBytes: number };
  sessions: number;
  problems: string[];
}

/** How soon after an answer the numbers are asked for; more answers within that time cost nothing. */
const SOON = 300;

export function statusItem(daemon: Daemon): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("pilcrow.status", vscode.StatusBarAlignment.Left, 10);
  item.name = "Pilcrow";
  item.command = "pilcrow.showLog";
  let timer: NodeJS.Timeout | undefined;
  const ask = () => {
    timer = undefined;
    daemon.request<Warm>("agent/status", {}).then(
      (warm) => showWarm(item, daemon.life, warm),
      (error: unknown) => {
        item.tooltip = messageOf(error);
      },
    );
  };
  const soon = () => {
    timer ??= setTimeout(ask, SOON);
  };
  showLife(item, daemon.life);
  item.show();
  return vscode.Disposable.from(
    item,
    daemon.onDidChangeLife((life) => {
      showLife(item, life);
      if (life.is === "running") {
        soon();
      }
    }),
    daemon.onDidAnswer((method) => {
      if (method !== "agent/status" && daemon.life.is === "running") {
        soon();
      }
    }),
    { dispose: () => clearTimeout(timer) },
  );
}

function showLife(item: vscode.StatusBarItem, life: Life): void {
  const stopped = life.is === "stopped";
  item.text = life.is === "starting" ? "$(sync~spin) Pilcrow" : stopped ? "$(error) Pilcrow" : "¶ Pilcrow";
  item.tooltip = stopped ? life.why : life.is === "starting" ? "Pilcrow is starting" : "Pilcrow is running";
  item.backgroundColor = stopped ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
}

function showWarm(item: vscode.StatusBarItem, life: Life, { buffers, sessions, problems }: Warm): void {
  if (life.is !== "running") {
    return;
  }
  const files = `${buffers.count} warm ${buffers.count === 1 ? "file" : "files"}, ${size(buffers.bytes)}`;
  item.text = `¶ ${buffers.count} · ${size(buffers.bytes)}`;
  const lines = [`Pilcrow ${life.found.version} (${life.found.from})`, `${files} of ${size(buffers.budgetBytes)}`, `${sessions} sessions`, ...problems];
  item.tooltip = lines.join("\n");
  item.accessibilityInformation = { label: `Pilcrow: ${files}` };
}

function size(bytes: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let rest = bytes;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${unit === 0 || rest >= 10 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}
