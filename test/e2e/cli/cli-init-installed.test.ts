import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { RunningCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import { installOurs } from '../../kit/workspaces/npm-package.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** The packed package below `node_modules` of the home directory. */
function installed() {
  const library = { ...workspace, path: join(workspace.home, 'lib') };
  const folder = installOurs(library);
  const program = join(folder, 'dist', 'troupe.cjs');
  const init = (...clients: string[]) => {
    const args = [program, 'init', ...clients, '--yes'];
    const child = spawn(process.execPath, args, {
      cwd: workspace.path,
      env: testEnvironment(workspace)
    });
    return new RunningCommand(child).exited;
  };
  return { folder, init };
}

test('what npm cannot fetch of a published package is said so, and the entry stays', async () => {
  const { folder, init } = installed();
  const metadata = join(folder, 'package.json');
  const { private: _, ...about } = JSON.parse(readFileSync(metadata, 'utf8'));
  writeFileSync(metadata, JSON.stringify(about));
  const initInstalled = (npmrc: string) => {
    workspace.write('.npmrc', npmrc);
    return init('claude', 'cursor');
  };
  let asked = 0;
  const registry = createServer(({ url, headers }, response) => {
    // Refused, npm asks once more in an older form.
    if (url === '/troupe' && headers.accept?.includes('npm')) asked += 1;
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void registry.close());
  await once(registry, 'listening');
  const address = registry.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const missing = await initInstalled(`registry=http://127.0.0.1:${port}/\n`);
  expect(missing.code).toBe(1);
  for (const label of ['Claude Code', 'Cursor'])
    expect(missing.stderr).toContain(`${label}: npm does not find the package`);
  expect(asked).toBe(1);
  expect(missing.stderr).toContain('troupe init claude --remove');
  const away = await initInstalled(
    'registry=http://127.0.0.1:9/\nfetch-retries=0\n'
  );
  expect(away.code).toBe(1);
  expect(away.stderr).toContain(
    'npm cannot reach its registry (ECONNREFUSED).'
  );
  const file = readFileSync(join(workspace.path, '.mcp.json'), 'utf8');
  expect(JSON.parse(file).mcpServers.agents).toMatchObject({
    command: 'npx',
    args: ['-y', 'troupe', 'mcp']
  });
});

test('an installed package that is not published is started by its path', async () => {
  const { folder, init } = installed();
  // Whatever npm is asked for fails.
  workspace.write('.npmrc', 'registry=http://127.0.0.1:9/\nfetch-retries=0\n');
  const { code, stderr } = await init('claude');
  expect(stderr).toContain('Claude Code: starts in');
  expect(code).toBe(0);
  const file = readFileSync(join(workspace.path, '.mcp.json'), 'utf8');
  expect(JSON.parse(file).mcpServers.agents).toMatchObject({
    command: 'node',
    args: [join(folder, 'dist', 'troupe.cjs'), 'mcp']
  });
});
