// The calls that other extensions, the tools and the commands make, each in a session; parameters go to the daemon as they are, never checked here.
import * as vscode from "vscode";
import type { Calls, EditResult, Flushed, Pilcrow, PutResult, ReadManyResult, ReadResult, SearchResult, Session, SnapshotChange } from "../api/index";
import type { Daemon } from "./daemon";

/** The calls in one session; those without a name are in the daemon's default one. */
export function calls(daemon: Daemon, session?: string): Calls {
  const own = session === undefined ? {} : { session };
  const event: vscode.Event<SnapshotChange> = (listener, self, disposables) =>
    daemon.onDidChangeSnapshot(
      (change) => {
        if (session === undefined || change.session === session) {
          listener.call(self, change);
        }
      },
      undefined,
      disposables,
    );
  return {
    read: (params, token) => {
      const given = typeof params === "string" ? { path: params } : params;
      return daemon.request<ReadResult>("agent/read", { ...given, ...own }, token);
    },
    readMany: (params, token) => daemon.request<ReadManyResult>("agent/readMany", { ...params, ...own }, token),
    search: (params, token) => {
      const given = typeof params === "string" ? { pattern: params } : params;
      return daemon.request<SearchResult>("agent/search", { ...given, ...own }, token);
    },
    edit: (params, token) => daemon.request<EditResult>("agent/edit", { ...params, ...own }, token),
    write: (params, token) => daemon.request<EditResult>("agent/write", { ...params, ...own }, token),
    putArtifact: (params, token) => daemon.request<PutResult>("agent/putArtifact", { ...params, ...own }, token),
    onDidChangeSnapshot: event,
  };
}

/** What `activate()` returns. */
export function api(daemon: Daemon): Pilcrow {
  let opened = 0;
  return {
    ...calls(daemon),
    // Sessions are kept on disk: one without a name is no other window's.
    openSession: (name = `session-${vscode.env.sessionId}-${++opened}`): Session => ({
      ...calls(daemon, name),
      name,
      dispose: () => {
        // What is gone with the daemon is closed as well.
        daemon.request("agent/closeSession", { session: name }).catch(() => undefined);
      },
    }),
    registerScheme: (scheme, resolver) => daemon.resolvers.register(scheme, resolver),
    flush: (paths, token) => daemon.request<Flushed>("agent/flush", paths ? { paths } : {}, token),
  };
}
