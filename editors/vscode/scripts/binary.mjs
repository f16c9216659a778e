// Finds the daemon's program for builds and tests; it is never compiled here.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** `PILCROW_BIN`, else the repository's release build, else its debug build. */
export function binary() {
  const built = (profile) => fileURLToPath(new URL(`../../../target/${profile}/pilcrow`, import.meta.url));
  const found = [process.env.PILCROW_BIN, built("release"), built("debug")].find((file) => file && existsSync(file));
  if (!found) {
    throw new Error("No pilcrow to be found: set PILCROW_BIN or run cargo build --release.");
  }
  return found;
}
