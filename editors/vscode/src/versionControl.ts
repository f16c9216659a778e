// Whether a file's old text could be had again from version control; where nobody knows, the answer is never yes.
import * as vscode from "vscode";

/** What is used of the API of VS Code's own Git extension. */
interface Git {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): Repository | null };
}
interface Repository {
  state: { workingTreeChanges: Change[]; untrackedChanges?: Change[] };
  checkIgnore(paths: string[]): Promise<Set<string>>;
}
interface Change {
  uri: vscode.Uri;
  status: number;
}
const UNTRACKED = 7;

export async function allInVersionControl(files: readonly string[]): Promise<boolean> {
  const extension = vscode.extensions.getExtension<Git>("vscode.git");
  if (!extension) {
    return false;
  }
  try {
    const git = (await extension.activate()).getAPI(1);
    const answers = await Promise.all(files.map((file) => isTracked(git, file)));
    return answers.every((tracked) => tracked);
  } catch {
    // Git is off, as it is in a folder that is not trusted.
    return false;
  }
}

async function isTracked(git: ReturnType<Git["getAPI"]>, file: string): Promise<boolean> {
  const uri = vscode.Uri.file(file);
  const repository = git.getRepository(uri);
  if (!repository) {
    return false;
  }
  const { workingTreeChanges, untrackedChanges = [] } = repository.state;
  const untracked = [...workingTreeChanges, ...untrackedChanges].some(
    (change) => change.status === UNTRACKED && change.uri.fsPath === uri.fsPath,
  );
  return !untracked && (await repository.checkIgnore([uri.fsPath])).size === 0;
}
