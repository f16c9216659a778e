// `workspace/applyEdit` of the daemon: made at exactly the version it is for, as one undo step, or declined; a document that is not open is never opened.
import * as vscode from "vscode";
import { type ApplyWorkspaceEditParams, type ApplyWorkspaceEditResult, TextDocumentEdit } from "vscode-languageclient/node";
import { openDocument } from "./documents";

export async function applyEdit({ edit }: ApplyWorkspaceEditParams): Promise<ApplyWorkspaceEditResult> {
  const changes = edit.documentChanges ?? [];
  if (!changes.every((change) => TextDocumentEdit.is(change))) {
    return declined("only changes of documents' text are made");
  }
  const all = new vscode.WorkspaceEdit();
  for (const { textDocument, edits } of changes) {
    const uri = vscode.Uri.parse(textDocument.uri, true);
    const document = openDocument(uri);
    if (!document) {
      return declined(`${textDocument.uri} is not open`);
    }
    // A version to come is no better than one that is past. From here to `applyEdit`, which compares
    // the versions once more where the text is, nothing is awaited.
    if (document.version !== textDocument.version) {
      return declined(`${textDocument.uri} is at version ${document.version}, not ${textDocument.version}`);
    }
    const texts = [];
    for (const change of edits) {
      if (!("newText" in change)) {
        return declined("snippets are not inserted");
      }
      const { start, end } = change.range;
      const range = new vscode.Range(start.line, start.character, end.line, end.character);
      texts.push(new vscode.TextEdit(range, change.newText));
    }
    all.set(uri, texts);
  }
  const applied = await vscode.workspace.applyEdit(all);
  return applied ? { applied } : declined("VS Code did not apply it");
}

function declined(failureReason: string): ApplyWorkspaceEditResult {
  return { applied: false, failureReason };
}
