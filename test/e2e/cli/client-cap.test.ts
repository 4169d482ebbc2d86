import { afterEach, beforeEach, expect, test } from 'vitest';
import { limitsOf } from '../../../src/interfaces/mcp/answers/client-limits.ts';
import { squadAgents } from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  await server.close();
  workspace.remove();
});

const unknown = 'some-client';

// It takes as long as the cap: nothing shorter shows that there is one.
test('a squad and a wait both answer before an unknown client gives up', async () => {
  const agents = squadAgents(workspace);
  server = await startServer(workspace, { clientName: unknown });
  const { waitSeconds } = limitsOf(unknown);
  const reports = () =>
    server.notifications.filter(
      ({ method }) => method === 'notifications/progress'
    );
  const began = performance.now();

  const [squad, wait] = await Promise.all([
    startSquad(
      server,
      [
        { roleId: 'tester', task: '[[gate early]] [[say Ready.]]' },
        { roleId: 'tester', task: '[[gate late]] [[say Late.]]' }
      ],
      {},
      { progressToken: 'squad' }
    ),
    agents
      .call('[[gate late]]')
      .then(() => server.call('wait_for_agents', { timeout: 600 })),
    // The first member ends after the first report.
    until('a report', () => reports().length > 0).then(() =>
      agents.open('early')
    )
  ]);
  const seconds = (performance.now() - began) / 1000;

  expect(seconds).toBeGreaterThanOrEqual(waitSeconds);
  expect(seconds).toBeLessThan(waitSeconds + 10);
  const { squadId, members, message } = squad;
  expect(members).toMatchObject([
    { status: 'completed', result: 'Ready.' },
    { status: 'running', rawStdout: '', rawStderr: '', result: '' }
  ]);
  expect(message).toContain(`wait_for_agents {"squadId":"${squadId}"}`);
  const late = members[1]?.agentId;
  expect(wait.data).toMatchObject({ status: 'timeout' });
  expect(wait.data.still_running).toContain(late);
  const progress = reports().map(({ params }) => params);
  const line = (ended: number) =>
    expect.stringMatching(`^${squadId}: ${ended} of 2 ended; .+`);
  expect(progress).toMatchObject([
    { progress: 0, total: 2, message: line(0) },
    { progress: 1, total: 2, message: line(1) }
  ]);

  agents.open('late');
  const rest = await server.call('wait_for_agents', { squadId });
  expect(rest.data).toMatchObject({
    status: 'all_completed',
    results: [{ result: 'Ready.' }, { agent_id: late, result: 'Late.' }]
  });
});
