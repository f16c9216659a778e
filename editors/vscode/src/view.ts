// Read-only documents with answers of the daemon; they are never files, and never sent back to it.
import * as vscode from "vscode";

const SCHEME = "pilcrow";

export class Views implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly rest: vscode.Disposable;
  private count = 0;

  constructor() {
    this.rest = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    );
  }

  /** Opens a text under a name; its language goes by the name's ending unless it is given. */
  async show(name: string, text: string, language?: string, options?: vscode.TextDocumentShowOptions): Promise<vscode.TextEditor> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: String(++this.count) });
    this.texts.set(uri.toString(), text);
    let document = await vscode.workspace.openTextDocument(uri);
    if (language) {
      document = await vscode.languages.setTextDocumentLanguage(document, language);
      // Another language is closed and opened to those who listen.
      this.texts.set(uri.toString(), text);
    }
    return vscode.window.showTextDocument(document, { preview: false, ...options });
  }

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    return this.texts.get(uri.toString());
  }

  dispose(): void {
    this.rest.dispose();
  }
}
