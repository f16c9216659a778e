// The licences of the npm packages that are bundled into the extension; one that has none is an error.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** The notices of what a bundle was made of: the paths that esbuild names, below `here`. */
export function notices(here, bundled) {
  const folders = bundled.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(here, folder, "package.json"), "utf8"));
    const files = readdirSync(path.join(here, folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    if (!license || files.length === 0) {
      throw new Error(`${name} ${version} has no licence that could be passed on.`);
    }
    const texts = files.map((file) => readFileSync(path.join(here, folder, file), "utf8").trim());
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  }).join(`\n\n${"=".repeat(80)}\n`);
}
