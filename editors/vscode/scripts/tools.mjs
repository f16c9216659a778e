// Writes the daemon's own tools into package.json; names and schemas are never written by hand. With --check it only compares.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { binary } from "./binary.mjs";

/** What VS Code shows of each tool; all that a model sees is the daemon's. */
const SHOWN = {
  read: { displayName: "Pilcrow: Read", toolReferenceName: "pilcrowRead", icon: "$(book)", userDescription: "Read a file or directory, with unsaved changes" },
  read_many: { displayName: "Pilcrow: Read Many", toolReferenceName: "pilcrowReadMany", icon: "$(library)", userDescription: "Read several files at once" },
  search: { displayName: "Pilcrow: Search", toolReferenceName: "pilcrowSearch", icon: "$(search)", userDescription: "Find lines in files, with unsaved changes" },
  edit: { displayName: "Pilcrow: Edit", toolReferenceName: "pilcrowEdit", icon: "$(edit)", userDescription: "Edit files by the lines that were read" },
  write: { displayName: "Pilcrow: Write", toolReferenceName: "pilcrowWrite", icon: "$(new-file)", userDescription: "Make a file, or replace the whole of one" },
};

const file = new URL("../package.json", import.meta.url);
const { tools } = JSON.parse(execFileSync(binary(), ["tools", "--dialect", "hashline"], { encoding: "utf8" }));
const manifest = JSON.parse(readFileSync(file, "utf8"));
const unknown = tools.filter(({ name }) => !(name in SHOWN));
if (unknown.length > 0) {
  throw new Error(`The daemon has tools that are not shown: ${unknown.map(({ name }) => name).join(", ")}`);
}
const contributed = tools.map(({ name, description, inputSchema }) => ({
  name: `pilcrow_${name}`,
  ...SHOWN[name],
  canBeReferencedInPrompt: true,
  tags: ["pilcrow"],
  modelDescription: description,
  inputSchema,
}));
const equal = JSON.stringify(manifest.contributes.languageModelTools) === JSON.stringify(contributed);
if (process.argv.includes("--check")) {
  if (!equal) {
    throw new Error("package.json does not have the daemon's tools: run npm run tools.");
  }
} else if (!equal) {
  manifest.contributes.languageModelTools = contributed;
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
