import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(async () => {
  await server?.close();
  workspace.remove();
});

const own = (path: string) => readFileSync(join(packageRoot, path), 'utf8');
const inLogs = (name: string) => join(workspace.path, 'logs', name);

test('a clone of this project has logs/, and stays clean when agents have worked in it', async () => {
  const about = own('logs/README.md');
  workspace.write('.gitignore', own('.gitignore'));
  workspace.write('logs/README.md', about);
  workspace.commit('as cloned');
  expect(workspace.git('ls-files', 'logs')).toBe('logs/README.md\n');
  server = await startServer(workspace);
  const { data } = await server.call('spawn_shell', { prompt: 'echo hi' });
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  await until('the page of the agent', () =>
    workspace
      .git('status', '--porcelain', '--ignored')
      .includes('!! logs/agents/')
  );
  await until('the end in IAC.md', () =>
    readFileSync(inLogs('IAC.md'), 'utf8').includes('**Done**')
  );
  expect(workspace.git('status', '--porcelain')).toBe('');
  expect(readFileSync(inLogs('README.md'), 'utf8')).toBe(about);
});
