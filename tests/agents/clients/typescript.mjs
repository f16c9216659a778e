// Calls every tool with the protocol's TypeScript client: typescript.mjs MODE WORKSPACE COMMAND [ARGS…]. Node looks for its packages from here
// on, so the client is named by the folder in $CLIENT.
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [mode, workspace, command, ...args] = process.argv.slice(2);
const dist = (file) => import(pathToFileURL(path.join(process.env.CLIENT, "dist", file)).href);
const { Client } = await dist("index.mjs");
const { StdioClientTransport } = await dist("stdio.mjs");

const client = new Client({ name: "tests", version: "1" }, { capabilities: {}, versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args, cwd: workspace }));
const { tools } = await client.listTools();
const said = { mode, version: String(client.getNegotiatedProtocolVersion?.() ?? ""), tools: tools.map(({ name }) => name), calls: [] };
for (const [name, args] of JSON.parse(readFileSync(0, "utf8"))) {
  const result = await client.callTool({ name, arguments: args });
  const content = result.content.map((block) => (block.type === "text" ? block.text : block.mimeType));
  said.calls.push({ error: Boolean(result.isError), content });
}
await client.close();
console.log(JSON.stringify(said));
