// The daemon killed under the extension: started again with what is open, and given up on after five times; a read is never lost by it.
import * as assert from "node:assert/strict";
import { readFile, readFileSync } from "node:fs";
import * as vscode from "vscode";
import { daemons, file, pilcrow, refusal, show, text, type, type Tests, until } from "./harness";

async function theDaemon(): Promise<number> {
  const pids = await until("one daemon", () => {
    const found = daemons();
    return found.length === 1 ? found : undefined;
  });
  return pids[0]!;
}

export const crashes: Tests = [
  [
    "killed with -9, it is started again and knows the open documents",
    async () => {
      const { read } = await pilcrow();
      const editor = await show(file("survives.txt", "a\n"));
      await type(editor, 0, 0, "unsaved ");
      const untitled = await vscode.workspace.openTextDocument({ content: "untitled\n" });
      const first = await theDaemon();
      process.kill(first, "SIGKILL");
      // The read may meet the old daemon's end or the new one's start.
      const result = await read("survives.txt");
      assert.match(text(result), /1:unsaved a$/);
      assert.equal(result.details.dirty, true);
      assert.match(text(await read(untitled.uri.toString())), /1:untitled$/);
      assert.notEqual(await theDaemon(), first);
    },
  ],
  [
    "a read that is written to a daemon just dead is answered by the next one",
    async () => {
      const { read } = await pilcrow();
      const uri = file("just-dead.txt", "a\n");
      await read("just-dead.txt");
      const pid = await theDaemon();
      // After a file's callback the write comes before the loop looks at what has ended: it meets a broken pipe.
      await new Promise<void>((resolve) => readFile(uri.fsPath, () => resolve()));
      process.kill(pid, "SIGKILL");
      while (!/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) {
        // Not a turn of the loop is to pass.
      }
      assert.match(text(await read("just-dead.txt")), /1:a$/);
    },
  ],
  [
    "after five crashes in three minutes it is given up on, says so, and Restart starts it",
    async () => {
      const { read } = await pilcrow();
      file("after.txt", "a\n");
      // Two crashes were in the tests before.
      for (let crash = 3; crash <= 5; crash += 1) {
        await read("after.txt");
        process.kill(await theDaemon(), "SIGKILL");
        await until("its end", () => read("after.txt").then((result) => text(result).length > 0, () => true));
      }
      const refused = await refusal(read("after.txt"));
      assert.match(refused.message, /crashed 5 times within 3 minutes/);
      assert.deepEqual(daemons(), []);
      await vscode.commands.executeCommand("pilcrow.restart");
      assert.match(text(await read("after.txt")), /1:a$/);
    },
  ],
];
