// The commands and the chat as a user meets them, one step after the other; each step waits for what it is to bring, never for a time.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { HANG } from "../code.mjs";

const SHAPES = `// Shapes with an area.

export interface Shape {
  area(): number;
}

export class Circle implements Shape {
  constructor(readonly r: number) {}

  area(): number {
    return this.r * this.r * Math.PI;
  }
}
`;
/** How long anything may take to be seen: a hang guard. */
const SHOWN = HANG;

/**
 * @param {import("../code.mjs").Code} code
 * @param {string} folder
 * @param {string} artefacts
 * @param {(ok: boolean, name: string, why?: string) => void} line
 */
export async function clicks(code, folder, artefacts, line) {
  const { page } = code;
  const file = path.join(folder, "shapes.ts");
  writeFileSync(file, SHAPES);
  const many = Array.from({ length: 20 }, (_, at) => `fn f${at}() {\n${"    work();\n".repeat(8)}}\n`).join("\n");
  writeFileSync(path.join(folder, "many.rs"), many);

  const shot = (name) => page.screenshot({ path: path.join(artefacts, `${name}.png`) });
  const see = (locator) => locator.first().waitFor({ timeout: SHOWN });
  const gone = (locator) => locator.first().waitFor({ state: "hidden", timeout: SHOWN });
  const rows = () => page.locator(".editor-group-container.active .monaco-editor .view-lines");
  const seeText = (text) => see(rows().filter({ hasText: text }));
  const command = async (title) => {
    await page.keyboard.press("F1");
    await see(page.locator(".quick-input-widget input"));
    await page.locator(".quick-input-widget input").first().fill(`>${title}`);
    await see(page.locator(".quick-input-list .monaco-list-row.focused").filter({ hasText: title }));
    await page.keyboard.press("Enter");
  };
  const open = async (name) => {
    await page.locator(".explorer-folders-view .monaco-list-row").filter({ hasText: name }).dblclick();
    await see(page.locator(".tab.active").filter({ hasText: new RegExp(`${name}$`) }));
    await see(page.locator(".editor-group-container.active .monaco-editor.focused"));
  };
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const until = async (what, look) => {
    const end = Date.now() + SHOWN;
    for (;;) {
      const found = await look();
      if (found) return found;
      if (Date.now() > end) throw new Error(`never came: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  let broken = false;
  const step = async (name, run) => {
    try {
      await run();
      line(true, `drive: ${name}`);
    } catch (error) {
      broken = true;
      await shot(`failed-drive-${name.replace(/\W+/g, "-")}`);
      line(false, `drive: ${name}`, error.message);
    }
  };

  await page.goto(code.address({ folder }), { waitUntil: "domcontentloaded" });
  const status = page.locator("[id='pilcrow.pilcrow.pilcrow.status']");

  await step("the status item comes up with state, warm files and bytes", async () => {
    await see(status.filter({ hasText: /¶ \d+ · / }));
  });
  await step("Read… asks for a path and opens the answer", async () => {
    await command("Pilcrow: Read…");
    await see(page.locator(".quick-input-widget").filter({ hasText: "Read as a model sees it" }));
    await page.keyboard.type("shapes.ts:7-9");
    await shot("read-asks");
    await page.keyboard.press("Enter");
    await seeText(/¶shapes\.ts#[0-9A-F]{4}/);
    await seeText(/8:\s+constructor/);
    await see(status.filter({ hasText: /¶ 1 · / }));
    await shot("read");
  });
  await step("Copy as Model Sees It copies unsaved text", async () => {
    await open("shapes.ts");
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("let unsaved = 1;\n");
    await command("Pilcrow: Copy as Model Sees It");
    await until("the copy", async () => /^¶shapes\.ts#[0-9A-F]{4}\n1:let unsaved = 1;\n2:\/\/ Shapes with an area\./.test(await clipboard()));
  });
  await step("Apply Hashline Patch… shows the diff, and nothing is written before Apply", async () => {
    const [header] = (await clipboard()).split("\n");
    const patch = `${header}\nreplace 2:\n+// Shapes, each with an area.\n`;
    await page.evaluate((text) => navigator.clipboard.writeText(text), patch);
    await command("Pilcrow: Apply Hashline Patch…");
    await see(page.locator(".monaco-dialog-box").filter({ hasText: "Apply the patch to shapes.ts?" }));
    await seeText("+// Shapes, each with an area.");
    await shot("apply-patch");
    await page.locator(".monaco-dialog-box .monaco-button").filter({ hasText: /^Apply$/ }).click();
    await gone(page.locator(".monaco-dialog-box"));
    await open("shapes.ts");
    await seeText("// Shapes, each with an area.");
    if (readFileSync(file, "utf8") !== SHAPES) throw new Error("the file was written");
  });
  await step("one undo takes the patch back and leaves what was typed", async () => {
    await page.keyboard.press("Control+Z");
    await seeText("// Shapes with an area.");
    await seeText("let unsaved = 1;");
    await page.keyboard.press("Control+S");
    await until("the save", () => readFileSync(file, "utf8") === `let unsaved = 1;\n${SHAPES}`);
  });
  await step("Apply Hashline Patch… says why a patch is refused", async () => {
    await page.evaluate(() => navigator.clipboard.writeText("no patch at all"));
    await command("Pilcrow: Apply Hashline Patch…");
    await see(page.locator(".notification-list-item-message").filter({ hasText: /patch line 1/i }));
    await command("Notifications: Clear All Notifications");
    await gone(page.locator(".notification-list-item-message"));
  });
  await step("Fold to Summary folds the active document", async () => {
    await open("many.rs");
    const folds = page.locator(".editor-group-container.active .codicon-folding-manual-collapsed");
    const none = page.locator(".notification-list-item-message").filter({ hasText: "has no summary" });
    for (;;) {
      await command("Pilcrow: Fold to Summary");
      await until("folds, or the word that there are none", async () => (await folds.count()) + (await none.count()));
      if (await folds.count()) break;
      // On a busy machine an outline may run out of its time; that of another text is tried anew.
      await command("Notifications: Clear All Notifications");
      await gone(none);
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("// again\n");
    }
    await shot("fold");
  });
  await step("Show Status, Show Log and Restart do what they say", async () => {
    await command("Pilcrow: Show Status");
    await seeText('"bundled"');
    await command("Pilcrow: Restart");
    await see(status.filter({ hasText: /¶/ }));
    await command("Pilcrow: Show Log");
    await see(page.locator(".panel .view-lines").filter({ hasText: /pilcrow\s0\.\d+\.\d+/ }));
    await shot("log");
    await command("View: Toggle Panel Visibility");
    await gone(page.locator(".panel .view-lines"));
  });

  const chat = page.locator(".interactive-session");
  const answer = chat.locator(".interactive-response");
  const question = chat.getByText("Edit shapes.ts?").locator("visible=true");
  const diff = chat.locator(".view-line:visible").filter({ hasText: "RangeError" });
  const button = (name) => chat.locator(".monaco-button:visible").filter({ hasText: name }).first();
  const unavailable = answer.filter({ hasText: /unavailable/i });
  /** Asks and waits for the confirmation; the first question of all may come before VS Code has the model, and is then asked again. */
  const ask = async () => {
    const before = await unavailable.count();
    await command("Fake Model: Ask");
    await until("an answer", async () => (await question.count()) > 0 || (await unavailable.count()) > before);
    if ((await question.count()) === 0) {
      await command("Fake Model: Ask");
      await see(question);
    }
    await see(diff);
  };
  await step("chat: an edit that the user declines changes nothing", async () => {
    await open("shapes.ts");
    // More room for the chat, as in the picture in the README.
    const bar = page.locator(".part.auxiliarybar");
    await see(bar);
    const { x, y, height } = await bar.boundingBox();
    await page.mouse.move(x - 3, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x - 200, y + height / 2, { steps: 5 });
    await page.mouse.up();
    await page.mouse.move(600, 600);
    await gone(page.locator(".monaco-sash.hover"));
    await ask();
    await shot("confirm");
    await button(/^Skip/).click();
    await gone(question);
    if (readFileSync(file, "utf8") !== `let unsaved = 1;\n${SHAPES}`) throw new Error("the file was written");
    if (await rows().filter({ hasText: "RangeError" }).count()) throw new Error("the buffer was changed");
  });
  await step("chat: a model reads, then edits what the user confirms by its diff", async () => {
    await ask();
    await shot("chat-asked");
    await button(/^(Allow|Continue)/).click();
    await see(answer.filter({ hasText: "Done: it is refused now." }));
    await seeText('throw new RangeError("r")');
    await shot("chat-done");
    if (readFileSync(file, "utf8").includes("RangeError")) throw new Error("the file was saved behind the user's back");
  });
  if (broken) await shot("failed-drive");
}
