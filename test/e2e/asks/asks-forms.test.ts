import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type {
  ElicitRequest,
  ElicitResult
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { resultOf, spawnAsker } from '../../kit/servers/ask-calls.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { httpClient, startHttp } from '../../kit/servers/http-server.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { ModernClient } from '../../kit/servers/modern-client.ts';
import { connectStdio } from '../../kit/servers/sdk-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

type Form = ElicitRequest['params'];

let workspace: TempWorkspace;
const rehearsing = ['--engines', 'rehearsal'];

/** Starts the agents; its client shows no forms. */
let server: McpClient;
/** What the other client has shown. */
let forms: Form[];
let client: Client | undefined;

beforeEach(async () => {
  workspace = createTempWorkspace();
  server = await startServer(workspace, { flags: rehearsing });
  forms = [];
  client = undefined;
});

afterEach(async () => {
  await client?.close();
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

const asking = (script: string, more: Record<string, unknown> = {}) =>
  spawnAsker(server, script, { ask: 'person', ...more });

/** A wait of a client whose user fills in each form in this way. */
async function waitOf(
  agentId: string,
  fill: (form: Form) => ElicitResult | Promise<ElicitResult>,
  more: Record<string, unknown> = {},
  flags: string[] = []
): Promise<Record<string, unknown>> {
  client ??= await connectStdio(workspace, {
    clientName: 'form-client',
    flags: [...rehearsing, ...flags],
    fill: async (form) => {
      forms.push(form);
      return await fill(form);
    }
  });
  const result = await client.callTool({
    name: 'wait_for_agents',
    arguments: { agent_ids: [agentId], ...more }
  });
  return Object(result.structuredContent);
}

const accept = (content: Record<string, string>): ElicitResult => ({
  action: 'accept',
  content
});

test('a person allows a call in a form while the client waits, and it is recorded who did', async () => {
  const id = await asking('permit make\nsay done');
  const waited = await waitOf(id, () => accept({ decision: 'allow' }));
  expect(waited).toMatchObject({ status: 'all_completed' });
  expect(forms).toEqual([
    {
      message: `Rehearsal (agent ${id}) asks for permission for one call of Shell, ask ${id}-1:\n\nmake`,
      requestedSchema: expect.objectContaining({ required: ['decision'] })
    }
  ]);
  expect(await resultOf(server, id)).toMatch(/^completed: /);
  const { stdout } = await runCommand(workspace, ['log', '--json']);
  expect(stdout).toContain('"who":"form of form-client"');
  expect(stdout).toContain('"by":"person"');
});

test('a person denies with a reason, and answers questions in words', async () => {
  const id = await asking('permit make\nask tabs or spaces?');
  const waited = await waitOf(id, ({ message }) =>
    message.includes('permission')
      ? accept({ decision: 'deny', text: 'not today' })
      : accept({ text: 'tabs' })
  );
  expect(waited).toMatchObject({ status: 'all_completed' });
  expect(forms).toHaveLength(2);
  const said = await resultOf(server, id);
  expect(said).toContain('not today');
  expect(said).toContain('tabs');
});

test.each<[string, ElicitResult]>([
  ['declines', { action: 'decline' }],
  ['cancels', { action: 'cancel' }],
  ['accepts without a decision', { action: 'accept', content: {} }],
  ['accepts something else', accept({ decision: 'always' })]
])(
  'a client that %s leaves the ask open, and gets it in the answer',
  async (_, result) => {
    const id = await asking('permit make');
    const waited = await waitOf(id, () => result);
    expect(waited).toMatchObject({
      status: 'needs_answer',
      asks: [{ ask_id: `${id}-1`, for: 'person' }]
    });
    const later = await waitOf(id, () => result, { timeout: 0.5 });
    expect(later).toMatchObject({ status: 'timeout' });
    expect(forms).toHaveLength(1);
    const answer = ['answer', `${id}-1`, 'allow'];
    expect(await runCommand(workspace, answer)).toMatchObject({ code: 0 });
  }
);

const never = () => new Promise<ElicitResult>(() => undefined);

test('an answer from elsewhere takes the form away', async () => {
  const id = await asking('permit make\nsay done');
  const waiting = waitOf(id, never);
  await until('the form is shown', () => forms.length === 1);
  const answer = ['answer', `${id}-1`, 'allow'];
  expect(await runCommand(workspace, answer)).toMatchObject({ code: 0 });
  expect(await waiting).toMatchObject({ status: 'all_completed' });
});

test('an unanswered form does not keep the call beyond its time, and comes again', async () => {
  const id = await asking('permit make');
  const first = await waitOf(id, never, { timeout: 1 });
  expect(first).toMatchObject({ status: 'timeout', still_running: [id] });
  await waitOf(id, never, { timeout: 1 });
  expect(forms).toHaveLength(2);
});

test('a client over HTTP shows forms, too', async () => {
  const http = await startHttp(workspace, { flags: rehearsing });
  try {
    const person = await httpClient(http, 'form-client', async (form) => {
      forms.push(form);
      return accept({ decision: 'allow' });
    });
    const id = await asking('permit make\nsay done');
    const { data } = await person.call('wait_for_agents', { agent_ids: [id] });
    expect(data).toMatchObject({ status: 'all_completed' });
    expect(forms).toHaveLength(1);
    await person.leave();
  } finally {
    await http.end();
  }
});

test('a form grants no more than the configuration, and none is shown for the coordinator', async () => {
  const id = await asking('permit make');
  const allow = () => accept({ decision: 'allow' });
  const allowed = await waitOf(id, allow, {}, ['--max-access', 'write']);
  expect(allowed).toMatchObject({ status: 'needs_answer' });
  const other = await spawnAsker(server, 'permit make');
  expect(await waitOf(other, never)).toMatchObject({ status: 'needs_answer' });
  expect(forms).toHaveLength(1);
});

test('a client of 2026-07-28 gets forms as input_required, and calls again', async () => {
  const meta = {
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } }
  };
  const modern = new ModernClient(server);
  const id = await asking('permit make\nask tabs or spaces?\nsay done');
  const wait = async (inputResponses: Record<string, unknown>) => {
    const params = {
      name: 'wait_for_agents',
      arguments: { agent_ids: [id] },
      inputResponses
    };
    const { result } = await modern.ask('tools/call', params, { meta });
    return Object(result);
  };
  const first = await wait({});
  expect(first).toMatchObject({
    resultType: 'input_required',
    inputRequests: {
      [`${id}-1`]: {
        method: 'elicitation/create',
        params: { message: expect.stringContaining('make') }
      }
    }
  });
  const second = await wait({ [`${id}-1`]: accept({ decision: 'allow' }) });
  expect(second.inputRequests).toHaveProperty(`${id}-2`);
  const third = await wait({ [`${id}-2`]: { action: 'decline' } });
  expect(third.structuredContent).toMatchObject({
    status: 'needs_answer',
    asks: [{ ask_id: `${id}-2` }]
  });
});
