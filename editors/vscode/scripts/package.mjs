// Packs the extension with the daemon's program for one platform, the notices of what is bundled, and those of what is compiled
// into the program where they are given; packs from a copy, so that the checkout never holds a program.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { binary } from "./binary.mjs";
import { notices } from "./notices.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
const target = process.argv[2] ?? `${process.platform}-${process.arch}`;
const compiled = process.argv[3];
const copy = mkdtempSync(path.join(tmpdir(), "pilcrow-package-"));
try {
  execFileSync("node", ["scripts/build.mjs", "--minify"], { cwd: here, stdio: "inherit" });
  for (const part of ["package.json", ".vscodeignore", "README.md", "CHANGELOG.md", "LICENSE", "api", "images", "dist/extension.js"]) {
    cpSync(path.join(here, part), path.join(copy, part), { recursive: true });
  }
  const program = path.join(copy, "server", target.startsWith("win32") ? "pilcrow.exe" : "pilcrow");
  mkdirSync(path.dirname(program));
  copyFileSync(binary(), program);
  chmodSync(program, 0o755);
  const bundled = JSON.parse(readFileSync(path.join(here, "dist", "bundled.json"), "utf8"));
  writeFileSync(path.join(copy, "THIRD-PARTY-NOTICES.txt"), `${notices(here, bundled)}\n`);
  if (compiled) {
    copyFileSync(compiled, path.join(path.dirname(program), "THIRD-PARTY-NOTICES.txt"));
  }
  const vsix = path.join(here, "dist", `pilcrow-${target}.vsix`);
  const args = ["package", "--no-dependencies", "--target", target, "--allow-missing-repository", "--no-rewrite-relative-links", "--out", vsix];
  execFileSync("node", [path.join(here, "node_modules/@vscode/vsce/vsce"), ...args], { cwd: copy, stdio: ["ignore", "ignore", "inherit"] });
  console.log(vsix);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
