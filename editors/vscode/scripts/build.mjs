// Bundles the extension and its tests with esbuild; nothing is ever fetched.
import { build } from "esbuild";

const common = { bundle: true, external: ["vscode"], format: "cjs", platform: "node", target: "node20", sourcemap: true, logLevel: "warning" };
const minify = process.argv.includes("--minify");
await build({ ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify, sourcemap: !minify });
if (process.argv.includes("--tests")) {
  await build({ ...common, entryPoints: ["tests/host/index.ts"], outfile: "dist/tests.js" });
}
