// Draws what a program wrote to its terminal, with xterm.js in Chromium, and takes the picture. It never loads anything over the network.
// usage: draw.mjs TOOLS DRAWING SCREEN COLUMNS ROWS PNG
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [tools, drawing, screen, columns, rows, png] = process.argv.slice(2);
const { chromium } = createRequire(path.join(tools, "drive/"))("playwright-core");
const executablePath = execSync("command -v chromium || command -v chromium-browser", { encoding: "utf8" }).trim();

const packages = path.join(drawing, "node_modules");
const face = (weight, style) => {
  const file = path.join(packages, `@fontsource/jetbrains-mono/files/jetbrains-mono-latin-${weight}-${style}.woff2`);
  const url = `data:font/woff2;base64,${readFileSync(file, "base64")}`;
  return `@font-face { font-family: Terminal; font-weight: ${weight}; font-style: ${style}; src: url(${url}); }`;
};
// The background of Neovim's own dark colours.
const background = "#14161b";

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });
try {
  const page = await browser.newPage({ deviceScaleFactor: 2, viewport: { width: 1400, height: 1000 } });
  await page.setContent(`<div id="frame"><div id="terminal"></div></div>`);
  await page.addStyleTag({ path: path.join(packages, "@xterm/xterm/css/xterm.css") });
  await page.addStyleTag({
    content: `${face(400, "normal")} ${face(700, "normal")} ${face(400, "italic")}
      #frame { display: inline-block; padding: 10px 12px; background: ${background}; }
      .xterm { font-variant-ligatures: none; }`,
  });
  await page.addScriptTag({ path: path.join(packages, "@xterm/xterm/lib/xterm.js") });
  await page.evaluate(
    async ({ bytes, cols, rows, background }) => {
      await Promise.all([...document.fonts].map((font) => font.load()));
      const terminal = new Terminal({
        cols, rows, scrollback: 0, fontFamily: "Terminal", fontSize: 14, fontWeightBold: 700, lineHeight: 1.15,
        theme: { background, foreground: "#e0e2ea", cursor: "#e0e2ea" },
      });
      terminal.open(document.getElementById("terminal"));
      terminal.focus();
      await new Promise((done) => terminal.write(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)), done));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    },
    { bytes: readFileSync(screen, "base64"), cols: Number(columns), rows: Number(rows), background },
  );
  await page.locator("#frame").screenshot({ path: png });
} finally {
  await browser.close();
}
