// A model that calls read, then edit with the tag it was shown, and a chat participant that does as it says; it never guesses a tag.
const vscode = require("vscode");

const MODEL = { id: "fake", name: "Fake", family: "fake", version: "1", maxInputTokens: 100000, maxOutputTokens: 10000, capabilities: { toolCalling: true } };

/** @param {readonly unknown[]} parts */
const textOf = (parts) => parts.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : "")).join("");

/** @type {vscode.LanguageModelChatProvider} */
const provider = {
  provideLanguageModelChatInformation: () => [MODEL],
  provideTokenCount: async (_, text) => JSON.stringify(text).length,
  provideLanguageModelChatResponse: async (_, messages, __, progress) => {
    const results = messages.flatMap(({ content }) => content.filter((part) => part instanceof vscode.LanguageModelToolResultPart));
    if (results.length === 0) {
      progress.report(new vscode.LanguageModelTextPart("I look at the file first. "));
      progress.report(new vscode.LanguageModelToolCallPart("1", "pilcrow_read", { path: "shapes.ts" }));
    } else if (results.length === 1) {
      const shown = textOf(results[0]?.content ?? []);
      const header = /^¶\S+#[0-9A-F]{4}$/m.exec(shown)?.[0];
      const line = /^(\d+):.*constructor/m.exec(shown)?.[1];
      const rows = ["+  constructor(readonly r: number) {", '+    if (r < 0) throw new RangeError("r");', "+  }"];
      const patch = [header, `replace ${line}:`, ...rows, ""].join("\n");
      progress.report(new vscode.LanguageModelTextPart("A negative radius is to be refused. "));
      progress.report(new vscode.LanguageModelToolCallPart("2", "pilcrow_edit", { patch }));
    } else {
      const said = textOf(results[1]?.content ?? []);
      progress.report(new vscode.LanguageModelTextPart(said.startsWith("¶") ? "Done: it is refused now." : `It was not done: ${said}`));
    }
  },
};

/**
 * @param {vscode.ChatRequest} request
 * @param {unknown} _
 * @param {vscode.ChatResponseStream} stream
 * @param {vscode.CancellationToken} token
 */
const agent = async (request, _, stream, token) => {
  const [model] = await vscode.lm.selectChatModels({ vendor: "fake" });
  const messages = [vscode.LanguageModelChatMessage.User(request.prompt)];
  const tools = vscode.lm.tools.filter((tool) => tool.name.startsWith("pilcrow_"));
  for (;;) {
    const response = await model?.sendRequest(messages, { tools: [...tools] }, token);
    const parts = [];
    for await (const part of response?.stream ?? []) {
      parts.push(part);
      if (part instanceof vscode.LanguageModelTextPart) stream.markdown(part.value);
    }
    const calls = parts.filter((part) => part instanceof vscode.LanguageModelToolCallPart);
    if (calls.length === 0) return;
    messages.push(vscode.LanguageModelChatMessage.Assistant(/** @type {any} */ (parts)));
    for (const { callId, name, input } of calls) {
      const content = await vscode.lm.invokeTool(name, { input, toolInvocationToken: request.toolInvocationToken }, token).then(
        (result) => /** @type {any[]} */ (result.content),
        (error) => [new vscode.LanguageModelTextPart(error.message)],
      );
      messages.push(vscode.LanguageModelChatMessage.User([new vscode.LanguageModelToolResultPart(callId, content)]));
    }
  }
};

exports.activate = (/** @type {vscode.ExtensionContext} */ context) => {
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider("fake", provider),
    vscode.chat.createChatParticipant("fake-model.agent", agent),
    vscode.commands.registerCommand("fakeModel.ask", async () => {
      await vscode.lm.selectChatModels({ vendor: "fake" });
      await vscode.commands.executeCommand("workbench.action.chat.open", { query: "@agent Refuse a negative radius in shapes.ts" });
    }),
  );
};
