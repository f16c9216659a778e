// The daemon's life: found, started, restarted after a crash, given up on when it crashes on and on; what is asked of it is never made up here.
import { mkdirSync } from "node:fs";
import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  ErrorCodes,
  type ErrorHandler,
  LanguageClient,
  ResponseError,
  State,
  TransportKind,
} from "vscode-languageclient/node";
import type { SnapshotChange } from "../api/index";
import { applyEdit } from "./applyEdit";
import { LoginOnRequest } from "./credentials";
import { SaveOnRequest, SELECTOR, stateAfterSync, stateWithoutSync } from "./documents";
import { FollowOnRequest } from "./follow";
import { find, type Found, mismatch } from "./find";
import { asRefused, messageOf } from "./refusal";
import { OfferSchemes, Resolvers } from "./resources";
import * as settings from "./settings";

/** The protocol's version that is spoken here. */
const PROTOCOL = 1;
/** After one crash more than this within three minutes the daemon is not started again. */
const RESTARTS = 4;
/** Requests that change nothing, so that they can be sent again when the daemon died under them. */
const READS = new Set(["agent/read", "agent/readMany", "agent/search", "agent/status", "agent/tools"]);

export type Life = { is: "starting" } | { is: "running"; found: Found } | { is: "stopped"; why: string };

export class Daemon implements vscode.Disposable {
  private readonly changedLife = new vscode.EventEmitter<Life>();
  private readonly changedSnapshot = new vscode.EventEmitter<SnapshotChange>();
  private readonly answered = new vscode.EventEmitter<string>();
  private readonly rest: vscode.Disposable[] = [];
  private client: LanguageClient | undefined;
  private current: Life = { is: "stopped", why: "Pilcrow is not started yet." };
  /** Starts and stops happen one after the other. */
  private turn: Promise<void> = Promise.resolve();

  /** Who has what is behind addresses of other extensions' schemes. */
  readonly resolvers = new Resolvers();
  readonly onDidChangeLife = this.changedLife.event;
  readonly onDidChangeSnapshot = this.changedSnapshot.event;
  /** Fires with the method of what was answered or refused. */
  readonly onDidAnswer = this.answered.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.rest.push(
      this.resolvers,
      stateWithoutSync(() => this.client),
      vscode.workspace.onDidChangeConfiguration((event) => this.reconfigure(event)),
      // A path that was left out while the folder was not trusted counts from now on.
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.reconsider()),
    );
  }

  get life(): Life {
    return this.current;
  }

  start(): Promise<void> {
    return this.inTurn(async () => {
      this.live({ is: "starting" });
      try {
        await this.launch();
      } catch (error) {
        this.stopped(messageOf(error));
      }
    });
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  private stop(): Promise<void> {
    return this.inTurn(async () => {
      const client = this.client;
      this.client = undefined;
      this.live({ is: "starting" });
      if (client) {
        await client.dispose().catch((error: unknown) => this.log.debug(`stop: ${messageOf(error)}`));
      }
    });
  }

  /** Asks the daemon; waits while it is starting. Refusals are thrown as `Refused`. */
  async request<R>(method: string, params: object, token?: vscode.CancellationToken): Promise<R> {
    try {
      return await this.ask<R>(method, params, token).catch(async (error: unknown) => {
        if (!READS.has(method) || !isLost(error)) {
          throw error;
        }
        // The pipe can break before its end is told.
        if (this.current.is === "running") {
          await this.nextLife(token);
        }
        return this.ask<R>(method, params, token);
      });
    } catch (error) {
      throw asRefused(error);
    } finally {
      this.answered.fire(method);
    }
  }

  private async ask<R>(method: string, params: object, token?: vscode.CancellationToken): Promise<R> {
    const client = await this.running(token);
    // An absent token would be sent as one parameter more.
    return token ? client.sendRequest<R>(method, params, token) : client.sendRequest<R>(method, params);
  }

  /** The client once it is running; an error when it will not be. */
  private async running(token?: vscode.CancellationToken): Promise<LanguageClient> {
    for (;;) {
      if (this.current.is === "running" && this.client?.isRunning()) {
        return this.client;
      }
      if (this.current.is === "stopped") {
        throw new Error(this.current.why);
      }
      await this.nextLife(token);
    }
  }

  private nextLife(token?: vscode.CancellationToken): Promise<void> {
    return new Promise((resolve, reject) => {
      const heard = [
        this.onDidChangeLife(() => settle(resolve)),
        ...(token ? [token.onCancellationRequested(() => settle(() => reject(new vscode.CancellationError())))] : []),
      ];
      const settle = (then: () => void) => {
        vscode.Disposable.from(...heard).dispose();
        then();
      };
    });
  }

  private async launch(): Promise<void> {
    const { path, extraEnv } = settings.server();
    const env = { ...process.env, ...extraEnv };
    const found = await find({ setting: path, extension: this.context.extensionPath, env });
    this.log.info(`pilcrow ${found.version}: ${found.command} (${found.from})`);
    const own: string = this.context.extension.packageJSON.version;
    const why = mismatch(own, found.version);
    if (why) {
      throw new Error(`${why} (${found.command})`);
    }
    const run = {
      command: found.command,
      args: ["serve"],
      transport: TransportKind.stdio,
      options: { env, cwd: this.emptyFolder() },
    };
    let crashes: ErrorHandler | undefined;
    const errorHandler: ErrorHandler = {
      error: async (error, message, count) => {
        // What is written to a daemon just dead fails before its end is told; the client would stop for good at that.
        if (isOfTheStream(error)) {
          return { action: ErrorAction.Continue, handled: true };
        }
        const { action } = await crashes!.error(error, message, count);
        if (action === ErrorAction.Shutdown) {
          this.stopped(`The connection to Pilcrow's daemon broke: ${error.message}`);
        }
        return { action, handled: true };
      },
      closed: async () => {
        this.live({ is: "starting" });
        const { action } = await crashes!.closed();
        const again = action === CloseAction.Restart;
        this.log.warn(again ? "The daemon ended and is started again." : "The daemon ended too often.");
        if (!again) {
          this.stopped(`Pilcrow's daemon crashed ${RESTARTS + 1} times within 3 minutes and is not started again.`);
        }
        return { action, handled: true };
      },
    };
    const client: LanguageClient = new LanguageClient("pilcrow", "Pilcrow", { run, debug: run }, {
      documentSelector: SELECTOR,
      outputChannel: this.log,
      traceOutputChannel: this.log,
      initializationOptions: this.daemonSettings(),
      errorHandler,
      middleware: {
        ...stateAfterSync(() => client),
        workspace: {
          handleApplyEdit: (params) => applyEdit(params),
          // Never the folder's word.
          configuration: ({ items }) => items.map(({ section }) => (section === "pilcrow" ? this.daemonSettings() : null)),
        },
      },
    });
    crashes = client.createDefaultErrorHandler(RESTARTS);
    client.registerFeature(new SaveOnRequest(client));
    client.registerFeature(new FollowOnRequest(client));
    const offer = new OfferSchemes(client, this.resolvers);
    client.registerFeature(offer);
    client.registerFeature(new LoginOnRequest(client));
    client.onNotification("agent/didChangeSnapshot", (change: SnapshotChange) => this.changedSnapshot.fire(change));
    client.onDidChangeState(({ newState }) => {
      this.follow(client, newState, found);
      if (newState === State.Running) {
        void offer.tell();
      }
    });
    this.client = client;
    await client.start();
    const protocol = client.initializeResult?.capabilities.experimental?.pilcrow?.protocol;
    if (protocol !== PROTOCOL) {
      this.client = undefined;
      await client.dispose();
      throw new Error(`${found.command} speaks version ${protocol ?? "?"} of the protocol, not ${PROTOCOL}.`);
    }
    this.live({ is: "running", found });
  }

  private follow(client: LanguageClient, state: State, found: Found): void {
    if (client !== this.client) {
      return;
    }
    if (state === State.Running) {
      this.live({ is: "running", found });
    } else if (this.current.is === "running") {
      this.live({ is: "starting" });
    }
  }

  private live(life: Life): void {
    this.current = life;
    this.changedLife.fire(life);
  }

  private stopped(why: string): void {
    this.log.error(why);
    this.live({ is: "stopped", why });
    const [log, restart] = ["Show Log", "Restart"];
    void vscode.window.showErrorMessage(why, log, restart).then((chosen) => {
      if (chosen === log) {
        this.log.show();
      } else if (chosen === restart) {
        void this.restart();
      }
    });
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(work);
    return this.turn;
  }

  /** Where no folder is open the daemon takes its own as the root: one that is empty, so that nothing else can be read. */
  private emptyFolder(): string {
    const folder = vscode.Uri.joinPath(this.context.globalStorageUri, "no-folder").fsPath;
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Where sessions' artifacts and scratch files lie, to be found again by the next daemon of this workspace. */
  private sessionFolder(): string {
    const folder = vscode.Uri.joinPath(this.context.storageUri ?? this.context.globalStorageUri, "sessions").fsPath;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  private daemonSettings(): Record<string, unknown> {
    return settings.forTheDaemon(this.context.extension, {
      isTrusted: vscode.workspace.isTrusted,
      sessionDirectory: this.sessionFolder(),
    });
  }

  private async reconfigure(event: vscode.ConfigurationChangeEvent): Promise<void> {
    if (event.affectsConfiguration("pilcrow.server.path") || event.affectsConfiguration("pilcrow.server.extraEnv")) {
      await this.restart();
    } else if (event.affectsConfiguration("pilcrow")) {
      await this.sendSettings();
    }
  }

  private async sendSettings(): Promise<void> {
    if (this.client?.isRunning()) {
      const sent = { settings: { pilcrow: this.daemonSettings() } };
      await this.client.sendNotification(DidChangeConfigurationNotification.type, sent);
    }
  }

  private async reconsider(): Promise<void> {
    const { path, extraEnv } = settings.server();
    const other = path !== undefined && this.current.is === "running" && this.current.found.command !== path;
    if (other || Object.keys(extraEnv).length > 0) {
      await this.restart();
    } else {
      // Skills, rules and memories of the folder count from now on.
      await this.sendSettings();
    }
  }

  dispose(): Promise<void> {
    vscode.Disposable.from(...this.rest, this.changedLife, this.changedSnapshot, this.answered).dispose();
    const client = this.client;
    this.client = undefined;
    return client ? client.dispose().catch(() => undefined) : Promise.resolve();
  }
}

/** Whether a request was lost with the connection, so that nobody answers it. */
function isLost(error: unknown): boolean {
  const codes: number[] = [ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive, ErrorCodes.MessageWriteError];
  return error instanceof ResponseError && codes.includes(error.code);
}

/** Whether a stream failed, which is always followed by its close, and not a message. */
function isOfTheStream(error: Error): boolean {
  return "code" in error && typeof error.code === "string";
}
