// The tools of language models: equal to the daemon's, called as a chat calls them; a refusal is never a result.
import * as assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import { asText, parts, partsOfMany } from "../../src/parts";
import { fenced } from "../../src/tools";
import { allInVersionControl } from "../../src/versionControl";
import { bytes, file, folder, pilcrow, refusal, show, type, type Tests, until } from "./harness";

export async function call(name: string, input: object): Promise<string> {
  const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
  return result.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : String(part))).join("\n");
}

export function tagIn(text: string): string {
  const tag = /^¶\S+#([0-9A-F]{4})$/m.exec(text)?.[1];
  assert.ok(tag, text);
  return tag;
}

/** What of VS Code's own Git extension tells it to look again. */
interface Git {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): { status(): Promise<void> } | null };
}

async function repositoryOf(file: string) {
  const extension = vscode.extensions.getExtension<Git>("vscode.git");
  assert.ok(extension, "VS Code has its Git extension");
  return (await extension.activate()).getAPI(1).getRepository(vscode.Uri.file(file)) ?? undefined;
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const toolTests: Tests = [
  [
    "the tools are the daemon's, word for word",
    async () => {
      await pilcrow();
      const listed = JSON.parse(execFileSync("pilcrow", ["tools", "--dialect", "hashline"], { encoding: "utf8" })) as {
        tools: { name: string; description: string; inputSchema: object }[];
      };
      const own = vscode.lm.tools.filter((tool) => tool.name.startsWith("pilcrow_"));
      const pair = (name: string, description: string, schema: object | undefined) => ({ name, description, schema });
      const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
      assert.deepEqual(
        own.map((tool) => pair(tool.name, tool.description, tool.inputSchema)).sort(byName),
        listed.tools.map((tool) => pair(`pilcrow_${tool.name}`, tool.description, tool.inputSchema)).sort(byName),
      );
      assert.equal(own.length, 4);
    },
  ],
  [
    "a model reads, edits and reads again, unsaved text included",
    async () => {
      const editor = await show(file("tool.txt", "a\nb\nc\n"));
      await type(editor, 2, 1, " typed");
      const first = await call("pilcrow_read", { path: "tool.txt" });
      assert.match(first, /3:c typed$/);
      const edited = await call("pilcrow_edit", { patch: `¶tool.txt#${tagIn(first)}\nreplace 2:\n+B\n` });
      assert.match(edited, /2:B/);
      assert.equal(editor.document.getText(), "a\nB\nc typed\n");
      assert.match(await call("pilcrow_read", { path: "tool.txt", selector: "2-2" }), /2:B/);
    },
  ],
  [
    "read_many gives the results in order, and a bad one spoils nothing",
    async () => {
      file("many-1.txt", "one\n");
      file("many-2.txt", "two\n");
      const said = await call("pilcrow_read_many", { paths: ["many-1.txt", "no-such.txt", "many-2.txt"] });
      assert.match(said, /1:one\nFile not found: no-such\.txt.*\n¶many-2\.txt#.*\n1:two/s);
    },
  ],
  [
    "search finds unsaved text, and what it shows can be edited",
    async () => {
      const editor = await show(file("found.txt", "a\nb\nc\n"));
      await type(editor, 2, 1, " needleInTheEditor");
      const said = await call("pilcrow_search", { pattern: "needle\\w+" });
      assert.match(said, /^¶found\.txt#[0-9A-F]{4}\n3:c needleInTheEditor\n/);
      await call("pilcrow_edit", { patch: `¶found.txt#${tagIn(said)}\nreplace 3:\n+C\n` });
      assert.equal(editor.document.getText(), "a\nb\nC\n");
    },
  ],
  [
    "an image comes as a part that a model can see, byte for byte",
    async () => {
      file("dot.png", Buffer.from(PIXEL, "base64"));
      const result = await vscode.lm.invokeTool("pilcrow_read", { input: { path: "dot.png" }, toolInvocationToken: undefined });
      const [words, image] = result.content;
      assert.ok(words instanceof vscode.LanguageModelTextPart, String(words));
      assert.equal(words.value, "[dot.png: image/png, 1x1, 70B]");
      assert.ok(image instanceof vscode.LanguageModelDataPart && image.mimeType === "image/png");
      assert.deepEqual(Buffer.from(image.data), Buffer.from(PIXEL, "base64"));
      assert.equal(result.content.length, 2);
    },
  ],
  [
    "write makes a file",
    async () => {
      await call("pilcrow_write", { path: "tool-made.txt", text: "made\n" });
      assert.equal(bytes(vscode.Uri.file(path.join(folder(), "tool-made.txt"))).toString(), "made\n");
    },
  ],
  [
    "a refusal is an error with the message for the model and the live lines",
    async () => {
      const missing = await refusal(call("pilcrow_read", { path: "no-such.txt" }));
      assert.match(missing.message, /File not found: no-such\.txt/);
      const editor = await show(file("refused.txt", "a\nb\nc\n"));
      const first = tagIn(await call("pilcrow_read", { path: "refused.txt" }));
      await type(editor, 1, 1, " typed");
      const stale = await refusal(call("pilcrow_edit", { patch: `¶refused.txt#${first}\nreplace 2:\n+B\n` }));
      assert.match(stale.message, /2:b typed/);
      await call("pilcrow_edit", { patch: `¶refused.txt#${tagIn(stale.message)}\nreplace 2:\n+B\n` });
      assert.equal(editor.document.getText(), "a\nB\nc\n");
    },
  ],
  [
    "saveAfterEdit saves what was saved before, and nothing else",
    async () => {
      const settings = vscode.workspace.getConfiguration("pilcrow");
      await settings.update("saveAfterEdit", true, vscode.ConfigurationTarget.Global);
      try {
        const editor = await show(file("saved.txt", "a\n"));
        const first = tagIn(await call("pilcrow_read", { path: "saved.txt" }));
        await call("pilcrow_edit", { patch: `¶saved.txt#${first}\nreplace 1:\n+A\n` });
        assert.equal(bytes(editor.document.uri).toString(), "A\n");
        await type(editor, 0, 0, "typed ");
        const second = tagIn(await call("pilcrow_read", { path: "saved.txt" }));
        await call("pilcrow_edit", { patch: `¶saved.txt#${second}\ninsert tail:\n+end\n` });
        assert.equal(editor.document.getText(), "typed A\nend\n");
        assert.equal(bytes(editor.document.uri).toString(), "A\n");
      } finally {
        await settings.update("saveAfterEdit", undefined, vscode.ConfigurationTarget.Global);
      }
    },
  ],
  [
    "unit: an image block becomes an image part, a resource a data part",
    async () => {
      const [words, image, resource] = parts([
        { type: "text", text: "1 × 1" },
        { type: "image", data: PIXEL, mimeType: "image/png" },
        { type: "resource", resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: "JVBERg==" } },
      ]);
      assert.ok(words instanceof vscode.LanguageModelTextPart && words.value === "1 × 1");
      assert.ok(image instanceof vscode.LanguageModelDataPart && image.mimeType === "image/png");
      assert.deepEqual(Buffer.from(image.data), Buffer.from(PIXEL, "base64"));
      assert.ok(resource instanceof vscode.LanguageModelDataPart && resource.mimeType === "application/pdf");
      assert.equal(Buffer.from(resource.data).toString(), "%PDF");
      assert.equal(asText([{ type: "image", data: PIXEL, mimeType: "image/png" }]), "[image/png, 70 bytes]");
      assert.equal(partsOfMany({ results: [{ error: { code: -32803, message: "no" } }] }).length, 1);
    },
  ],
  [
    "unit: the fence of a diff is longer than any in it",
    async () => {
      assert.equal(fenced("-a\n+b\n", "diff"), "```diff\n-a\n+b\n```\n");
      assert.equal(fenced("+````\n", "diff"), "`````diff\n+````\n`````\n");
    },
  ],
  [
    "what Git tracks is in version control; untracked, ignored and outside files are not",
    async () => {
      const git = (...args: string[]) => execFileSync("git", ["-C", folder(), "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
      const tracked = file("tracked.txt", "a\n").fsPath;
      const untracked = file("untracked.txt", "a\n").fsPath;
      const ignored = file("ignored.txt", "a\n").fsPath;
      file(".gitignore", "ignored.txt\n");
      git("add", "tracked.txt", ".gitignore");
      git("commit", "-qm", "one");
      // VS Code finds the repository and looks through it when it has the time: it is asked to look until it has seen what was done.
      const repository = await until("Git to open the folder", () => repositoryOf(tracked));
      await until("Git to know it", async () => {
        await repository.status();
        return (await allInVersionControl([tracked])) && !(await allInVersionControl([untracked]));
      });
      assert.equal(await allInVersionControl([ignored]), false);
      assert.equal(await allInVersionControl(["/etc/passwd"]), false);
      assert.equal(await allInVersionControl([tracked, ignored]), false);
    },
  ],
  [
    "what is in version control is edited unasked where the user says so, and a refused edit is refused unasked",
    async () => {
      // A question would wait for an answer that never comes.
      const settings = vscode.workspace.getConfiguration("pilcrow");
      const tracked = file("tracked.txt", "a\n");
      try {
        await settings.update("confirmEdits", "outsideVersionControl", vscode.ConfigurationTarget.Global);
        const first = tagIn(await call("pilcrow_read", { path: "tracked.txt" }));
        await call("pilcrow_edit", { patch: `¶tracked.txt#${first}\nreplace 1:\n+A\n` });
        assert.equal(bytes(tracked).toString(), "A\n");
        await settings.update("confirmEdits", "always", vscode.ConfigurationTarget.Global);
        const input = { path: "tracked.txt", text: "other\n" };
        assert.match((await refusal(call("pilcrow_write", input))).message, /tracked\.txt/);
        // The refusal showed the lines, yet what nobody confirmed is still not written.
        assert.match((await refusal(call("pilcrow_write", input))).message, /tracked\.txt/);
        assert.equal(bytes(tracked).toString(), "A\n");
      } finally {
        await settings.update("confirmEdits", "never", vscode.ConfigurationTarget.Global);
      }
    },
  ],
];
