import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../judges/documents.ts';
import { testEnvironment } from '../servers/mcp-client.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

/** A script of ours: an empty HOME, the system's PATH, a TMPDIR of its own. */
export function runScript(
  workspace: TempWorkspace,
  name: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = testEnvironment(workspace, { TMPDIR: workspace.path });
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(packageRoot, 'scripts', name), ...args],
      { env, cwd: workspace.home },
      (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr })
    );
  });
}
