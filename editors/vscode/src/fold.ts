// Folds a document to the structural summary that a model gets of it; which lines fold is the daemon's word, never decided here.
import * as vscode from "vscode";
import type { Calls } from "../api/index";

export async function foldToSummary(read: Calls["read"]): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    throw new Error("No document is open to be folded.");
  }
  const { document } = editor;
  const version = document.version;
  const path = document.uri.scheme === "file" ? document.uri.fsPath : document.uri.toString();
  const { summary } = (await read({ path })).details;
  if (document.version !== version || vscode.window.activeTextEditor !== editor) {
    return;
  }
  const spans = summary?.elidedSpans ?? [];
  if (spans.length === 0) {
    void vscode.window.showInformationMessage("Pilcrow has no summary of this document: it is short, or in a language without a grammar.");
    return;
  }
  const before = editor.selections;
  const top = editor.visibleRanges[0];
  editor.selections = spans.map(({ start, end }) => new vscode.Selection(new vscode.Position(start - 1, 0), document.lineAt(end - 1).range.end));
  await vscode.commands.executeCommand("editor.unfoldAll");
  await vscode.commands.executeCommand("editor.createFoldingRangeFromSelection");
  editor.selections = before;
  if (top) {
    editor.revealRange(top, vscode.TextEditorRevealType.AtTop);
  }
}
