// Reads of what the user sees: started, unsaved, untitled, closed, renamed; nothing is read from disk that the editor knows better.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { stateAfterSync } from "../../src/documents";
import { file, folder, pilcrow, refusal, show, text, type, type Tests, bytes, until } from "./harness";

export const reads: Tests = [
  [
    "starts and reads a file",
    async () => {
      file("start.txt", "a\nb\n");
      const { read } = await pilcrow();
      const result = await read("start.txt");
      assert.match(text(result), /^¶start\.txt#[0-9A-F]{4}\n1:a\n2:b$/);
      assert.equal(result.details.origin, "disk");
    },
  ],
  [
    "unsaved text of a buffer is what is read",
    async () => {
      const { read } = await pilcrow();
      const editor = await show(file("ünï #% 1.txt", "a\nb\n"));
      await type(editor, 1, 0, "unsaved 😀\n");
      const result = await read(editor.document.uri.fsPath);
      assert.match(text(result), /1:a\n2:unsaved 😀\n3:b$/);
      assert.deepEqual([result.details.origin, result.details.dirty, result.details.documentVersion], ["editor", true, editor.document.version]);
      assert.equal(bytes(editor.document.uri).toString(), "a\nb\n");
    },
  ],
  [
    "the very first keystroke in a clean document is read at once",
    async () => {
      const { read } = await pilcrow();
      const editor = await show(file("first.txt", "a\n"));
      // At the change itself, before VS Code says that the document is dirty by it.
      const reading = new Promise<Awaited<ReturnType<typeof read>>>((resolve, reject) => {
        const heard = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
          if (document === editor.document && contentChanges.length > 0) {
            heard.dispose();
            read("first.txt").then(resolve, reject);
          }
        });
      });
      await type(editor, 0, 0, "x");
      assert.match(text(await reading), /1:xa$/);
    },
  ],
  [
    "unit: a document that becomes dirty by a change is never said to be clean at it",
    async () => {
      const said: unknown[] = [];
      const client = {
        sendNotification: async (_: unknown, state: unknown) => void said.push(state),
        isRunning: () => true,
        code2ProtocolConverter: { asUri: String },
      } as unknown as LanguageClient;
      const { didChange } = stateAfterSync(() => client);
      const editor = await show(file("becomes-dirty.txt", "a\n"));
      const changed = new Promise<boolean>((resolve) => {
        const heard = vscode.workspace.onDidChangeTextDocument((event) => {
          if (event.document === editor.document && event.contentChanges.length > 0) {
            heard.dispose();
            resolve(event.document.isDirty);
            void didChange?.(event, async () => undefined);
          }
        });
      });
      await type(editor, 0, 0, "x");
      assert.equal(await changed, false, "VS Code tells of the change first");
      const [first] = await until("the state", () => said.length > 0 && said);
      assert.deepEqual(first, { uri: String(editor.document.uri), version: editor.document.version, dirty: true });
    },
  ],
  [
    "an untitled document is read by its URI",
    async () => {
      const { read } = await pilcrow();
      const document = await vscode.workspace.openTextDocument({ content: "one\ntwo\n" });
      const result = await read(document.uri.toString());
      assert.match(text(result), /1:one\n2:two$/);
    },
  ],
  [
    "a reverted buffer and a closed one are the file again",
    async () => {
      const { read } = await pilcrow();
      const uri = file("revert.txt", "a\n");
      const editor = await show(uri);
      await type(editor, 0, 0, "x");
      assert.match(text(await read("revert.txt")), /1:xa$/);
      await vscode.commands.executeCommand("workbench.action.files.revert");
      assert.match(text(await read("revert.txt")), /1:a$/);
      await type(editor, 0, 0, "y");
      assert.match(text(await read("revert.txt")), /1:ya$/);
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
      await until("the file's text", async () => /1:a$/.test(text(await read("revert.txt"))));
    },
  ],
  [
    "undo to the saved text makes a buffer clean to the daemon as well",
    async () => {
      const { read } = await pilcrow();
      const editor = await show(file("clean.txt", "a\n"));
      await type(editor, 0, 0, "x");
      assert.equal((await read("clean.txt")).details.dirty, true);
      await vscode.commands.executeCommand("undo");
      await until("a clean document", () => !editor.document.isDirty);
      assert.notEqual((await read("clean.txt")).details.dirty, true);
    },
  ],
  [
    "a renamed document is read by its new name, unsaved",
    async () => {
      const { read } = await pilcrow();
      const uri = file("old-name.txt", "a\n");
      const editor = await show(uri);
      await type(editor, 0, 0, "unsaved ");
      const renamed = vscode.Uri.joinPath(vscode.Uri.file(folder()), "new-name.txt");
      const edit = new vscode.WorkspaceEdit();
      edit.renameFile(uri, renamed);
      assert.ok(await vscode.workspace.applyEdit(edit));
      assert.match(text(await read("new-name.txt")), /1:unsaved a$/);
      assert.equal((await refusal(read("old-name.txt:raw"))).kind, "notFound");
    },
  ],
  [
    "cells of an open notebook do no harm",
    async () => {
      const { read } = await pilcrow();
      const cell = { cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: ["print(1)"] };
      const uri = file("book.ipynb", JSON.stringify({ cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 }));
      const before = bytes(uri);
      const notebook = await vscode.workspace.openNotebookDocument(uri);
      await vscode.window.showNotebookDocument(notebook);
      const document = notebook.cellAt(0).document;
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, new vscode.Position(0, 0), "unsaved ");
      assert.ok(await vscode.workspace.applyEdit(edit));
      assert.match(text(await read("book.ipynb:raw")), /print\(1\)/);
      assert.deepEqual(bytes(uri), before);
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    },
  ],
  [
    "the folder's own settings for the daemon are ignored, even when it is trusted",
    async () => {
      assert.ok(vscode.workspace.isTrusted);
      file(".env", "SECRET=1\n");
      const { read } = await pilcrow();
      assert.equal((await refusal(read(".env"))).kind, "denied");
    },
  ],
  [
    "the user's settings reach the daemon while it runs",
    async () => {
      const { read } = await pilcrow();
      file(".env", "SECRET=1\n");
      const settings = vscode.workspace.getConfiguration("pilcrow");
      await settings.update("access.deny", [], vscode.ConfigurationTarget.Global);
      await until("the new setting", () => read(".env").then((result) => /SECRET/.test(text(result)), () => false));
      await settings.update("access.deny", undefined, vscode.ConfigurationTarget.Global);
      await until("the old setting", () => read(".env").then(() => false, () => true));
    },
  ],
];
