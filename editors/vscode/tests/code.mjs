// A fresh VS Code in a folder of its own, and a browser on it; nothing of it is left behind, and the user's own settings are never read.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "files.autoSave": "off",
  "files.hotExit": "off",
  "git.openRepositoryInParentFolders": "never",
  "security.workspace.trust.enabled": false,
};
const BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];
/** How long anything may take before it counts as hung, on a machine that is busy with other things. */
export const HANG = 180_000;

export class Code {
  /** @param {{ tools: string, settings?: object, machine?: object, env?: object, extensions?: string[], searched?: string }} options `machine` has settings of the machine's, `searched` is the PATH */
  constructor({ tools, settings = {}, machine = {}, env = {}, extensions = [], searched = process.env.PATH }) {
    this.tools = tools;
    this.home = mkdtempSync(path.join(tmpdir(), "pilcrow-code-"));
    this.extensions = path.join(this.home, "extensions");
    this.user = path.join(this.home, "user");
    this.env = { ...process.env, HOME: this.home, XDG_CONFIG_HOME: path.join(this.home, "config"), XDG_STATE_HOME: path.join(this.home, "state"), SHELL: "/bin/bash", ...env };
    // VS Code asks a login shell for the environment.
    writeFileSync(path.join(this.home, ".bash_profile"), `PATH='${searched}'\n`);
    mkdirSync(path.join(this.user, "User"), { recursive: true });
    mkdirSync(this.extensions, { recursive: true });
    writeFileSync(path.join(this.user, "User", "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }, null, 2));
    mkdirSync(path.join(this.user, "Machine"));
    writeFileSync(path.join(this.user, "Machine", "settings.json"), JSON.stringify(machine, null, 2));
    for (const folder of extensions) {
      cpSync(folder, path.join(this.extensions, `pilcrow.${path.basename(folder)}-0.1.0`), { recursive: true });
    }
  }

  #entry(args) {
    const entry = path.join(this.tools, "code/node_modules/code-server/out/node/entry.js");
    return [entry, "--user-data-dir", this.user, "--extensions-dir", this.extensions, "--disable-telemetry", "--disable-update-check", ...args];
  }

  /** Runs the command line of VS Code and returns what it says. */
  async command(...args) {
    const ran = spawn(process.execPath, this.#entry(args), { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [ran.stdout, ran.stderr]) stream.on("data", (data) => (said += data));
    const [code] = await once(ran, "close");
    if (code !== 0) throw new Error(`code ${args.join(" ")}: ${said}`);
    return said;
  }

  /** @param {boolean} forTests whether a test module can say how it ended; such a window shows no notifications */
  async start(forTests) {
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    this.port = probe.address().port;
    probe.close();
    await once(probe, "close");
    const args = ["--auth", "none", "--bind-addr", `127.0.0.1:${this.port}`, "--disable-getting-started-override", ...(forTests ? ["--vscode-option", "enable-smoke-test-driver"] : [])];
    this.server = spawn(process.execPath, this.#entry(args), { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    this.log = "";
    await new Promise((resolve, reject) => {
      const heard = (data) => {
        this.log += data;
        if (this.log.includes("HTTP server listening")) resolve();
      };
      this.server.stdout.on("data", heard);
      this.server.stderr.on("data", heard);
      this.server.once("exit", (code) => reject(new Error(`VS Code ended with ${code}: ${this.log}`)));
      setTimeout(() => reject(new Error(`VS Code does not start: ${this.log}`)), HANG).unref();
    });
    const { chromium } = createRequire(path.join(this.tools, "drive/"))("playwright-core");
    const executablePath = createRequire(import.meta.url)("node:child_process").execSync("command -v chromium || command -v chromium-browser", { encoding: "utf8" }).trim();
    this.browser = await chromium.launch({ executablePath, args: BROWSER, timeout: HANG });
    this.context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
    this.context.setDefaultTimeout(HANG);
    this.page = await this.context.newPage();
  }

  /** The address of a window. @param {Record<string, string>} query @param {[string, string][]} payload */
  address(query, payload = []) {
    const search = new URLSearchParams(query);
    if (payload.length > 0) search.set("payload", JSON.stringify(payload));
    return `http://127.0.0.1:${this.port}/?${search}`;
  }

  remote(file) {
    return `vscode-remote://127.0.0.1:${this.port}${encodeURI(file)}`;
  }

  /** Signs in to GitHub: the page that embeds VS Code in a browser has the session for it, and says which extensions may have it without a question. */
  async signIn({ token, extensions }) {
    const session = { id: "1", providerId: "github", accessToken: token, scopes: [["user:email"], ["repo"]] };
    await this.page.addInitScript(
      ({ session, extensions }) => {
        const change = (name, make) => {
          const element = document.getElementById(`vscode-workbench-${name}`);
          element?.setAttribute("data-settings", JSON.stringify(make(element.getAttribute("data-settings"))));
        };
        // The page is there, and its scripts have not run.
        document.addEventListener("readystatechange", () => {
          if (document.readyState !== "interactive") return;
          change("auth-session", () => session);
          change("web-configuration", (written) => {
            const configuration = JSON.parse(written);
            const productConfiguration = { ...configuration.productConfiguration, trustedExtensionAuthAccess: extensions };
            return { ...configuration, productConfiguration };
          });
        });
      },
      { session, extensions },
    );
  }

  /** Runs a test module in the extension host of a window; resolves to its exit code, or to why there is none. It hangs when no test is added to `report`. */
  async hostTests(query, extension, module, report) {
    const ended = new Promise((resolve) => this.page.exposeFunction("codeAutomationExit", (code) => resolve(code)));
    await this.page.exposeFunction("codeAutomationLog", () => undefined);
    const payload = [["extensionDevelopmentPath", this.remote(extension)], ["extensionTestsPath", this.remote(module)]];
    await this.page.goto(this.address(query, payload), { waitUntil: "domcontentloaded" });
    const gone = once(this.server, "exit").then(([code]) => `VS Code ended with ${code}: ${this.log}`);
    let timer;
    const hung = new Promise((resolve) => {
      let before = -1;
      timer = setInterval(() => {
        const { size } = statSync(report);
        if (size === before) resolve("the tests hung");
        before = size;
      }, HANG);
    });
    const code = await Promise.race([ended, gone, hung]);
    clearInterval(timer);
    return code;
  }

  async stop() {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) {
      this.server.removeAllListeners("exit");
      const gone = once(this.server, "exit");
      this.server.kill("SIGTERM");
      await gone;
    }
    rmSync(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
