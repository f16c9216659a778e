// What extensions give to the daemon: texts of schemes of their own, and artifacts, which are found again by the next daemon.
import * as assert from "node:assert/strict";
import * as vscode from "vscode";
import { daemons, file, pilcrow, refusal, text, type Tests, until } from "./harness";

export const resources: Tests = [
  [
    "a resolver has what is behind its scheme, from the moment it is registered",
    async () => {
      const { read, registerScheme } = await pilcrow();
      assert.equal((await refusal(read("tracker://A-1"))).kind, "unsupported");
      const asked: string[] = [];
      const registered = registerScheme("Tracker", (uri, { session }) => {
        asked.push(`${session} ${uri}`);
        switch (uri.slice("tracker://".length)) {
          case "A-1":
            return "one\ntwo\nthree\n";
          case "":
            return { resources: [{ uri: "tracker://A-1", name: "A-1", description: "The first." }] };
          case "later":
            return new Promise((resolve) => setImmediate(() => resolve({ contents: [{ uri, text: "after a while" }], title: "Late" })));
          case "missing":
            throw vscode.FileSystemError.FileNotFound(uri);
          case "fails":
            throw new Error("the tracker is down");
          default:
            return undefined;
        }
      });
      const first = await until("the scheme to be known", () => read("tracker://A-1:2-3").catch(() => undefined));
      assert.match(text(first), /^2:two\n3:three/);
      assert.equal(first.details.provider, "client");
      assert.equal(first.details.trusted, false);
      assert.ok(asked.includes("default tracker://A-1"), asked.join());
      assert.equal(text(await read("tracker://later")), "1:after a while");
      const listed = await read("tracker://");
      assert.match(text(listed), /The first\./);
      assert.equal(listed.details.resources?.[0]?.uri, "tracker://A-1");
      for (const path of ["tracker://none", "tracker://missing"]) {
        assert.equal((await refusal(read(path))).kind, "notFound", path);
      }
      const failed = await refusal(read("tracker://fails"));
      assert.equal(failed.kind, "io");
      assert.match(failed.message, /the tracker is down/);
      assert.throws(() => registerScheme("tracker", () => undefined), /registered already/);
      registered.dispose();
      await until("the scheme to be gone", async () => (await refusal(read("tracker://A-1").then(() => Promise.reject(new Error("still there"))))).kind === "unsupported");
    },
  ],
  [
    "a resolver may read through Pilcrow for its answer, and a circle ends",
    async () => {
      const { read, registerScheme } = await pilcrow();
      file("behind.txt", "from a file\n");
      const registered = registerScheme("through", async (uri, { session, _meta }) => {
        const path = uri === "through://file" ? "behind.txt" : uri;
        return text(await read({ path, session, _meta }));
      });
      const result = await until("the scheme to be known", () => read("through://file").catch(() => undefined));
      assert.match(text(result), /from a file/);
      await refusal(read("through://circle"));
      registered.dispose();
    },
  ],
  [
    "schemes of the daemon's own are refused",
    async () => {
      const { registerScheme } = await pilcrow();
      for (const scheme of ["file", "https", "local", "artifact", "a b", ""]) {
        assert.throws(() => registerScheme(scheme, () => undefined), Error, scheme);
      }
    },
  ],
  [
    "an artifact is put, read, and there for the next daemon; schemes are offered to that as well",
    async () => {
      const { openSession, registerScheme } = await pilcrow();
      const session = openSession("artifacts");
      const put = await session.putArtifact({ name: "make", text: "one\ntwo\nthree\n", read: { selector: "-1" } });
      assert.equal(put.lines, 3);
      assert.ok(put.read && text(put.read).endsWith("3:three"));
      await session.putArtifact({ uri: put.uri, append: true, text: "four\n" });
      await session.putArtifact({ uri: "agent://reviewer", text: '{"findings": ["one"]}' });
      assert.match(text(await session.read(`${put.uri}:4-4`)), /^4:four/);
      const registered = registerScheme("lasting", () => "still here");
      const [before] = daemons();
      await vscode.commands.executeCommand("pilcrow.restart");
      await until("another daemon", () => daemons().length === 1 && daemons()[0] !== before);
      assert.match(text(await session.read(`${put.uri}:4-4`)), /^4:four/);
      assert.match(text(await session.read("agent://reviewer/findings/0")), /1:one/);
      assert.equal(text(await session.read("lasting://x")), "1:still here");
      registered.dispose();
      session.dispose();
    },
  ],
];
