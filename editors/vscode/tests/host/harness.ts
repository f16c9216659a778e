// Runs tests in the extension host and reports each in a line of a file; no test is ever skipped, and none waits for a time to pass.
import * as assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Pilcrow, PilcrowError, ReadResult } from "../../api/index";

/** How long one test may take on a machine that is busy with other things: a hang guard, not a wait. */
const HANG = 120_000;

export type Tests = [name: string, run: () => Promise<void>][];

export async function report(tests: Tests): Promise<void> {
  const file = process.env["PILCROW_TEST_REPORT"];
  assert.ok(file);
  let failed = 0;
  for (const [name, run] of tests) {
    let error: string | undefined;
    try {
      await within(run(), name);
    } catch (caught) {
      failed += 1;
      error = (caught instanceof Error ? caught.stack : undefined) ?? String(caught);
    }
    appendFileSync(file, `${JSON.stringify({ name, error })}\n`);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors").then(undefined, () => undefined);
  }
  if (failed > 0) {
    throw new Error(`${failed} failed`);
  }
}

async function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hung: ${what}`)), HANG);
  });
  try {
    return await Promise.race([work, hung]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until something holds. */
export async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + HANG - 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`never came: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function pilcrow(): Promise<Pilcrow> {
  const extension = vscode.extensions.getExtension<Pilcrow>("pilcrow.pilcrow");
  assert.ok(extension, "the extension is there");
  return extension.activate();
}

export function folder(): string {
  const first = vscode.workspace.workspaceFolders?.[0];
  assert.ok(first, "a folder is open");
  return first.uri.fsPath;
}

export function file(name: string, content: string | Uint8Array): vscode.Uri {
  const full = path.join(folder(), name);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, content);
  return vscode.Uri.file(full);
}

export function bytes(uri: vscode.Uri): Buffer {
  return readFileSync(uri.fsPath);
}

export async function show(uri: vscode.Uri): Promise<vscode.TextEditor> {
  return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false });
}

/** Types at a place, as an edit of the user. */
export async function type(editor: vscode.TextEditor, line: number, character: number, text: string): Promise<void> {
  const done = await editor.edit((edit) => edit.insert(new vscode.Position(line, character), text));
  assert.ok(done, "typed");
}

export function text(result: { content: ReadResult["content"] }): string {
  const [block] = result.content;
  assert.equal(block?.type, "text");
  return block?.type === "text" ? block.text : "";
}

export function tag(result: ReadResult): string {
  const tag = result.details.hashline?.tag;
  assert.ok(tag, "a tag");
  return tag;
}

export async function refusal(work: Promise<unknown>): Promise<PilcrowError> {
  const error: unknown = await work.then(
    () => assert.fail("not refused"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof Error);
  return error as PilcrowError;
}

/** The daemons that this extension host has started. */
export function daemons(): number[] {
  const isOurs = (pid: string): boolean => {
    try {
      const parent = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return Number(parent) === process.pid && command.includes("serve") && command.includes("--stdio");
    } catch {
      return false;
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isOurs(name)).map(Number);
}
