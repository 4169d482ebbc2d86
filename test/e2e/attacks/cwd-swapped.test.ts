import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { printOfHome } from '../../kit/workspaces/tree.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  mkdirSync(join(workspace.path, 'sub'));
  server = await startServer(workspace, {
    env: { TROUPE_ENGINES: 'rehearsal', TROUPE_MAX_CONCURRENT: '1' }
  });
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
});

async function spawn(args: Record<string, unknown>): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', args);
  return String(data.agent_id);
}

/** What an agent at work may do to the directory of one that waits. */
const changes: [what: string, change: (path: string) => void, told: string][] =
  [
    [
      'a link out of the workspace',
      (path) => symlinkSync(workspace.home, path),
      'now leads out of the workspace'
    ],
    ['nothing', () => undefined, 'is gone']
  ];

test.each(changes)(
  'an agent does not start in a directory that became %s while it waited',
  async (_what, change, told) => {
    const first = await spawn({ prompt: 'hang' });
    const second = await spawn({ prompt: 'write made.txt x', cwd: 'sub' });
    const sub = join(workspace.path, 'sub');
    rmSync(sub, { recursive: true });
    change(sub);
    const before = printOfHome(workspace);
    await server.call('cancel_agent', { agent_id: first });
    await server.call('wait_for_agents', { agent_ids: [second] });
    const { data } = await server.call('result', { agent_id: second });
    expect(data).toMatchObject({ status: 'failed' });
    expect(data.error).toContain(`${sub} ${told}`);
    expect(printOfHome(workspace)).toEqual(before);
  }
);
