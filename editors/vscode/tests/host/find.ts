// Where the daemon's program is looked for, in what order, and what is said when it is not to be used.
import * as assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { find, mismatch } from "../../src/find";
import type { Tests } from "./harness";

function program(folder: string, says: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "pilcrow");
  writeFileSync(file, `#!/bin/sh\necho '${says}'\n`);
  chmodSync(file, 0o755);
  return file;
}

async function why(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => assert.fail("found"),
    (error: Error) => error.message,
  );
}

export const finding: Tests = [
  [
    "unit: the daemon is found by the setting, else bundled, else on the PATH, and its version is asked",
    async () => {
      const scratch = mkdtempSync(path.join(tmpdir(), "pilcrow-find-"));
      try {
        const extension = path.join(scratch, "extension");
        const named = program(path.join(scratch, "named"), "pilcrow 1.2.3 (x86_64-unknown-linux-gnu, 0123456789ab)");
        const onPath = program(path.join(scratch, "bin"), "pilcrow 3.2.1");
        const env = { PATH: `${path.join(scratch, "none")}:${path.dirname(onPath)}` };
        const places = { setting: undefined, extension, env };
        assert.deepEqual(await find(places), { command: onPath, from: "PATH", version: "3.2.1" });
        const bundled = program(path.join(extension, "server"), "pilcrow 2.0.0-rc.1");
        assert.deepEqual(await find(places), { command: bundled, from: "bundled", version: "2.0.0-rc.1" });
        assert.deepEqual(await find({ ...places, setting: named }), { command: named, from: "setting", version: "1.2.3" });
        rmSync(bundled);

        assert.match(await why(find({ ...places, setting: "./pilcrow" })), /must be an absolute path/);
        assert.match(await why(find({ ...places, setting: path.join(scratch, "no-such") })), /no-such \(setting\) is not a pilcrow/);
        const other = program(path.join(scratch, "other"), "something 1.0.0");
        assert.match(await why(find({ ...places, setting: other })), /it says 'something 1\.0\.0'/);
        assert.match(await why(find({ ...places, env: { PATH: `:.:bin:${path.join(scratch, "none")}` } })), /neither bundled nor on the PATH/);
      } finally {
        rmSync(scratch, { recursive: true, force: true });
      }
    },
  ],
  [
    "unit: an older and a newer daemon are refused in one line that says how to update",
    async () => {
      assert.equal(mismatch("0.1.0", "0.1.0"), undefined);
      assert.equal(mismatch("0.1.4", "0.1.0"), undefined);
      assert.equal(mismatch("0.1.0", "0.12.3-rc.1"), undefined);
      assert.equal(
        mismatch("1.2.0", "1.1.9"),
        "pilcrow 1.1.9 does not fit the extension, which needs 1.2 or a later 1.x. Update pilcrow (npm i -g @pilcrow/pilcrow@1, or as it was installed).",
      );
      assert.match(mismatch("1.2.0", "0.9.0") ?? "", /Update pilcrow \(/);
      assert.match(mismatch("1.2.0", "2.0.0") ?? "", /1\.x\. Update this extension\.$/);
    },
  ],
];
