// The daemon's tools for the language models of VS Code; what a user has not confirmed is never written.
import * as vscode from "vscode";
import type { EditResult, ReadManyResult, ReadResult, SearchResult } from "../api/index";
import type { Daemon } from "./daemon";
import { parts, partsOfMany } from "./parts";
import { messageOf, Refused } from "./refusal";
import * as settings from "./settings";
import { allInVersionControl } from "./versionControl";

/** All chats are one reader: VS Code does not tell a tool which chat it is called from. */
const SESSION = "vscode-chat";
/** The descriptions in package.json are of this dialect, whatever the user reads in. */
const DIALECT = "hashline";
/** Refusals that are kept for calls which may never come. */
const KEPT = 100;

export function registerTools(daemon: Daemon): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.lm.registerTool("pilcrow_read", new ReadTool(daemon)),
    vscode.lm.registerTool("pilcrow_read_many", new ReadManyTool(daemon)),
    vscode.lm.registerTool("pilcrow_search", new SearchTool(daemon)),
    vscode.lm.registerTool("pilcrow_edit", new ChangeTool(daemon, "agent/edit")),
    vscode.lm.registerTool("pilcrow_write", new ChangeTool(daemon, "agent/write")),
  );
}

type Invocation<T> = vscode.LanguageModelToolInvocationOptions<T>;
type Preparation<T> = vscode.LanguageModelToolInvocationPrepareOptions<T>;

/** Asks the daemon; a refusal becomes an error with everything that a model needs to go on. */
async function ask<R>(daemon: Daemon, method: string, input: object, token: vscode.CancellationToken): Promise<R> {
  try {
    return await daemon.request<R>(method, { ...input, session: SESSION, dialect: DIALECT }, token);
  } catch (error) {
    throw error instanceof Refused ? new Error(error.forModel()) : error;
  }
}

class ReadTool implements vscode.LanguageModelTool<{ path: string; selector?: string }> {
  constructor(private readonly daemon: Daemon) {}

  prepareInvocation({ input }: Preparation<{ path: string; selector?: string }>): vscode.PreparedToolInvocation {
    const selector = input.selector ? `:${input.selector}` : "";
    return { invocationMessage: `Reading ${input.path}${selector}` };
  }

  async invoke({ input }: Invocation<object>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const { content } = await ask<ReadResult>(this.daemon, "agent/read", input, token);
    return new vscode.LanguageModelToolResult(parts(content));
  }
}

class ReadManyTool implements vscode.LanguageModelTool<{ paths: string[] }> {
  constructor(private readonly daemon: Daemon) {}

  prepareInvocation({ input }: Preparation<{ paths: string[] }>): vscode.PreparedToolInvocation {
    return { invocationMessage: `Reading ${input.paths.length} files` };
  }

  async invoke({ input }: Invocation<object>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const result = await ask<ReadManyResult>(this.daemon, "agent/readMany", input, token);
    return new vscode.LanguageModelToolResult(partsOfMany(result));
  }
}

class SearchTool implements vscode.LanguageModelTool<{ pattern: string; path?: string }> {
  constructor(private readonly daemon: Daemon) {}

  prepareInvocation({ input }: Preparation<{ pattern: string; path?: string }>): vscode.PreparedToolInvocation {
    const where = input.path ? ` in ${input.path}` : "";
    return { invocationMessage: `Searching for ${input.pattern}${where}` };
  }

  async invoke({ input }: Invocation<object>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const { content } = await ask<SearchResult>(this.daemon, "agent/search", input, token);
    return new vscode.LanguageModelToolResult(parts(content));
  }
}

/** `agent/edit` and `agent/write`: a dry run for the user to confirm, then the change. */
class ChangeTool implements vscode.LanguageModelTool<object> {
  /** By input: why its dry run was refused. Such a call was confirmed by nobody and is not carried out. */
  private readonly refused = new Map<string, string>();

  constructor(
    private readonly daemon: Daemon,
    private readonly method: "agent/edit" | "agent/write",
  ) {}

  async prepareInvocation({ input }: Preparation<object>, token: vscode.CancellationToken): Promise<vscode.PreparedToolInvocation> {
    const key = JSON.stringify(input);
    this.refused.delete(key);
    const confirm = settings.confirmEdits();
    if (confirm === "never") {
      return { invocationMessage: "Editing" };
    }
    let planned: EditResult;
    try {
      planned = await ask<EditResult>(this.daemon, this.method, { ...input, dryRun: true }, token);
    } catch (error) {
      this.keep(key, messageOf(error));
      return { invocationMessage: "Editing" };
    }
    const { files } = planned.details;
    const names = files.map((file) => file.path).join(", ");
    const prepared = { invocationMessage: `Editing ${names}` };
    const safe = confirm === "outsideVersionControl" && (await allInVersionControl(files.map((file) => file.wroteTo ?? file.resolvedPath)));
    if (safe) {
      return prepared;
    }
    const diff = files.map((file) => file.diff).join("");
    const warnings = files.flatMap((file) => file.warnings.map((warning) => `\n\n${file.path}: ${warning.message}`));
    const message = new vscode.MarkdownString(fenced(diff, "diff")).appendText(warnings.join(""));
    return { ...prepared, confirmationMessages: { title: `Edit ${names}?`, message } };
  }

  async invoke({ input }: Invocation<object>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const refusal = this.refused.get(JSON.stringify(input));
    if (refusal !== undefined) {
      throw new Error(refusal);
    }
    const { content, details } = await ask<EditResult>(this.daemon, this.method, input, token);
    if (settings.saveAfterEdit()) {
      await this.daemon.request("agent/flush", { paths: details.files.map((file) => file.resolvedPath) });
    }
    return new vscode.LanguageModelToolResult(parts(content));
  }

  private keep(key: string, refusal: string): void {
    this.refused.set(key, refusal);
    const [oldest] = this.refused.keys();
    if (this.refused.size > KEPT && oldest !== undefined) {
      this.refused.delete(oldest);
    }
  }
}

/** A code block whose fence is longer than any run of backticks in it. */
export function fenced(text: string, language: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}
