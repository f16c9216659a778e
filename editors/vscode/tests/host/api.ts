// What other extensions get: the calls, sessions, events and errors; the second extension is the one in docs/example, never a copy.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { SnapshotChange } from "../../api/index";
import { file, pilcrow, refusal, show, tag, text, type, type Tests, until } from "./harness";

export const api: Tests = [
  [
    "a second extension reads and edits through the API",
    async () => {
      const editor = await show(file("stamped.ts", "let a = 1;\n"));
      await type(editor, 0, 0, "export ");
      assert.match(await vscode.commands.executeCommand<string>("pilcrowExample.stamp"), /1:export let a = 1;/);
      assert.equal(editor.document.getText(), "// stamped\nexport let a = 1;\n");
    },
  ],
  [
    "lines that were shown to a session are not shown to another",
    async () => {
      const { openSession } = await pilcrow();
      file("sessions.txt", "a\nb\n");
      const [one, other] = [openSession("one"), openSession()];
      const first = tag(await one.read("sessions.txt"));
      const refused = await refusal(other.edit({ patch: `¶sessions.txt#${first}\nreplace 2:\n+B\n` }));
      assert.equal(refused.kind, "notShown");
      await one.edit({ patch: `¶sessions.txt#${first}\nreplace 2:\n+B\n` });
      one.dispose();
      other.dispose();
    },
  ],
  [
    "a change of shown lines is told, to its session alone",
    async () => {
      const { openSession, onDidChangeSnapshot } = await pilcrow();
      const editor = await show(file("watched.txt", "a\nb\n"));
      const [one, other] = [openSession("watching"), openSession("not watching")];
      const [told, toldOther, toldAll]: SnapshotChange[][] = [[], [], []];
      const heard = [one.onDidChangeSnapshot((change) => told!.push(change)), other.onDidChangeSnapshot((change) => toldOther!.push(change)), onDidChangeSnapshot((change) => toldAll!.push(change))];
      const first = tag(await one.read("watched.txt"));
      await type(editor, 1, 0, "typed ");
      const change = await until("the word of it", () => told![0]);
      const now = tag(await one.read("watched.txt"));
      assert.deepEqual(change, { session: "watching", path: "watched.txt", tag: first, newTag: now, changed: [{ start: 2, end: 2 }], actor: "editor" });
      assert.deepEqual([toldOther, toldAll!.filter((other) => other.session === "watching").length], [[], 1]);
      vscode.Disposable.from(...heard, one, other).dispose();
    },
  ],
  [
    "readMany and dryRun answer as the protocol says",
    async () => {
      const { read, readMany, edit } = await pilcrow();
      const uri = file("dry.txt", "a\n");
      const { results } = await readMany({ targets: [{ path: "dry.txt" }, { path: "no-such.txt" }] });
      assert.ok(results[0]?.ok && text(results[0].ok).endsWith("1:a"));
      assert.equal(results[1]?.error?.data?.kind, "notFound");
      const { details } = await edit({ patch: `¶dry.txt#${tag(await read("dry.txt"))}\nreplace 1:\n+A\n`, dryRun: true });
      assert.ok(details.dryRun && details.files[0]?.diff.includes("-a\n+A\n"));
      assert.equal((await vscode.workspace.openTextDocument(uri)).getText(), "a\n");
    },
  ],
  [
    "a cancelled call is refused",
    async () => {
      const { read } = await pilcrow();
      const source = new vscode.CancellationTokenSource();
      const reading = read("**no such name**", source.token);
      source.cancel();
      await refusal(reading);
    },
  ],
];
