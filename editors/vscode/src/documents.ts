// What the LSP has no word for: which documents have unsaved changes, and saving one; nothing is saved that the daemon did not ask for.
import * as vscode from "vscode";
import { type LanguageClient, type Middleware, NotificationType, RequestType, type StaticFeature } from "vscode-languageclient/node";

interface DocumentState {
  uri: string;
  version: number;
  dirty: boolean;
  encoding?: string;
}

const DOCUMENT_STATE = new NotificationType<DocumentState>("agent/documentState");
const SAVE_DOCUMENT = new RequestType<{ uri: string }, { saved: boolean }, void>("agent/saveDocument");

/** The documents that the daemon hears of. Cells of notebooks, diffs and outputs are none. */
export const SELECTOR = [{ scheme: "file" }, { scheme: "untitled" }];

/** How soon after a change VS Code has certainly said that the document is dirty now. */
const SETTLED = 200;

/**
 * Says the state of a document after everything that makes another version of it.
 *
 * VS Code tells of a change before it tells that the document is dirty by it. So "clean" at a change is not believed
 * at once: meanwhile the daemon compares the texts.
 */
export function stateAfterSync(client: () => LanguageClient): Middleware {
  const say = (document: vscode.TextDocument) => tell(client(), document);
  return {
    didOpen: async (document, next) => {
      const opened = next(document);
      await Promise.all([opened, say(document)]);
    },
    didChange: async (event, next) => {
      const { document } = event;
      const changed = next(event);
      if (document.isDirty) {
        await Promise.all([changed, say(document)]);
        return;
      }
      await changed;
      const { version } = document;
      setTimeout(() => {
        if (!document.isClosed && document.version === version && client().isRunning()) {
          void say(document);
        }
      }, SETTLED);
    },
    didSave: async (document, next) => {
      const saved = next(document);
      await Promise.all([saved, say(document)]);
    },
  };
}

/** A document can become dirty, or clean by a revert, without another text. */
export function stateWithoutSync(client: () => LanguageClient | undefined): vscode.Disposable {
  return vscode.workspace.onDidChangeTextDocument(async ({ document, contentChanges }) => {
    const running = client();
    if (running?.isRunning() && contentChanges.length === 0 && vscode.languages.match(SELECTOR, document) > 0) {
      await tell(running, document);
    }
  });
}

function tell(client: LanguageClient, document: vscode.TextDocument): Promise<void> {
  const { version, isDirty, encoding } = document;
  const uri = client.code2ProtocolConverter.asUri(document.uri);
  const state = { uri, version, dirty: isDirty };
  // "utf8" is what VS Code takes every file for until it is told otherwise, so it says nothing of the file's bytes.
  return client.sendNotification(DOCUMENT_STATE, encoding === "utf8" ? state : { ...state, encoding });
}

/** Offers to save a document on request. */
export class SaveOnRequest implements StaticFeature {
  constructor(private readonly client: LanguageClient) {}

  fillClientCapabilities(capabilities: { experimental?: { pilcrow?: object } }): void {
    const pilcrow = { ...capabilities.experimental?.pilcrow, saveDocument: true };
    capabilities.experimental = { ...capabilities.experimental, pilcrow };
  }

  initialize(): void {
    this.client.onRequest(SAVE_DOCUMENT, async ({ uri }) => {
      const document = openDocument(this.client.protocol2CodeConverter.asUri(uri));
      return { saved: document !== undefined && (await document.save()) };
    });
  }

  getState(): { kind: "static" } {
    return { kind: "static" };
  }

  clear(): void {}
}

/** The open document of a URI. */
export function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}
