import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CouncilServers,
  type CouncilView,
  createCouncilServers,
  done,
  viewIn
} from '../../kit/servers/council-calls.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';

let servers: CouncilServers;
let one: McpClient;
let two: McpClient;

beforeEach(async () => {
  servers = createCouncilServers();
  [one, two] = await Promise.all([servers.start(), servers.start()]);
});

afterEach(() => servers.close());

/** What a client gets, however much there is. */
const clients: [clientName: string, limit: number][] = [
  ['council-test', 21_000],
  ['codex', 11_500]
];

const start = (request = 'Which?') =>
  done(one, 'start_council', { agent_name: 'alice', request });

const send = (content: string, agent_name = 'bob') =>
  done(two, 'send_response', { agent_name, content });

/** The answer, in its bounds: characters for all, bytes where they count. */
async function read(
  server: McpClient,
  limit: number,
  args: Record<string, unknown> = {},
  tool = 'get_current_session_data'
): Promise<CouncilView> {
  const answer = await server.call(tool, { agent_name: 'reader', ...args });
  const json = JSON.stringify(answer.data);
  const size = limit < 20_000 ? Buffer.byteLength(json) : json.length;
  expect(size).toBeLessThanOrEqual(limit);
  return viewIn(answer);
}

/** A million characters, with no two places alike. */
function long(): string {
  const word = (_: unknown, index: number) => `${index} Zoë 日本 🦊, `;
  const text = Array.from({ length: 60_000 }, word).join('');
  return text.slice(0, 1_000_000).replace(/[\ud800-\udbff]$/, '');
}

/** Shown by its two ends, and whole in a file. */
function isCut(
  told: Omit<CouncilView['request'], 'id' | 'created_by' | 'created_at'>,
  whole: string
): void {
  const { content = '', full_output = '', next_offset = 0 } = told;
  expect(told).toMatchObject({ truncated: true, total_chars: whole.length });
  const [head = '', tail = ''] = content.split(/\n\n… \[cut: .*\] …\n\n/);
  expect(head.length).toBeGreaterThan(1000);
  expect(tail.length).toBeGreaterThan(500);
  expect(whole.startsWith(head)).toBe(true);
  expect(whole.endsWith(tail)).toBe(true);
  expect(next_offset).toBe(head.length);
  expect(dirname(full_output)).toBe(join(dirname(servers.path), 'texts'));
  expect(readFileSync(full_output).equals(Buffer.from(whole))).toBe(true);
}

describe.each(clients)('for the client %s', (clientName, limit) => {
  let reader: McpClient;

  beforeEach(async () => {
    reader = await servers.start({ clientName });
  });

  test('a long response is shown by its two ends', async () => {
    await start();
    const whole = long();
    await send(whole);
    await send('A short one.', 'carol');
    const view = await read(reader, limit);
    expect(view.responses).toHaveLength(1);
    expect(view.more).toBe(true);
    for (const response of view.responses) isCut(response, whole);
    const { next_cursor: cursor } = view;
    const rest = await read(reader, limit, { cursor });
    expect(rest.more).toBe(false);
    expect(rest.responses).toMatchObject([{ content: 'A short one.' }]);
  });

  test.each(['join_council', 'wait_for_responses'])(
    '%s shows a long request and a long response alike',
    async (tool) => {
      const request = `Q ${long()}`;
      const response = `A ${long()}`;
      await start(request);
      await send(response);
      const view = await read(reader, limit, {}, tool);
      isCut(view.request, request);
      expect(view.responses).toHaveLength(1);
      for (const told of view.responses) isCut(told, response);
    }
  );

  test('a long conclusion is cut for its author and its readers', async () => {
    await start('Q '.repeat(100_000));
    const conclusion = long();
    const closed = await reader.call('close_council', {
      agent_name: 'reader',
      conclusion
    });
    const json = JSON.stringify(closed.data);
    expect(json.length).toBeLessThanOrEqual(limit);
    const view = await read(reader, limit);
    expect(view.conclusion).toBeDefined();
    isCut({ ...view.conclusion }, conclusion);
  });

  test('300 responses are paged, each once and in order', async () => {
    await start('Q '.repeat(2000));
    const contents = Array.from({ length: 300 }, (_, index) =>
      `${index} ${'"é日"'.repeat(index % 40)}`.trim()
    );
    for (const content of contents) await send(content);
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let more = true; more; ) {
      const view: CouncilView = await read(reader, limit, { cursor });
      expect(view.responses.length).toBeGreaterThan(0);
      expect(view.next_cursor).toBe(view.responses.at(-1)?.id);
      seen.push(...view.responses.map(({ content }) => content));
      ({ next_cursor: cursor, more } = view);
    }
    expect(seen).toEqual(contents);
    const nothing = await read(reader, limit, { cursor });
    expect(nothing).toMatchObject({ responses: [], next_cursor: cursor });
  });

  test('500 participants leave room for what was said', async () => {
    await start();
    const names = Array.from({ length: 500 }, (_, index) =>
      `${index} ${'名前'.repeat(100)}`.slice(0, 200)
    );
    await Promise.all(
      names.map((agent_name) => two.call('join_council', { agent_name }))
    );
    await send('Still heard.');
    const view = await read(reader, limit);
    expect(view.responses).toMatchObject([{ content: 'Still heard.' }]);
    // These, and the participants that started, responded and read.
    expect(view.participants_total).toBe(503);
    expect(view.participants.length).toBeGreaterThan(0);
    expect(view.participants.length).toBeLessThanOrEqual(30);
    const waited = await read(
      reader,
      limit,
      { timeout: 0 },
      'wait_for_responses'
    );
    expect(waited).toMatchObject({ timed_out: true, participants_total: 503 });
  });
});

test.each([
  ['codex', 11_500],
  ['github-copilot-developer', 19_500],
  ['gemini-cli-mcp-client', 38_000]
])('the text for %s is as short as its JSON', async (clientName, limit) => {
  const reader = await servers.start({ clientName });
  await start();
  // Each line is quoted.
  const whole = '}\n'.repeat(50_000);
  await send(whole);
  await send('}\n'.repeat(25_000));
  let cursor: unknown = null;
  for (const _ of [1, 2]) {
    const args = { agent_name: 'reader', cursor };
    const answer = await reader.call('get_current_session_data', args);
    const size = Buffer.byteLength(answer.text);
    expect(size).toBeLessThanOrEqual(limit);
    expect(size).toBeGreaterThan(limit / 2);
    cursor = viewIn(answer).next_cursor;
  }
  const { text } = await reader.call('close_council', {
    agent_name: 'reader',
    conclusion: whole
  });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
});

test('an acknowledgement does not grow with the council', async () => {
  await start(long());
  const size = (facts: object) => JSON.stringify(facts).length;
  const first = await send('x');
  for (let count = 2; count < 100; count += 1)
    await send('y'.repeat(1000), `agent ${count}`);
  const last = await send(long());
  expect(last).toMatchObject({
    responses_total: 100,
    participants_total: 100
  });
  expect(Object.keys(last)).toEqual(Object.keys(first));
  expect(size(last) - size(first)).toBeLessThan(10);
});
