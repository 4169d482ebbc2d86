import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  startMember,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
  workspace.write('run.template', 'squaddie "<%= task %>"');
  squadProgram(workspace);
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  workspace.remove();
});

async function start(...flags: string[]): Promise<McpClient> {
  const env = { RUN_TEMPLATE_PATH: 'run.template', ENGINE: 'squaddie' };
  server = await startServer(workspace, { env, flags });
  return server;
}

const tester = (task: string) => ({ roleId: 'tester', task });

test.each([9000, 19_000, 60_000])(
  "a template's output and its answer share one answer's room: %d characters",
  async (chars) => {
    const client = await start();
    const member = await startMember(client, tester(`[[chars ${chars}]]`));
    const { rawStdout, result, ...more } = member;
    expect(rawStdout.length + result.length).toBeLessThanOrEqual(20_000);
    if (chars < 10_000) {
      expect(rawStdout).toBe(`${'x'.repeat(chars)}\n`);
      expect(result).toBe('x'.repeat(chars));
      expect(more).not.toHaveProperty('truncated');
      return;
    }
    expect(rawStdout.length).toBeGreaterThan(9500);
    expect(result.length).toBeGreaterThan(9500);
    expect(more).toMatchObject({
      truncated: true,
      total_chars: chars,
      rawStdout_bytes: chars + 1
    });
  }
);

test('in the background members are as they began, however soon they end', async () => {
  const client = await start();
  const squad = await startSquad(client, Array(12).fill(tester('At once.')), {
    background: true
  });
  for (const member of squad.members) {
    expect(['running', 'queued']).toContain(member.status);
    const { rawStdout, rawStderr, result } = member;
    expect([rawStdout, rawStderr, result]).toEqual(['', '', '']);
  }
  const results = await waitForSquad(client, squad.squadId);
  expect(results).toHaveLength(12);
});

describe('without the toolset that follows agents,', () => {
  test('no answer refers to a tool that is not served', async () => {
    const client = await start('--toolsets', 'squad');
    const { tools } = await client.request('tools/list');
    expect(JSON.stringify(tools)).not.toContain('wait_for_agents');
    const { message } = await startSquad(client, [tester('Go.')], {
      background: true
    });
    expect(message).toContain('troupe result');
    expect(message).not.toContain('wait_for_agents');
    expect(message).not.toContain('Next:');
  });
});
