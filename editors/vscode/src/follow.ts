// Documents of files that the daemon moved or deleted: their tabs show the file where it is now, or close; what is typed and not saved stays open.
import * as vscode from "vscode";
import { type LanguageClient, RequestType, type StaticFeature } from "vscode-languageclient/node";
import { openDocument } from "./documents";

const FOLLOW_FILE = new RequestType<{ uri: string; to: string | null }, { followed: boolean }, void>("agent/followFile");

/** Offers to let documents follow their files. */
export class FollowOnRequest implements StaticFeature {
  constructor(private readonly client: LanguageClient) {}

  fillClientCapabilities(capabilities: { experimental?: { pilcrow?: object } }): void {
    const pilcrow = { ...capabilities.experimental?.pilcrow, followFile: true };
    capabilities.experimental = { ...capabilities.experimental, pilcrow };
  }

  initialize(): void {
    const { protocol2CodeConverter } = this.client;
    this.client.onRequest(FOLLOW_FILE, async ({ uri, to }) => {
      const now = to === null ? undefined : protocol2CodeConverter.asUri(to);
      return { followed: await follow(protocol2CodeConverter.asUri(uri), now) };
    });
  }

  getState(): { kind: "static" } {
    return { kind: "static" };
  }

  clear(): void {}
}

/** Whether no tab shows the old file any more. */
async function follow(from: vscode.Uri, to: vscode.Uri | undefined): Promise<boolean> {
  if (openDocument(from)?.isDirty) {
    return false;
  }
  for (const { tab, viewColumn } of tabsOf(from)) {
    if (to !== undefined) {
      const selection = selectionIn(from, viewColumn);
      const { isActive, isPreview } = tab;
      if (isActive) {
        const options = { viewColumn, preview: isPreview, preserveFocus: true };
        await vscode.window.showTextDocument(to, selection ? { ...options, selection } : options);
      } else {
        await openBehind(to, viewColumn);
      }
    }
  }
  // Looked for again: what was shown instead may have taken the place of a preview.
  const left = tabsOf(from).map(({ tab }) => tab);
  return left.length === 0 || (await vscode.window.tabGroups.close(left, true));
}

/** Opens a file in a group without taking the place of what is shown there. */
async function openBehind(uri: vscode.Uri, viewColumn: vscode.ViewColumn): Promise<void> {
  const shown = vscode.window.tabGroups.all.find((group) => group.viewColumn === viewColumn)?.activeTab?.input;
  await vscode.window.showTextDocument(uri, { viewColumn, preview: false, preserveFocus: true });
  if (shown instanceof vscode.TabInputText) {
    await vscode.window.showTextDocument(shown.uri, { viewColumn, preserveFocus: true });
  }
}

function tabsOf(uri: vscode.Uri): { tab: vscode.Tab; viewColumn: vscode.ViewColumn }[] {
  const isOf = ({ input }: vscode.Tab) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString();
  return vscode.window.tabGroups.all.flatMap(({ tabs, viewColumn }) => tabs.filter(isOf).map((tab) => ({ tab, viewColumn })));
}

function selectionIn(uri: vscode.Uri, viewColumn: vscode.ViewColumn): vscode.Range | undefined {
  const editors = vscode.window.visibleTextEditors;
  const shows = (editor: vscode.TextEditor) => editor.document.uri.toString() === uri.toString() && editor.viewColumn === viewColumn;
  return editors.find(shows)?.selection;
}
