// An extension that reads and edits through Pilcrow; it never touches a file or a buffer itself.
const vscode = require("vscode");

exports.activate = async (/** @type {vscode.ExtensionContext} */ context) => {
  /** @type {vscode.Extension<import("@pilcrow/vscode-api").Pilcrow> | undefined} */
  const extension = vscode.extensions.getExtension("pilcrow.pilcrow");
  if (!extension) throw new Error("Pilcrow is not installed.");
  const session = (await extension.activate()).openSession("pilcrow-example");
  const stamp = async () => {
    const path = vscode.window.activeTextEditor?.document.uri.fsPath ?? "README.md";
    const { content, details } = await session.read({ path, selector: "1-3" });
    const [block] = content;
    const edits = [{ op: /** @type {const} */ ("insert_before"), line: 1, text: "// stamped" }];
    await session.edit({ files: [{ path, tag: details.hashline?.tag ?? "", edits }] });
    return block?.type === "text" ? block.text : "";
  };
  context.subscriptions.push(session, vscode.commands.registerCommand("pilcrowExample.stamp", stamp));
};
