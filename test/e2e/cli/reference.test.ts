import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** What the script says of a directory with pages. */
function check(directory: string) {
  const script = join(packageRoot, 'scripts', 'reference.mjs');
  return new Promise<{ code: number; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      [script, '--check', directory],
      { env: testEnvironment(workspace), cwd: workspace.path },
      (error, _, stderr) => resolve({ code: Number(error?.code ?? 0), stderr })
    );
  });
}

const pages = join(packageRoot, 'docs', 'reference');

test('docs/reference is what the build, the schema and the commands say', async () => {
  expect(await check(pages)).toEqual({ code: 0, stderr: '' });
});

test('a page that differs, a missing one and an extra one are reported', async () => {
  const copy = join(workspace.path, 'reference');
  cpSync(pages, copy, { recursive: true });
  appendFileSync(join(copy, 'tools.md'), '| `spawn_more` | More. |\n');
  rmSync(join(copy, 'configuration.md'));
  cpSync(join(copy, 'command-line.md'), join(copy, 'other.md'));
  const { code, stderr } = await check(copy);
  expect(code).toBe(1);
  expect(stderr).toMatch(/configuration\.md, tools\.md, other\.md\. Run: node/);
});
