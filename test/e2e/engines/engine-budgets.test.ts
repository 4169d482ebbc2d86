import { afterAll, beforeAll, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

const say = (...events: object[]) =>
  events
    .map((event) => `console.log(${JSON.stringify(JSON.stringify(event))});`)
    .join('\n');

/** What the real programs say at a limit of their own, and their exit codes. */
const programs: Record<string, string> = {
  claude: `${say({
    type: 'result',
    subtype: 'error_max_budget_usd',
    is_error: true,
    terminal_reason: 'budget_exhausted',
    errors: ['Reached maximum budget ($0.3)'],
    session_id: '6f8c7a1e-6c2f-4b62-9f1c-1f6d1b1f0b11',
    total_cost_usd: 0.44
  })} process.exitCode = 1;`,
  codex: `${say(
    { type: 'thread.started', thread_id: 't-1' },
    { type: 'turn.failed', error: { message: 'budget reached' } }
  )} process.exitCode = 1;`,
  gemini: `${say({
    type: 'result',
    status: 'error',
    error: {
      type: 'FatalTurnLimitedError',
      message: 'Maximum session turns exceeded'
    }
  })}
  console.error('Reached max session turns for this session. Increase the ' +
    'number of turns by specifying maxSessionTurns in settings.json.');
  process.exitCode = 53;`,
  copilot: `${say(
    {
      type: 'session.error',
      data: { errorType: 'query', message: 'AI-credit limit reached' }
    },
    { type: 'result', sessionId: 's-1', exitCode: 1 }
  )} process.exitCode = 1;`
};

beforeAll(async () => {
  workspace = createTempWorkspace();
  for (const [name, body] of Object.entries(programs))
    workspace.program(name, body);
  server = await startServer(workspace);
});

afterAll(async () => {
  await server.close();
  workspace.remove();
});

test.each([
  ['spawn_claude', 'Reached maximum budget ($0.3)'],
  ['spawn_codex', 'budget reached'],
  ['spawn_gemini_cli', 'Maximum session turns exceeded'],
  ['spawn_copilot', 'AI-credit limit reached']
])(
  '%s that came to a limit of its own ended by its budget',
  async (tool, said) => {
    const { data } = await server.call(tool, { prompt: 'Work.' });
    const { agent_id } = data;
    await server.call('wait_for_agents', { agent_ids: [agent_id] });
    const result = await server.call('result', { agent_id });
    expect(result.data).toMatchObject({
      status: 'failed',
      error_code: 'budget'
    });
    expect(result.data.error).toContain(said);
  }
);
