// The login of VS Code's own GitHub session, as the daemon uses it: handed over without a question, and to no other host.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { pilcrow, refusal, text, type Tests, until } from "./harness";

export const login: Tests = [
  [
    "an issue is read with the session that is signed in, and nobody is asked",
    async () => {
      await until("the session to be there", async () => vscode.authentication.getSession("github", ["repo"], { silent: true }));
      const { read } = await pilcrow();
      const result = await read("issue://7");
      assert.match(text(result), /Issue #7: Private/);
      assert.match(text(result), /of the editor's login/);
      assert.equal(result.details.trusted, false);
    },
  ],
  [
    "another host is not given it",
    async () => {
      const { read } = await pilcrow();
      assert.match(text(await read("issue://ghe.example.com/octo/demo/7")), /everybody's/);
    },
  ],
  [
    "where it is refused the reader is told what to do",
    async () => {
      const { read } = await pilcrow();
      const refused = await refusal(read("issue://8"));
      assert.equal(refused.kind, "denied");
      assert.match(refused.message, /gh auth login/);
      assert.doesNotMatch(refused.message, /gho_/);
    },
  ],
];
