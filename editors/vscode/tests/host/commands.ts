// Commands that need no clicks; those that do are in tests/drive.
import * as assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { file, pilcrow, show, type, type Tests, until } from "./harness";

function source(): string {
  const functions = Array.from({ length: 20 }, (_, at) => {
    const rows = Array.from({ length: 8 }, (_, row) => `    let value_${row} = ${row};`);
    return [`fn number_${at}() {`, ...rows, "}", ""].join("\n");
  });
  return functions.join("\n");
}

export const commands: Tests = [
  [
    "Read… from the explorer opens the answer, read-only",
    async () => {
      const uri = file("explored.txt", "a\nb\n");
      await vscode.commands.executeCommand("pilcrow.read", uri);
      const document = vscode.window.activeTextEditor?.document;
      assert.equal(document?.uri.scheme, "pilcrow");
      assert.match(document.getText(), /^¶explored\.txt#[0-9A-F]{4}\n1:a\n2:b$/);
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, new vscode.Position(0, 0), "x");
      await vscode.workspace.applyEdit(edit).then(undefined, () => undefined);
      assert.equal(document.isDirty, false);
    },
  ],
  [
    "Fold to Summary folds what the daemon folds, of unsaved text",
    async () => {
      const editor = await show(file("folded.rs", source()));
      const { read } = await pilcrow();
      // On a busy machine an outline may run out of its time; that of another text is tried anew.
      const summary = await until("a summary", async () => {
        await type(editor, 0, 0, "// unsaved\n\n");
        return (await read(editor.document.uri.fsPath)).details.summary;
      });
      const spans = summary.elidedSpans;
      assert.ok(spans.length >= 10, JSON.stringify(summary));
      editor.selection = new vscode.Selection(0, 0, 0, 0);
      const first = (spans[0]?.start ?? 1) - 1;
      editor.revealRange(new vscode.Range(first, 0, first, 0), vscode.TextEditorRevealType.AtTop);
      const isVisible = (line: number) => editor.visibleRanges.some((range) => range.start.line <= line && line <= range.end.line);
      await until("the reveal", () => isVisible(first) && isVisible(first + 5));
      await vscode.commands.executeCommand("pilcrow.foldToSummary");
      // What is seen and selected is heard of step by step.
      await until("folded bodies, of which the first lines are seen", () => spans.slice(0, 5).every(({ start, end }) => isVisible(start - 1) && !isVisible(end - 2)));
      await until("the selection as it was", () => editor.selections.length === 1 && editor.selection.isEqual(new vscode.Selection(0, 0, 0, 0)));
    },
  ],
  [
    "Show Status opens what the daemon says of itself",
    async () => {
      await vscode.commands.executeCommand("pilcrow.showStatus");
      const status = JSON.parse(vscode.window.activeTextEditor?.document.getText() ?? "{}");
      assert.deepEqual([status.program.from, status.protocol, status.roots.length], ["PATH", 1, 1]);
    },
  ],
  [
    "every command of the palette is registered, and no other",
    async () => {
      await pilcrow();
      const extension = vscode.extensions.getExtension("pilcrow.pilcrow");
      const manifest = JSON.parse(readFileSync(path.join(extension?.extensionPath ?? "", "package.json"), "utf8"));
      const declared = manifest.contributes.commands.map(({ command }: { command: string }) => command).sort();
      const registered = (await vscode.commands.getCommands(true)).filter((name) => /^pilcrow\.\w+$/.test(name)).sort();
      assert.deepEqual(registered, declared);
    },
  ],
];
