// The daemon as an MCP server: what VS Code is told to start serves the open folders.
import * as assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import * as vscode from "vscode";
import type { Daemon } from "../../src/daemon";
import { definitions } from "../../src/mcp";
import { file, pilcrow, type Tests } from "./harness";

/** A daemon of which only its life is asked. */
function living(life: Daemon["life"]): Daemon {
  return { life } as Daemon;
}

const found = { command: "pilcrow", from: "PATH", version: "1.2.3" } as const;

export const mcpServer: Tests = [
  [
    "the server that is registered reads the open folder",
    async () => {
      await pilcrow();
      const extension = vscode.extensions.getExtension("pilcrow.pilcrow");
      assert.ok(extension);
      assert.deepEqual(definitions(living({ is: "starting" }), extension), []);
      const [server, ...others] = definitions(living({ is: "running", found }), extension);
      assert.ok(server && others.length === 0);
      assert.equal(server.version, "1.2.3");
      assert.ok(!server.args.some((arg) => arg.startsWith("web.enabled")), server.args.join(" "));
      file("served.txt", "served\n");
      const child = spawn(server.command, server.args, { cwd: "/", stdio: ["pipe", "pipe", "inherit"] });
      try {
        const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
        const ask = async (id: number, method: string, params: object) => {
          child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
          return JSON.parse((await lines.next()).value as string).result;
        };
        await ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "tests", version: "1" } });
        const { content } = await ask(2, "tools/call", { name: "read", arguments: { path: "served.txt" } });
        assert.match(content[0].text, /\n1:served$/);
      } finally {
        child.kill();
      }
    },
  ],
];
