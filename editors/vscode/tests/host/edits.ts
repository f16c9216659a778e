// Edits of open documents: one undo step each, at the right version or not at all, and nothing saved that the user has typed.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { applyEdit } from "../../src/applyEdit";
import { bytes, file, pilcrow, refusal, show, tag, text, type, type Tests, until } from "./harness";

/** A change as the daemon asks for it. */
function change(uri: vscode.Uri, version: number, newText: string) {
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  return { edit: { documentChanges: [{ textDocument: { uri: uri.toString(), version }, edits: [{ range, newText }] }] } };
}

export const edits: Tests = [
  [
    "a clean document follows a file that is moved, and closes when it is deleted",
    async () => {
      const { read, edit } = await pilcrow();
      const uri = file("follows.txt", "a\nb\n");
      await show(uri);
      const shownNow = () => vscode.window.tabGroups.all.flatMap(({ tabs }) =>
        tabs.flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri.toString()] : [])));
      const first = tag(await read("follows.txt"));
      const moved = await edit({ patch: `¶follows.txt#${first}\nreplace 2:\n+B\nmove file to followed/there.txt\n` });
      const now = moved.details.files[0];
      assert.deepEqual([now?.path, now?.via, now?.warnings], ["followed/there.txt", "disk", []]);
      const there = vscode.Uri.joinPath(uri, "../followed/there.txt");
      assert.equal(bytes(there).toString(), "a\nB\n");
      await until("the file where it is now", () => shownNow().includes(there.toString()) && !shownNow().includes(uri.toString()));
      assert.equal(vscode.window.activeTextEditor?.document.getText(), "a\nB\n");
      assert.equal(vscode.window.activeTextEditor?.document.isDirty, false);
      await edit({ patch: `¶followed/there.txt#${now?.tag}\ndelete file\n` });
      await until("the end of its tab", () => !shownNow().includes(there.toString()));
      await edit({ patch: `¶followed/there.txt#${now?.tag}\nundo\n` });
      assert.equal(bytes(there).toString(), "a\nB\n");
    },
  ],
  [
    "a document with unsaved changes keeps its file",
    async () => {
      const { read, edit } = await pilcrow();
      const editor = await show(file("stays.txt", "a\n"));
      await type(editor, 0, 1, " typed");
      const first = tag(await read("stays.txt"));
      const refused = await refusal(edit({ patch: `¶stays.txt#${first}\nmove file to elsewhere.txt\n` }));
      assert.equal(refused.kind, "unsupported");
      assert.equal(editor.document.getText(), "a typed\n");
      assert.equal(bytes(editor.document.uri).toString(), "a\n");
    },
  ],
  [
    "an edit of a dirty buffer is one undo step, and its file is left alone",
    async () => {
      const { read, edit } = await pilcrow();
      const editor = await show(file("dirty.txt", "a\nb\nc\nd\n"));
      await type(editor, 3, 1, " typed");
      const before = editor.document.getText();
      const first = tag(await read("dirty.txt"));
      const result = await edit({ patch: `¶dirty.txt#${first}\nreplace 1:\n+A\nreplace 3..4:\n+C\ninsert tail:\n+end\n` });
      assert.equal(editor.document.getText(), "A\nb\nC\nend\n");
      assert.deepEqual([result.details.files[0]?.via, result.details.files[0]?.persisted], ["editor", false]);
      assert.equal(bytes(editor.document.uri).toString(), "a\nb\nc\nd\n");
      assert.equal(result.details.files[0]?.tag, tag(await read("dirty.txt")));
      await vscode.commands.executeCommand("undo");
      assert.equal(editor.document.getText(), before);
      await vscode.commands.executeCommand("redo");
      assert.equal(editor.document.getText(), "A\nb\nC\nend\n");
    },
  ],
  [
    "two edits are two undo steps",
    async () => {
      const { read, edit } = await pilcrow();
      const editor = await show(file("steps.txt", "a\nb\n"));
      const first = await edit({ patch: `¶steps.txt#${tag(await read("steps.txt"))}\nreplace 1:\n+A\n` });
      await edit({ patch: `¶steps.txt#${first.details.files[0]?.tag}\nreplace 2:\n+B\n` });
      assert.equal(editor.document.getText(), "A\nB\n");
      await vscode.commands.executeCommand("undo");
      assert.equal(editor.document.getText(), "A\nb\n");
      await vscode.commands.executeCommand("undo");
      assert.equal(editor.document.getText(), "a\nb\n");
    },
  ],
  [
    "a line the user typed into meanwhile is refused, and right on retry from the error alone",
    async () => {
      const { read, edit } = await pilcrow();
      const editor = await show(file("meanwhile.txt", "a\nb\nc\n"));
      const first = tag(await read("meanwhile.txt"));
      await type(editor, 1, 1, " typed");
      const refused = await refusal(edit({ patch: `¶meanwhile.txt#${first}\nreplace 2:\n+B\n` }));
      assert.equal(refused.kind, "stale");
      assert.equal(editor.document.getText(), "a\nb typed\nc\n");
      const live = refused.data.files?.[0];
      assert.deepEqual(live?.lines.find((row) => row.line === 2), { line: 2, text: "b typed" });
      await edit({ patch: `¶meanwhile.txt#${live?.tag}\nreplace 2:\n+B\n` });
      assert.equal(editor.document.getText(), "a\nB\nc\n");
    },
  ],
  [
    "a user who types all the time loses no keystroke, and no edit lands on a wrong line",
    async () => {
      const { read, edit } = await pilcrow();
      const rows = Array.from({ length: 40 }, (_, at) => `row ${at + 1}`);
      const editor = await show(file("storm.txt", `${rows.join("\n")}\n`));
      let typing = true;
      let steps = 1;
      let typed = 0;
      let landed = 0;
      const refusals: string[] = [];
      const user = (async () => {
        while (typing) {
          // Above, so that every edit has to move, and into the line that is edited, so that some are refused.
          const at = editor.document.getText().split("\n").findIndex((row) => row.startsWith("row 20"));
          const line = typed % 3 === 0 ? at : 0;
          const end = editor.document.lineAt(line).range.end;
          if (await editor.edit((builder) => builder.insert(end, typed % 3 === 1 ? "\n*" : "*"))) {
            typed += 1;
          }
          // Nobody types without any pause: one stroke for each step of the agent.
          await until("the agent", () => !typing || typed < steps);
        }
      })();
      const edited = new Map<number, number>();
      for (let round = 1; round <= 40; round += 1) {
        steps += 1;
        const result = await read({ path: "storm.txt", selector: "raw" });
        const row = round % 4 === 0 ? 20 : round <= 20 ? round : round - 20;
        const numbered = text(result).split("\n");
        const at = numbered.findIndex((line) => new RegExp(`^row ${row}(?!\\d)`).test(line)) + 1;
        assert.ok(at > 0, `row ${row} is there`);
        const now = numbered[at - 1]?.replaceAll("*", "") ?? "";
        const stars = numbered[at - 1]?.match(/\*/g)?.length ?? 0;
        const done = await edit({ files: [{ path: "storm.txt", tag: tag(result), edits: [{ op: "replace", start: at, text: `${now}!${"*".repeat(stars)}` }] }] }).then(
          () => true,
          (error: unknown) => {
            assert.match((error as { kind?: string }).kind ?? "", /^(stale|busy)$/, String(error));
            refusals.push(String(error));
            return false;
          },
        );
        steps += 1;
        if (done) {
          landed += 1;
          edited.set(row, (edited.get(row) ?? 0) + 1);
        }
      }
      typing = false;
      await user;
      const final = editor.document.getText();
      assert.equal(final.match(/\*/g)?.length, typed, "every keystroke is there");
      for (let row = 1; row <= 40; row += 1) {
        const line = final.split("\n").find((line) => new RegExp(`^row ${row}(?!\\d)`).test(line));
        assert.equal(line?.match(/!/g)?.length ?? 0, edited.get(row) ?? 0, `row ${row}: ${line}`);
      }
      assert.ok(landed > 0 && typed > 0, `${landed} edits, ${typed} keystrokes; ${refusals.at(-1)}`);
    },
  ],
  [
    "a past version and one to come are declined, and so is what is not open",
    async () => {
      const editor = await show(file("versions.txt", "a\n"));
      await type(editor, 0, 0, "x");
      const { uri, version } = editor.document;
      for (const other of [version - 1, version + 1, version + 100]) {
        const answer = await applyEdit(change(uri, other, "WRONG"));
        assert.equal(answer.applied, false);
        assert.match(answer.failureReason ?? "", /is at version/);
      }
      assert.equal(editor.document.getText(), "xa\n");
      assert.deepEqual(await applyEdit(change(uri, version, "y")), { applied: true });
      assert.equal(editor.document.getText(), "yxa\n");
      const unopened = file("unopened.txt", "a\n");
      assert.match((await applyEdit(change(unopened, 1, "WRONG"))).failureReason ?? "", /is not open/);
      assert.equal(bytes(unopened).toString(), "a\n");
    },
  ],
  [
    "an edit that the user's typing overtakes within VS Code is declined whole",
    async () => {
      const editor = await show(file("overtaken.txt", "a\n"));
      const { uri, version } = editor.document;
      // Both are on their way at once; the typing is first.
      const typed = editor.edit((builder) => builder.insert(new vscode.Position(0, 0), "typed "));
      const answer = applyEdit(change(uri, version, "AGENT "));
      assert.deepEqual([await typed, (await answer).applied], [true, false]);
      assert.equal(editor.document.getText(), "typed a\n");
    },
  ],
  [
    "flush saves a buffer that was clean, and never what the user has typed",
    async () => {
      const { read, edit, flush } = await pilcrow();
      // What the tests before left.
      await flush();
      const clean = await show(file("flush-clean.txt", "a\nb\n"));
      const theirs = await show(file("flush-theirs.txt", "a\nb\n"));
      await type(theirs, 1, 1, " typed");
      for (const name of ["flush-clean.txt", "flush-theirs.txt"]) {
        await edit({ patch: `¶${name}#${tag(await read(name))}\nreplace 1:\n+A\n` });
      }
      assert.equal(bytes(clean.document.uri).toString(), "a\nb\n");
      assert.ok(clean.document.isDirty);
      assert.deepEqual(await flush(), { saved: ["flush-clean.txt"], left: [] });
      assert.equal(bytes(clean.document.uri).toString(), "A\nb\n");
      assert.equal(clean.document.isDirty, false);
      assert.equal(theirs.document.getText(), "A\nb typed\n");
      assert.equal(bytes(theirs.document.uri).toString(), "a\nb\n");
      assert.deepEqual(await flush(), { saved: [], left: [] });
    },
  ],
  [
    "a document that nobody has open is written on disk, and shown by the editor that opens it",
    async () => {
      const { read, edit, write } = await pilcrow();
      const uri = file("closed.txt", "a\nb\n");
      const result = await edit({ patch: `¶closed.txt#${tag(await read("closed.txt"))}\ndelete 2\n` });
      assert.deepEqual([result.details.files[0]?.via, result.details.files[0]?.persisted], ["disk", true]);
      assert.equal((await show(uri)).document.getText(), "a\n");
      await write({ path: "made/new.txt", text: "new\n" });
      assert.match(text(await read("made/new.txt")), /1:new$/);
      assert.equal((await refusal(write({ path: "made/new.txt", text: "other\n" }))).kind, "exists");
    },
  ],
  [
    "several files of which some are open are one change",
    async () => {
      const { read, edit } = await pilcrow();
      const open = await show(file("both-open.txt", "a\n"));
      const closed = file("both-closed.txt", "a\n");
      const tags = [tag(await read("both-open.txt")), tag(await read("both-closed.txt"))];
      await edit({ patch: `¶both-open.txt#${tags[0]}\nreplace 1:\n+A\n¶both-closed.txt#${tags[1]}\nreplace 1:\n+B\n` });
      assert.deepEqual([open.document.getText(), bytes(closed).toString()], ["A\n", "B\n"]);
    },
  ],
  [
    "a document of no file is edited by its URI",
    async () => {
      const { read, edit } = await pilcrow();
      const document = await vscode.workspace.openTextDocument({ content: "a\nb\n" });
      const name = document.uri.toString();
      await edit({ patch: `¶${name}#${tag(await read(name))}\nreplace 2:\n+B\n` });
      assert.equal(document.getText(), "a\nB\n");
    },
  ],
];
