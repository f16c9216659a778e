// What this window gives to the daemon: texts of schemes that other extensions register; what a resolver answers is never looked into here.
import * as vscode from "vscode";
import { ErrorCodes, type LanguageClient, RequestType, ResponseError, type StaticFeature } from "vscode-languageclient/node";
import type { ResourceAnswer, ResourceResolver } from "../api/index";

interface Asked {
  uri: string;
  session: string;
  resolving: string;
}

const RESOLVE = new RequestType<Asked, ResourceAnswer | null, void>("agent/resolve");
/** The daemon's own: nobody else may have what is behind them. */
const OWN = new Set(["file", "http", "https", "artifact", "local"]);
/** What servers of the Model Context Protocol say of a resource that they do not have. */
const NO_SUCH_RESOURCE = -32002;

/** The resolvers of this window, whatever daemon runs. */
export class Resolvers implements vscode.Disposable {
  private readonly resolvers = new Map<string, ResourceResolver>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  get schemes(): string[] {
    return [...this.resolvers.keys()];
  }

  register(scheme: string, resolver: ResourceResolver): vscode.Disposable {
    const name = scheme.toLowerCase();
    if (!/^[a-z][a-z0-9+.-]+$/.test(name)) {
      throw new Error(`'${scheme}' is no name of a scheme, such as jira.`);
    }
    if (OWN.has(name)) {
      throw new Error(`${name}:// is the daemon's own.`);
    }
    if (this.resolvers.has(name)) {
      throw new Error(`${name}:// is registered already.`);
    }
    this.resolvers.set(name, resolver);
    this.changed.fire();
    return new vscode.Disposable(() => {
      if (this.resolvers.get(name) === resolver) {
        this.resolvers.delete(name);
        this.changed.fire();
      }
    });
  }

  async resolve({ uri, session, resolving }: Asked, token: vscode.CancellationToken): Promise<ResourceAnswer | null> {
    const resolver = this.resolvers.get(uri.slice(0, uri.indexOf(":")).toLowerCase());
    if (!resolver) {
      return null;
    }
    try {
      const answer = await resolver(uri, { session, _meta: { "pilcrow/resolving": resolving } }, token);
      return typeof answer === "string" ? { contents: [{ uri, text: answer }] } : (answer ?? null);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const isMissing = error instanceof vscode.FileSystemError && error.code === "FileNotFound";
      throw new ResponseError(isMissing ? NO_SUCH_RESOURCE : ErrorCodes.InternalError, message);
    }
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** Offers the schemes to one daemon, and tells it of each change. */
export class OfferSchemes implements StaticFeature {
  private readonly heard: vscode.Disposable;
  private offered = "";

  constructor(
    private readonly client: LanguageClient,
    private readonly resolvers: Resolvers,
  ) {
    this.heard = resolvers.onDidChange(() => void this.tell());
  }

  fillClientCapabilities(capabilities: { experimental?: { pilcrow?: object } }): void {
    const { schemes } = this.resolvers;
    this.offered = schemes.join();
    const pilcrow = { ...capabilities.experimental?.pilcrow, resources: { schemes } };
    capabilities.experimental = { ...capabilities.experimental, pilcrow };
  }

  initialize(): void {
    this.client.onRequest(RESOLVE, (asked, token) => this.resolvers.resolve(asked, token));
  }

  /** To be called once the daemon runs: what was registered meanwhile was not offered. */
  async tell(): Promise<void> {
    const { schemes } = this.resolvers;
    if (this.client.isRunning() && this.offered !== schemes.join()) {
      this.offered = schemes.join();
      await this.client.sendNotification("agent/didChangeSchemes", { schemes });
    }
  }

  getState(): { kind: "static" } {
    return { kind: "static" };
  }

  clear(): void {
    this.heard.dispose();
  }
}
