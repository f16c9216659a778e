// Files of every encoding and line end, edited and compared byte by byte; what is outside the edited line never changes.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { bytes, file, pilcrow, refusal, show, tag, type, type Tests, until } from "./harness";

const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
const utf16be = (text: string) => Buffer.from(utf16(text)).swap16();
const latin1 = (text: string) => Buffer.from(text, "latin1");
const utf8 = (text: string) => Buffer.from(text, "utf8");

/** Name, bytes before, bytes after the second line became "zwei é". */
const FILES: [name: string, before: Buffer, after: Buffer][] = [
  ["crlf", utf8("ä\r\ntwo\r\nthree\r\n"), utf8("ä\r\nzwei é\r\nthree\r\n")],
  ["no-final-newline", utf8("ä\ntwo"), utf8("ä\nzwei é")],
  ["bom", utf8("\ufeffä\ntwo\nthree\n"), utf8("\ufeffä\nzwei é\nthree\n")],
  ["bom-crlf", utf8("\ufeffä\r\ntwo\r\n"), utf8("\ufeffä\r\nzwei é\r\n")],
  ["latin1", latin1("ä caf\xe9 \xfcber\ntwo\nthree \xdf\n"), latin1("ä caf\xe9 \xfcber\nzwei \xe9\nthree \xdf\n")],
  ["utf16le", utf16("ä\r\ntwo\r\nthree\r\n"), utf16("ä\r\nzwei é\r\nthree\r\n")],
  ["utf16be", utf16be("ä\ntwo\nthree\n"), utf16be("ä\nzwei é\nthree\n")],
  ["mixed", utf8("ä\r\ntwo\nthree\r\nfour\n"), utf8("ä\r\nzwei é\nthree\r\nfour\n")],
  ["lone-cr", utf8("ä\rb\ntwo\nc\n"), utf8("ä\rb\nzwei é\nc\n")],
];

async function editSecondLine(name: string): Promise<void> {
  const { read, edit } = await pilcrow();
  const read1 = await read(name);
  const line = 2;
  await edit({ files: [{ path: name, tag: tag(read1), edits: [{ op: "replace", start: line, text: "zwei é" }] }] });
}

const closed: Tests = FILES.map(([name, before, after]) => [
  `bytes of a closed file: ${name}`,
  async () => {
    const uri = file(`bytes/closed-${name}.txt`, before);
    await editSecondLine(`bytes/closed-${name}.txt`);
    assert.deepEqual(bytes(uri), after);
  },
]);

/** Makes a file and waits until VS Code has heard of it: of what is written later it must hear as well. */
async function known(path: string, text: Parameters<typeof file>[1]): Promise<vscode.Uri> {
  const watcher = vscode.workspace.createFileSystemWatcher(`**/${path}`);
  try {
    const heard = new Promise((resolve) => watcher.onDidCreate(resolve));
    const uri = file(path, text);
    await heard;
    return uri;
  } finally {
    watcher.dispose();
  }
}

const open: Tests = FILES.map(([name, before, after]) => [
  `bytes of an open file, clean, after flush: ${name}`,
  async () => {
    const uri = await known(`bytes/open-${name}.txt`, before);
    const editor = await show(uri);
    await editSecondLine(`bytes/open-${name}.txt`);
    const { flush } = await pilcrow();
    assert.deepEqual((await flush()).left, []);
    assert.deepEqual(bytes(uri), after);
    // What was written on disk comes into the editor by itself.
    await until("the edit in the editor", () => editor.document.getText().includes("zwei"));
    assert.equal(editor.document.isDirty, false);
    assert.deepEqual(bytes(uri), after);
  },
]);

const dirty: Tests = FILES.filter(([name]) => !["latin1", "mixed", "lone-cr"].includes(name)).map(([name, before, after]) => [
  `bytes of an open file, dirty, after the user saves: ${name}`,
  async () => {
    const uri = file(`bytes/dirty-${name}.txt`, before);
    const editor = await show(uri);
    await type(editor, 0, 0, "X");
    await editSecondLine(`bytes/dirty-${name}.txt`);
    assert.deepEqual(bytes(uri), before);
    await editor.edit((edit) => edit.delete(editor.document.validateRange(editor.document.lineAt(0).range.with(undefined, editor.document.lineAt(0).range.start.translate(0, 1)))));
    assert.ok(await editor.document.save());
    assert.deepEqual(bytes(uri), after);
  },
]);

export const bytesOnDisk: Tests = [
  ...closed,
  ...open,
  ...dirty,
  [
    "a dirty document that lost characters is not edited, and its file keeps them",
    async () => {
      const before = latin1("caf\xe9\ntwo\n");
      const uri = file("bytes/lost.txt", before);
      const editor = await show(uri);
      await type(editor, 1, 0, "typed ");
      const refused = await refusal(editSecondLine("bytes/lost.txt"));
      assert.equal(refused.kind, "encoding");
      assert.equal(editor.document.getText(), "caf\ufffd\ntyped two\n");
      assert.deepEqual(bytes(uri), before);
    },
  ],
];
