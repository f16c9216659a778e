// Picks the tests of the suite that this window is for; a suite without tests is an error.
import { report, type Tests } from "./harness";
import { api } from "./api";
import { bytesOnDisk } from "./bytes";
import { commands } from "./commands";
import { crashes } from "./crashes";
import { edits } from "./edits";
import { finding } from "./find";
import { login } from "./login";
import { mcpServer } from "./mcp";
import { reads } from "./reads";
import { resources } from "./resources";
import { toolTests } from "./tools";
import { empty, installed, roots, trusted, untrusted } from "./windows";

const SUITES: Record<string, Tests> = {
  main: [...reads, ...edits, ...bytesOnDisk, ...toolTests, ...api, ...commands, ...resources, ...finding, ...mcpServer, ...crashes],
  roots,
  untrusted,
  trusted,
  empty,
  installed,
  login,
};

export function run(): Promise<void> {
  const suite = process.env["PILCROW_TEST_SUITE"] ?? "";
  const only = new RegExp(process.env["PILCROW_TEST_ONLY"] ?? "");
  const tests = SUITES[suite]?.filter(([name]) => only.test(name));
  if (!tests?.length) {
    throw new Error(`There are no tests for '${suite}'.`);
  }
  return report(tests);
}
