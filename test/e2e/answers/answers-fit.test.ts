import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitsOf } from '../../../src/interfaces/mcp/answers/client-limits.ts';
import { expectWhole } from '../../kit/judges/readable-answer.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/** Its prompt is its stdout: a line of JSON, which is the reply. */
const echo = (name: string) => `export default { kind: 'cli', name: '${name}',
  description: 'For tests.', command: 'cat', args: () => [],
  read: (reply, event) => ({ ...reply, ...event }) };`;

const clients = ['codex', 'copilot', 'gemini', 'claude', 'unknown'];
const lone = Array.from({ length: 9 }, (_, n) => `e${n}`);
const network = (message: string) => ({
  failure: { code: 'network', message }
});

const texts: Record<string, string> = {
  'long answers': numbered('plain words, "quoted" and \\ not.', 60_000),
  emoji: numbered('👩‍💻😀 한국어', 50_000),
  'answers of a line': `It is done. ${'Truly. '.repeat(20)}`,
  'long errors': numbered('Nobody there, é.', 30_000)
};

type Row = Record<string, unknown> & { agent_id: string; error: string };

const ids: Record<string, string[]> = {};
let workspace: TempWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = createTempWorkspace();
  const plugins = ['echo', ...lone].map((name) => {
    workspace.write(`${name}.mjs`, echo(name));
    return `./${name}.mjs`;
  });
  workspace.write('troupe.config.json', JSON.stringify({ plugins }));
  server = await startServer(workspace);
  for (const [what, text] of Object.entries(texts)) {
    const reply = /errors/.test(what)
      ? network(text)
      : { text, finished: true };
    ids[what] = copies(await ended(reply), 120);
  }
});

afterAll(async () => {
  await server.close();
  workspace.remove();
});

describe.each(clients)('a client named %s', (clientName) => {
  let client: McpClient;

  beforeAll(async () => {
    client = await startServer(workspace, { clientName });
  });

  afterAll(async () => {
    expect(client.impurities).toEqual([]);
    expect(client.stderr).not.toContain('unexpectedly');
    await client.close();
  });

  const ask = async (tool: string, input: Record<string, unknown>) => {
    const { isError, data, text } = await client.call(tool, input);
    expect(isError, text.slice(0, 500)).toBe(false);
    expectWhole(text, data);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(
      limitsOf(clientName).answerBytes
    );
    return data;
  };

  /** From a row on, by what it says itself. */
  const readOn = async ({ agent_id, result, next_offset }: Row) => {
    let text = String(result).slice(0, Number(next_offset));
    for (let next: unknown = next_offset; next !== undefined; ) {
      const page = await ask('result', { agent_id, offset: next });
      text += page.result;
      next = page.next_offset;
    }
    return text;
  };

  test.each([
    [30, 'long answers'],
    [30, 'emoji'],
    [60, 'long answers']
  ])(
    'gets of %i agents with %s a part of each, to be read on',
    async (count, what) => {
      const agent_ids = ids[what]?.slice(0, count) ?? [];
      const data = await ask('wait_for_agents', { agent_ids });
      const rows = data.results as Row[];
      expect(rows.map(({ agent_id }) => agent_id)).toEqual(agent_ids);
      for (const { result, next_offset, truncated } of rows) {
        expect(truncated).toBe(true);
        expect(next_offset).toBeGreaterThan(10);
        expect(texts[what]).toContain(
          String(result).slice(0, Number(next_offset))
        );
      }
      expect(await readOn(rows[7] as Row)).toBe(texts[what]);
      if (rows.every((row) => !('full_output' in row)))
        expect(data.message).toMatch(/result .* reads on from next_offset/);
    }
  );

  test.each([30, 60, 120])(
    'gets of %i agents why each failed',
    async (count) => {
      const agent_ids = ids['long errors']?.slice(0, count) ?? [];
      const data = await ask('wait_for_agents', { agent_ids });
      const rows = data.results as Row[];
      const told = rows.filter(({ error }) => error !== undefined);
      if (count === 120 && clientName === 'codex') {
        expect(told).toEqual([]);
        expect(data.message).toMatch(/call result for each/i);
      } else {
        expect(rows.map(({ agent_id }) => agent_id)).toEqual(agent_ids);
        expect(told).toHaveLength(count);
        for (const { error } of told) expect(error).toMatch(/^0 Nobody.*…/s);
      }
    }
  );

  test.each(['long answers', 'emoji'])(
    'gets a row of each of 120 agents with %s, and each by itself',
    async (what) => {
      const agent_ids = ids[what] ?? [];
      const data = await ask('wait_for_agents', { agent_ids });
      const rows = data.results as Row[];
      expect(rows.map(({ agent_id }) => agent_id)).toEqual(agent_ids);
      const last = await ask('result', { agent_id: agent_ids[119] });
      expect(await readOn(last as Row)).toBe(texts[what]);
    }
  );

  test('gets 18 answers of a line whole', async () => {
    const agent_ids = ids['answers of a line']?.slice(0, 18);
    const { results } = await ask('wait_for_agents', { agent_ids });
    const answers = (results as Row[]).map(({ result }) => result);
    expect(answers).toEqual(Array(18).fill(texts['answers of a line']));
  });

  test('gets of 480 agents the first, how many there are, and what to do', async () => {
    const agent_ids = Object.values(ids).flat();
    const data = await ask('wait_for_agents', { agent_ids });
    const rows = data.results as Row[];
    const told = rows.map(({ agent_id }) => agent_id);
    expect(told).toEqual(agent_ids.slice(0, rows.length));
    expect(rows.length).toBeGreaterThan(100);
    if (rows.length === 480) return;
    expect(data.results_total).toBe(480);
    expect(data.message).toMatch(
      /call result for each, or .* with fewer agent_ids/
    );
    const rest = agent_ids.slice(rows.length, rows.length + 3);
    const { results } = await ask('wait_for_agents', { agent_ids: rest });
    expect(results).toHaveLength(3);
  });

  test('gets a long error shortened, and the file with all of it', async () => {
    const [agent_id] = ids['long errors'] ?? [];
    const { error } = await ask('result', { agent_id });
    expect(error).toMatch(
      /outcome\.json in the folder of the agent has it all\]$/
    );
    const folder = join(workspace.record, 'spawns', String(agent_id));
    const file = join(folder, 'outcome.json');
    const whole: string = JSON.parse(readFileSync(file, 'utf8')).error;
    const [told = ''] = String(error).split('… [cut');
    expect(whole.startsWith(told)).toBe(true);
    expect(told.length).toBeGreaterThan(5000);
    expect(whole.length).toBeGreaterThan(told.length);
  });

  test.each([
    ['fail at length', network('n'.repeat(9000))],
    [
      'answer at length',
      {
        text: `${'é'.repeat(9000)}\nVERDICT: ${'v'.repeat(2000)}`,
        finished: true
      }
    ]
  ])('gets the opinions of nine engines that %s', async (_, reply) => {
    const input = { question: JSON.stringify(reply), engines: lone };
    const { opinions } = await ask('second_opinion', input);
    const told = opinions as Row[];
    expect(told.map(({ engine }) => engine)).toEqual(lone);
    for (const { error, verdict } of told)
      expect(`${error ?? verdict}`).toMatch(/^(n{100}|v{100})/);
  });

  test.each<[string, Record<string, unknown>]>([
    ['denials', { denials: Array(1500).fill('write: /some/where') }],
    ['denials of a page each', { denials: Array(9).fill('한'.repeat(9000)) }],
    ['a model', { model: 'm'.repeat(15_000) }],
    ['a session', { sessionId: 's'.repeat(15_000) }]
  ])('gets an answer beside %s beyond measure', async (_, reply) => {
    const text = texts.emoji;
    const agent_id = await ended({ text, finished: true, ...reply });
    const data = await ask('result', { agent_id });
    expect(data.next_offset).toBeGreaterThan(500);
    const rows = await ask('wait_for_agents', { agent_ids: [agent_id] });
    expect(await readOn((rows.results as Row[])[0] as Row)).toBe(text);
  });
});

/** An agent that has ended with this reply. */
async function ended(reply: Record<string, unknown>): Promise<string> {
  const prompt = JSON.stringify(reply);
  const { data } = await server.call('spawn_echo', { prompt });
  const id = String(data.agent_id);
  await server.call('wait_for_agents', { agent_ids: [id] });
  return id;
}

/** What is on disk of an agent, as if more had done the same. */
function copies(id: string, count: number): string[] {
  const spawns = join(workspace.record, 'spawns');
  const record = readFileSync(join(spawns, id, 'record.json'), 'utf8');
  return Array.from({ length: count }, (_, n) => {
    // Far from the id itself, which would be copied onto itself.
    const far = Number.parseInt(id.slice(0, 5), 16) ^ 0x80000;
    const other = (far * 4096 + n).toString(16).padStart(8, '0');
    cpSync(join(spawns, id), join(spawns, other), { recursive: true });
    const file = join('spawns', other, 'record.json');
    workspace.writeRecord(file, record.replaceAll(id, other));
    return other;
  });
}

function numbered(words: string, chars: number): string {
  return Array.from(
    { length: Math.ceil(chars / words.length) },
    (_, line) => `${line} ${words}`
  ).join('\n');
}
