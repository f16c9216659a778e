// What a user can do from the palette, the explorer and the status item; nothing here ever writes without a diff having been shown.
import * as vscode from "vscode";
import type { EditResult, ReadResult } from "../api/index";
import { calls } from "./calls";
import type { Daemon } from "./daemon";
import { foldToSummary } from "./fold";
import { asText } from "./parts";
import { messageOf, Refused } from "./refusal";
import type { Views } from "./view";

/** One reader for all commands, so that what was copied for a model can be edited by that model's patch. */
const SESSION = "vscode-commands";

export function registerCommands(daemon: Daemon, views: Views, log: vscode.LogOutputChannel): vscode.Disposable {
  const user = calls(daemon, SESSION);
  const commands: Record<string, (uri?: vscode.Uri) => Promise<unknown>> = {
    read: async (uri) => {
      const path = uri ? target(uri) : await askForPath();
      if (path) {
        const { content } = await user.read(path);
        await views.show(nameOf(path), asText(content), "plaintext");
      }
    },
    copyAsModelSees: async (uri) => {
      const { path, selector } = uri ? { path: target(uri) } : selected();
      const result: ReadResult = await user.read(selector ? { path, selector } : { path });
      await vscode.env.clipboard.writeText(asText(result.content));
      const lines = result.details.shown?.reduce((sum, { start, end }) => sum + end - start + 1, 0);
      vscode.window.setStatusBarMessage(`Pilcrow: copied ${lines === undefined ? nameOf(path) : `${lines} lines`}`, 5000);
    },
    applyPatch: async () => {
      const patch = await vscode.env.clipboard.readText();
      const { details } = await planned(user.edit, patch);
      const names = details.files.map((file) => file.path).join(", ");
      await views.show(`${names}.diff`, details.files.map((file) => file.diff).join(""), "diff");
      const apply = "Apply";
      const chosen = await vscode.window.showInformationMessage(`Apply the patch to ${names}?`, { modal: true }, apply);
      if (chosen === apply) {
        await user.edit({ patch });
        vscode.window.setStatusBarMessage(`Pilcrow: edited ${names}`, 5000);
      }
    },
    showStatus: async () => {
      const status = await daemon.request("agent/status", {});
      const found = daemon.life.is === "running" ? daemon.life.found : undefined;
      await views.show("Pilcrow status.json", `${JSON.stringify({ program: found, ...Object(status) }, null, 2)}\n`, "json");
    },
    showLog: async () => log.show(),
    restart: () => daemon.restart(),
    foldToSummary: () => foldToSummary(user.read),
  };
  const registered = Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(`pilcrow.${name}`, async (uri?: unknown) => {
      try {
        await run(uri instanceof vscode.Uri ? uri : undefined);
      } catch (error) {
        log.warn(`${name}: ${messageOf(error)}`);
        void vscode.window.showErrorMessage(messageOf(error));
      }
    }),
  );
  return vscode.Disposable.from(...registered);
}

/** The diff of a patch. A person sees what is changed in it, so that lines which were never shown are no reason to refuse. */
async function planned(edit: (params: { patch: string; dryRun: true }) => Promise<EditResult>, patch: string): Promise<EditResult> {
  const params = { patch, dryRun: true } as const;
  try {
    return await edit(params);
  } catch (error) {
    if (error instanceof Refused && error.kind === "notShown") {
      return edit(params);
    }
    throw error;
  }
}

/** How the daemon names a document: a file by its path, anything else by its URI. */
function target(uri: vscode.Uri): string {
  return uri.scheme === "file" ? uri.fsPath : uri.toString();
}

function nameOf(path: string): string {
  return path.split("/").pop() || path;
}

async function askForPath(): Promise<string | undefined> {
  const active = vscode.window.activeTextEditor?.document.uri;
  const value = active && vscode.workspace.getWorkspaceFolder(active) ? vscode.workspace.asRelativePath(active) : "";
  const placeHolder = "src/main.rs:40-60";
  return vscode.window.showInputBox({ title: "Read as a model sees it", prompt: "A path, which may end in a selector", placeHolder, value });
}

/** The active document, or the lines of it that are selected. */
function selected(): { path: string; selector?: string } {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    throw new Error("No document is open to be copied.");
  }
  const path = target(editor.document.uri);
  const { start, end, isEmpty } = editor.selection;
  if (isEmpty) {
    return { path };
  }
  // A selection that ends where a line begins has nothing of that line.
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { path, selector: `${start.line + 1}-${last}` };
}
