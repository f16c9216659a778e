/**
 * Types of what the Pilcrow extension offers to other extensions; never a runtime value.
 *
 * ```ts
 * const pilcrow = await vscode.extensions.getExtension<Pilcrow>("pilcrow.pilcrow")!.activate();
 * const { content, details } = await pilcrow.read({ path: "src/main.rs:10-20" });
 * ```
 *
 * Every call is refused with a {@link PilcrowError}, whose message is fit to be shown to a model as it is.
 */
import type { CancellationToken, Disposable, Event, ProviderResult } from "vscode";

/** What `activate()` of the extension `pilcrow.pilcrow` returns. */
export interface Pilcrow extends Calls {
  /** Opens a session: who reads and edits (one chat, one agent). What was shown to one session is not shown to another. */
  openSession(name?: string): Session;
  /** Has what is behind `scheme://…` from now on, for every session; refused for schemes of the daemon's own and for those that somebody has. */
  registerScheme(scheme: string, resolver: ResourceResolver): Disposable;
  /** The editor saves what edits left unsaved in documents that were clean before; what the user has typed is never saved. */
  flush(paths?: readonly string[], token?: CancellationToken): Promise<Flushed>;
}

/** A reader of its own. Disposing it makes the daemon forget what was shown to it. */
export interface Session extends Calls, Disposable {
  readonly name: string;
}

export interface Calls {
  /** Reads one path, with a selector at its end or apart. */
  read(params: ReadParams | string, token?: CancellationToken): Promise<ReadResult>;
  /** Reads up to 64 paths under one budget; a bad one spoils nothing. */
  readMany(params: ReadManyParams, token?: CancellationToken): Promise<ReadManyResult>;
  /** Finds the lines that a regex matches; what is shown counts as read. */
  search(params: SearchParams | string, token?: CancellationToken): Promise<SearchResult>;
  /** Applies a patch in hashline form, or its structured twin: all of it or none. */
  edit(params: EditParams, token?: CancellationToken): Promise<EditResult>;
  /** Makes a new file, or replaces the whole of one that was read. */
  write(params: WriteParams, token?: CancellationToken): Promise<EditResult>;
  /** Puts a text or a file where a model can read it: a command's output, a subagent's answer. */
  putArtifact(params: PutArtifact, token?: CancellationToken): Promise<PutResult>;
  /** Fires when lines that were shown change: once for each session and version, never with content. */
  readonly onDidChangeSnapshot: Event<SnapshotChange>;
}

export interface ReadParams {
  path: string;
  /** With it, `path` is taken literally. */
  selector?: string;
  session?: string;
  dialect?: string;
  budget?: Budget;
  /** A WHATWG label, where detection was wrong; remembered for the file. */
  encoding?: string;
  want?: "displayContent"[];
  [parameterOfTheDialect: string]: unknown;
}

/**
 * Gives what an address of its scheme names: a text, or an answer of `resources/read` or `resources/list` in the Model
 * Context Protocol; nothing for what it does not have. The message of what it throws is passed on.
 */
export type ResourceResolver = (uri: string, asked: ResourceAsked, token: CancellationToken) => ProviderResult<ResourceAnswer | string>;

export interface ResourceAsked {
  /** Who is reading. */
  session: string;
  /** To be passed on with reads through Pilcrow for this answer: such a read never asks a resolver again. */
  _meta: { "pilcrow/resolving": string };
}

export type ResourceAnswer =
  | {
      contents: ({ uri: string; mimeType?: string; text: string } | { uri: string; mimeType?: string; /** Base64. */ blob: string })[];
      title?: string;
      /** For so long the same text is given again. */
      ttlMs?: number;
      /** Nobody else may have written it. */
      trusted?: boolean;
    }
  | {
      resources: { uri: string; name: string; title?: string; description?: string; mimeType?: string; size?: number }[];
      templates?: { uriTemplate: string; name: string; description?: string }[];
    };

/** Exactly one of `text`, `base64` and `path`. */
export interface PutArtifact {
  /** Its title. */
  name?: string;
  mimeType?: string;
  text?: string;
  base64?: string;
  /** A file that is copied. */
  path?: string;
  /** `agent://ID` for an agent's answer; with `append` one that is there; else it is the next `artifact://N`. */
  uri?: string;
  append?: boolean;
  /** It is shown without escape sequences. */
  terminal?: boolean;
  /** Read at once. */
  read?: { selector?: string; dialect?: string; budget?: Budget };
  session?: string;
}

export interface PutResult {
  uri: string;
  path: string;
  bytes: number;
  lines: number | null;
  dropped: string[];
  read?: ReadResult;
}

export interface ReadManyParams {
  targets: ReadParams[];
  session?: string;
  budget?: Budget;
}

export interface Budget {
  lines?: number;
  bytes?: number;
}

export interface ReadResult {
  /** What the model is to see, in order. */
  content: ContentBlock[];
  details: ReadDetails;
  isError?: true;
}

export interface ReadManyResult {
  results: ({ ok: ReadResult; error?: undefined } | { error: ToolError; ok?: undefined })[];
}

export interface SearchParams {
  /** A regex, as ripgrep takes it. */
  pattern: string;
  /** A file, a directory or an artifact; all folders, if it is not given. */
  path?: string;
  /** Only such files; `!` leaves out. */
  glob?: string | string[];
  literal?: boolean;
  ignoreCase?: boolean;
  word?: boolean;
  multiline?: boolean;
  /** Rows before and after each match. */
  context?: number;
  /** Only how many there are in each file. */
  count?: boolean;
  /** `details.after` of the answer that it goes on from. */
  after?: string;
  session?: string;
  dialect?: string;
  budget?: Budget;
}

export interface SearchResult {
  content: ContentBlock[];
  details: SearchDetails;
}

export interface SearchDetails {
  /** In this answer. */
  matches: number;
  /** Nothing is left to be found. */
  complete: boolean;
  after?: string;
  /** Files that were looked at. */
  searched: number;
  files: {
    path: string;
    resolvedPath?: string;
    hashline?: { path: string; tag: string };
    matches: number;
    /** Of the matches. */
    lines?: LineSpan[];
    shown?: LineSpan[];
    cutLines?: { line: number; shownChars: number; totalChars?: number }[];
  }[];
  leftOut: { ignored: number; hidden: number; denied: number; notFollowed: number; binary: number; tooLarge: number; notReadable: number };
  notices?: string[];
}

/** As in the Model Context Protocol. */
export type ContentBlock =
  | { type: "text"; text: string }
  | { type: "image"; /** Base64. */ data: string; mimeType: string }
  | { type: "resource"; resource: { uri: string; mimeType: string; /** Base64. */ blob: string } };

/** 1-indexed and inclusive. */
export interface LineSpan {
  start: number;
  end: number;
}

export interface ReadDetails {
  kind: "file" | "directory" | "archive" | "sqlite" | "notebook" | "image" | "document" | "url" | "internal";
  meta: { source: string };
  cache: "hit" | "miss";
  resolvedPath?: string;
  uri?: string;
  isDirectory?: boolean;
  suffixResolution?: { from: string; to: string };
  /** Present whenever a snapshot was recorded; `path` resolves back. */
  hashline?: { path: string; tag: string };
  origin?: "disk" | "editor";
  documentVersion?: number;
  dirty?: boolean;
  encoding?: string;
  encodingConfidence?: "certain" | "likely";
  lineEnding?: "lf" | "crlf" | "cr" | "mixed" | "none";
  bom?: boolean;
  totalLines?: number;
  totalBytes?: number;
  shown?: LineSpan[];
  cutLines?: { line: number; shownChars: number; totalChars?: number }[];
  truncation?: { reason: "lines" | "bytes"; nextSelector: string; next?: { offset: number; limit: number } };
  summary?: { language: string; lines: number; elidedLines: number; elidedSpans: LineSpan[] };
  limits?: { resultLimit: number; total?: number };
  displayContent?: { text: string; startLine: number };
  /** Behind an internal address: who gives it, and whether nobody else may have written it. */
  provider?: "session" | "settings" | "user" | "workspace" | "client" | "server" | "daemon";
  trusted?: boolean;
  title?: string;
  /** Of a listing of addresses: all of them, whatever rows are shown. */
  resources?: {
    uri: string;
    name: string;
    description?: string;
    mimeType?: string;
    size?: number;
    provider: string;
    path?: string;
    appliesTo?: string[];
    always?: boolean;
    shadowedBy?: string;
  }[];
  url?: string;
  finalUrl?: string;
  contentType?: string;
  method?: string;
  notices?: string[];
  native?: object;
}

export interface EditParams {
  /** Hashline text, or */
  patch?: string;
  /** its structured twin. */
  files?: FileEdit[];
  session?: string;
  /** Gives the diff and writes nothing. */
  dryRun?: boolean;
}

export interface FileEdit {
  path: string;
  /** May be absent only where every operation is `replace_text`. */
  tag?: string;
  edits: EditOperation[];
}

export type EditOperation =
  | { op: "replace"; start: number; end?: number; text: string | string[] }
  | { op: "delete"; start: number; end?: number }
  | { op: "insert_before" | "insert_after" | "insert_after_block" | "replace_block"; line: number; text: string | string[] }
  | { op: "delete_block"; line: number }
  | { op: "insert_head" | "insert_tail"; text: string | string[] }
  | { op: "replace_text"; old: string; new: string; all?: boolean }
  | { op: "move"; start: number; end?: number; after: number }
  | { op: "move"; start: number; end?: number; before: number }
  | { op: "move_file"; to: string }
  | { op: "delete_file" }
  | { op: "undo" };

export interface WriteParams {
  path: string;
  text: string;
  /** The tag of what is replaced; "absent" (the default) makes a new file. */
  expect?: string;
  session?: string;
  dryRun?: boolean;
}

export interface EditResult {
  content: ContentBlock[];
  details: { dryRun: boolean; files: EditedFile[] };
}

export interface EditedFile {
  path: string;
  resolvedPath: string;
  /** How it was called before it was moved. */
  movedFrom?: string;
  /** Of a dry run: where it would be. */
  movesTo?: string;
  /** It is not there any more. */
  deleted?: true;
  wroteTo?: string;
  tagBefore?: string;
  /** Names what is really there now. */
  tag: string;
  changed: LineSpan[];
  blocks?: { line: number; start: number; end: number }[];
  remapped?: { from: number; to: number }[];
  via: "disk" | "editor";
  /** Whether it is on disk. */
  persisted: boolean;
  warnings: { code: string; message: string }[];
  /** Unified, at most 200 lines. */
  diff: string;
}

export interface Flushed {
  saved: string[];
  left: { path: string; reason: string }[];
}

export interface SnapshotChange {
  session: string;
  path: string;
  tag: string;
  newTag: string | null;
  /** Where the file of `path` was moved by an edit. */
  movedTo?: string;
  changed: LineSpan[];
  /** Who did it: "editor", "disk" or "agent:" with the session. */
  actor: string;
}

/** Why a call was refused. */
export interface ToolError {
  code: number;
  message: string;
  data?: RefusalData;
}

export interface RefusalData {
  kind: string;
  retryable: boolean;
  path?: string;
  suggestions?: string[];
  /** Of `stale`, `unknownTag`, `expiredTag`, `notShown`: the live tag and lines, from which the next call can succeed. */
  files?: { path: string; tag: string; lines: { line: number; text: string }[] }[];
  [more: string]: unknown;
}

/** What calls are refused with. */
export interface PilcrowError extends Error {
  readonly kind: string;
  readonly retryable: boolean;
  readonly data: RefusalData;
}
