// Refusals as errors with a message for a model; the daemon's own words are never reworded.
import { ResponseError } from "vscode-languageclient/node";
import type { PilcrowError, RefusalData, ToolError } from "../api/index";

/** What a call is refused with. */
export class Refused extends Error implements PilcrowError {
  readonly kind: string;
  readonly retryable: boolean;
  readonly data: RefusalData;

  constructor(error: ToolError) {
    super(error.message);
    this.name = "PilcrowError";
    this.data = error.data ?? { kind: "internal", retryable: false };
    this.kind = this.data.kind;
    this.retryable = this.data.retryable;
  }

  /** The message and the live lines that the refusal gives, from which the next call can succeed. */
  forModel(): string {
    const files = this.data.files ?? [];
    const rows = files.flatMap((file) => [`¶${file.path}#${file.tag}`, ...file.lines.map((row) => `${row.line}:${row.text}`)]);
    return [this.message, ...rows].join("\n");
  }
}

/** The refusal in an error of the connection; any other error as it is. */
export function asRefused(error: unknown): unknown {
  const isRefusal = error instanceof ResponseError && typeof error.data?.kind === "string";
  return isRefusal ? new Refused({ code: error.code, message: error.message, data: error.data }) : error;
}

/** The text of any error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
