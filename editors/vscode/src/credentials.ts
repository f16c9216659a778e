// Logins that the user has in VS Code already, for the daemon's requests to GitHub: nobody is asked for one, and nothing is kept here.
import * as vscode from "vscode";
import { type LanguageClient, RequestType, type StaticFeature } from "vscode-languageclient/node";

interface CredentialParams {
  service: string;
  host: string;
  reason: "missing" | "refused";
}

const CREDENTIAL = new RequestType<CredentialParams, { token: string; account: string } | null, void>("agent/credential");

/** What reads issues of private repositories, too; a session with fewer rights is better than none. */
const SCOPES = [["repo"], ["read:user"], []];

/** Answers with the session that is signed in, if one is. */
export class LoginOnRequest implements StaticFeature {
  constructor(private readonly client: LanguageClient) {}

  fillClientCapabilities(capabilities: { experimental?: { pilcrow?: object } }): void {
    const pilcrow = { ...capabilities.experimental?.pilcrow, credentials: ["github"] };
    capabilities.experimental = { ...capabilities.experimental, pilcrow };
  }

  initialize(): void {
    this.client.onRequest(CREDENTIAL, async ({ service, host, reason }) => {
      const provider = service === "github" ? providerOf(host) : undefined;
      // A session that was refused is the only one that there is.
      return provider === undefined || reason === "refused" ? null : await session(provider);
    });
  }

  getState(): { kind: "static" } {
    return { kind: "static" };
  }

  clear(): void {}
}

/** Who has sessions for a host: a token for one is never given for another. */
function providerOf(host: string): string | undefined {
  if (host === "github.com") {
    return "github";
  }
  const enterprise = vscode.workspace.getConfiguration("github-enterprise").inspect<string>("uri")?.globalValue;
  try {
    return enterprise !== undefined && new URL(enterprise).hostname === host ? "github-enterprise" : undefined;
  } catch {
    return undefined;
  }
}

async function session(provider: string): Promise<{ token: string; account: string } | null> {
  for (const scopes of SCOPES) {
    try {
      const found = await vscode.authentication.getSession(provider, scopes, { silent: true });
      if (found !== undefined) {
        return { token: found.accessToken, account: found.account.label };
      }
    } catch {
      // There is no such provider.
      return null;
    }
  }
  return null;
}
