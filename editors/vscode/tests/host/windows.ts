// Windows of other kinds: several roots, a folder that is not trusted, no folder, the installed package; each proves what it is before it tests anything.
import * as assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { bytes, daemons, file, folder, pilcrow, refusal, show, tag, text, type, type Tests, until } from "./harness";
import { call, tagIn } from "./tools";

async function status(): Promise<Record<string, unknown>> {
  await (await pilcrow()).read({ path: "." }).catch(() => undefined);
  await vscode.commands.executeCommand("pilcrow.showStatus");
  return JSON.parse(vscode.window.activeTextEditor?.document.getText() ?? "{}");
}

export const roots: Tests = [
  [
    "two roots are served by one daemon",
    async () => {
      assert.equal(vscode.workspace.workspaceFolders?.length, 2);
      const { read } = await pilcrow();
      assert.match(text(await read("one.txt")), /1:one$/);
      assert.match(text(await read("two.txt")), /1:two$/);
      assert.equal(daemons().length, 1);
      const { roots } = (await status()) as { roots: string[] };
      assert.deepEqual(roots.map((root) => path.basename(root)), ["one", "two"]);
    },
  ],
  [
    "unsaved text in the second root is read and edited",
    async () => {
      const { read, edit } = await pilcrow();
      const second = vscode.workspace.workspaceFolders?.[1];
      assert.ok(second);
      const editor = await show(vscode.Uri.joinPath(second.uri, "two.txt"));
      await type(editor, 0, 0, "unsaved ");
      const result = await read(editor.document.uri.fsPath);
      assert.match(text(result), /1:unsaved two$/);
      const name = result.details.hashline?.path;
      await edit({ patch: `¶${name}#${tag(result)}\nreplace 1:\n+edited\n` });
      assert.equal(editor.document.getText(), "edited\n");
    },
  ],
];

/** What the folder's settings name as the server leaves a mark when it is run. */
const wasRun = () => existsSync(path.join(folder(), "owned"));

export const untrusted: Tests = [
  [
    "a hostile server.path and extraEnv of an untrusted folder are ignored",
    async () => {
      assert.equal(vscode.workspace.isTrusted, false);
      const { read } = await pilcrow();
      assert.match(text(await read("a.txt")), /1:a$/);
      const { program } = (await status()) as { program: { from: string } };
      assert.equal(program.from, "PATH");
      const [pid] = daemons();
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
      assert.doesNotMatch(environment, /FROM_THE_FOLDER/);
      assert.equal(wasRun(), false);
    },
  ],
  [
    "skills and rules of an untrusted folder are not given",
    async () => {
      const { read } = await pilcrow();
      assert.match(text(await read("skill://")), /No skills in ~/);
      assert.match(text(await read("rule://")), /No rules in ~/);
      assert.equal((await refusal(read("skill://evil"))).kind, "notFound");
    },
  ],
];

export const trusted: Tests = [
  [
    "the same server.path and extraEnv count in a folder that is trusted",
    async () => {
      assert.equal(vscode.workspace.isTrusted, true);
      const { read } = await pilcrow();
      assert.match(text(await read("a.txt")), /1:a$/);
      const { program } = (await status()) as { program: { from: string } };
      assert.equal(program.from, "setting");
      const [pid] = daemons();
      assert.match(readFileSync(`/proc/${pid}/environ`, "utf8"), /FROM_THE_FOLDER=1/);
      assert.equal(wasRun(), true);
    },
  ],
  [
    "skills and rules of a trusted folder are given, and say whose they are",
    async () => {
      const { read } = await pilcrow();
      assert.match(text(await read("skill://")), /^evil {2}\(workspace: \.agents\/skills\/evil\)/);
      assert.match(text(await read("skill://evil")), /^\[From the workspace: \.agents\/skills\/evil\/SKILL\.md\]/);
      assert.match(text(await read("rule://AGENTS.md")), /^\[From the workspace: AGENTS\.md\]/);
    },
  ],
];

export const empty: Tests = [
  [
    "without a folder it starts and shows nothing but what is open",
    async () => {
      assert.equal(vscode.workspace.workspaceFolders, undefined);
      const { read } = await pilcrow();
      const document = await vscode.workspace.openTextDocument({ content: "alone\n" });
      assert.match(text(await read(document.uri.toString())), /1:alone$/);
      assert.equal((await refusal(read("/etc/passwd"))).kind, "outsideWorkspace");
      const { roots } = (await status()) as { roots: string[] };
      assert.deepEqual(roots.map((root) => path.basename(root)), ["no-folder"]);
    },
  ],
];

export const installed: Tests = [
  [
    "the installed package runs its own daemon",
    async () => {
      const extension = vscode.extensions.getExtension("pilcrow.pilcrow");
      assert.match(extension?.extensionPath ?? "", /extensions\/pilcrow\.pilcrow-0\.1\.0/);
      const { read } = await pilcrow();
      file("installed.txt", "a\n");
      assert.match(text(await read("installed.txt")), /1:a$/);
      const { program } = (await status()) as { program: { from: string } };
      assert.equal(program.from, "bundled");
    },
  ],
  [
    "its tools read and edit an unsaved buffer",
    async () => {
      const editor = await show(file("buffer.txt", "a\n"));
      await type(editor, 0, 0, "unsaved ");
      const first = await call("pilcrow_read", { path: "buffer.txt" });
      assert.match(first, /1:unsaved a$/);
      await call("pilcrow_edit", { patch: `¶buffer.txt#${tagIn(first)}\nreplace 1:\n+edited\n` });
      assert.equal(editor.document.getText(), "edited\n");
      assert.equal(bytes(editor.document.uri).toString(), "a\n");
      await until("one daemon", () => daemons().length === 1);
    },
  ],
];
