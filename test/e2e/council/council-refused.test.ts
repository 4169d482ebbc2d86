import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  refusal
} from '../../kit/servers/council-calls.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';

let servers: CouncilServers;
let server: McpClient;

beforeAll(async () => {
  servers = createCouncilServers();
  server = await servers.start();
  const args = { agent_name: 'alice', request: 'Which?' };
  await done(server, 'start_council', args);
});

afterAll(() => servers.close());

const alice = { agent_name: 'alice' };
const bogus: [tool: string, named: string, args: Record<string, unknown>][] = [
  ['start_council', 'request', alice],
  ['start_council', 'request', { ...alice, request: '' }],
  ['start_council', 'request', { ...alice, request: ' \n\t' }],
  ['start_council', 'agent_name', { request: 'Which?' }],
  ['start_council', 'agent_name', { request: 'Which?', agent_name: '' }],
  ['start_council', 'agent_name', { request: 'Which?', agent_name: '  ' }],
  ['start_council', 'topic', { ...alice, request: 'Which?', topic: 1 }],
  ['join_council', 'agent_name', {}],
  ['join_council', 'agent_name', { agent_name: 'n'.repeat(201) }],
  ['join_council', 'agent_name', { agent_name: ['alice'] }],
  ['join_council', 'cursor', { ...alice, cursor: 'x' }],
  ['get_current_session_data', 'cursor', { ...alice, cursor: 7 }],
  ['get_current_session_data', 'cursor', { ...alice, cursor: 'x'.repeat(201) }],
  ['get_current_session_data', 'since', { ...alice, since: 'x' }],
  ['wait_for_responses', 'timeout', { ...alice, timeout: -1 }],
  ['wait_for_responses', 'timeout', { ...alice, timeout: '5' }],
  ['wait_for_responses', 'timeout_ms', { ...alice, timeout_ms: 5 }],
  ['send_response', 'content', alice],
  ['send_response', 'content', { ...alice, content: '' }],
  ['send_response', 'content', { ...alice, content: null }],
  ['send_response', 'content', { ...alice, content: { text: 'x' } }],
  ['send_response', 'text', { ...alice, content: 'x', text: 'x' }],
  ['close_council', 'conclusion', { ...alice, conclusion: ' ' }],
  ['close_council', 'force', { ...alice, conclusion: 'x', force: true }],
  ['summon_agent', 'engine', {}],
  ['summon_agent', 'engine', { engine: '' }],
  ['summon_agent', 'model', { engine: 'claude', model: '' }],
  ['summon_agent', 'access', { engine: 'claude', access: 'full' }]
];

test.each(bogus)(
  '%s names %s when it is wrong (%#)',
  async (tool, named, args) => {
    const before = servers.state();
    const { code, error, hint } = await refusal(server.call(tool, args));
    expect(code).toBe('invalid_input');
    expect(error).toContain(`${tool}: `);
    expect(error).toContain(`"${named}"`);
    expect(hint).toContain(`Parameters of ${tool}: `);
    expect(servers.state()).toEqual(before);
  }
);

test.each([
  'bogus',
  '00000000-0000-4000-8000-000000000000',
  '__proto__',
  'x'.repeat(200)
])("the cursor %j is nobody's, and nothing is told", async (cursor) => {
  const before = servers.state();
  for (const tool of ['get_current_session_data', 'wait_for_responses']) {
    const answer = server.call(tool, { ...alice, cursor });
    const { code, error, hint } = await refusal(answer);
    expect(code).toBe('unknown_cursor');
    expect(error).toContain(`"${cursor.slice(0, 60)}"`);
    expect(hint).toContain('next_cursor');
  }
  expect(servers.state()).toEqual(before);
});

test.each([null, '', undefined])(
  'the cursor %j begins at the first',
  async (cursor) => {
    const args = { ...alice, cursor };
    const { data } = await server.call('get_current_session_data', args);
    expect(data.request).toMatchObject({ content: 'Which?' });
  }
);

test('an unknown tool is named, with the known ones', async () => {
  const { code, error, hint } = await refusal(server.call('leave_council'));
  expect(code).toBe('unknown_tool');
  expect(`${error} ${hint}`).toContain('leave_council');
  expect(`${error} ${hint}`).toContain('close_council');
});
