// Bundles the extension and its tests with esbuild, and says what is in the bundle (`dist/bundled.json`); nothing is ever fetched.
import { writeFileSync } from "node:fs";
import { build } from "esbuild";

const common = { bundle: true, external: ["vscode"], format: "cjs", platform: "node", target: "node20", sourcemap: true, logLevel: "warning" };
const minify = process.argv.includes("--minify");
const { metafile } = await build({
  ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify, sourcemap: !minify, metafile: true,
});
writeFileSync("dist/bundled.json", JSON.stringify(Object.keys(metafile.inputs)));
if (process.argv.includes("--tests")) {
  await build({ ...common, entryPoints: ["tests/host/index.ts"], outfile: "dist/tests.js" });
}
