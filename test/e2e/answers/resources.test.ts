import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  httpClient,
  type StartedHttp,
  startHttp
} from '../../kit/servers/http-server.ts';
import {
  beginning,
  ResourceReader
} from '../../kit/servers/resource-reader.ts';
import { connectStdio } from '../../kit/servers/sdk-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const iac = 'troupe://log/IAC.md';

let workspace: TempWorkspace;
let http: StartedHttp;
let reader: ResourceReader;
const readers: ResourceReader[] = [];

beforeAll(async () => {
  workspace = createTempWorkspace();
  http = await startHttp(workspace);
  reader = await overStdio();
  await reader.run('say first');
  await until('the log', () => existsSync(join(workspace.path, 'logs/IAC.md')));
});

afterAll(async () => {
  await Promise.all(readers.map(({ client }) => client.close()));
  await http.end();
  workspace.remove();
});

async function overStdio(...flags: string[]): Promise<ResourceReader> {
  const all = ['--engines', 'rehearsal', ...flags];
  return kept(await connectStdio(workspace, { flags: all }));
}

async function overHttp(): Promise<ResourceReader> {
  return kept((await httpClient(http)).sdk);
}

function kept(client: ResourceReader['client']): ResourceReader {
  const one = new ResourceReader(client);
  readers.push(one);
  return one;
}

const ways = [
  ['stdio', () => overStdio()],
  ['HTTP', overHttp]
] as const;

describe.each(ways)('over %s', (_, connect) => {
  let id: string;
  let by: ResourceReader;

  beforeAll(async () => {
    by = await connect();
    id = await reader.run('say forty-two\nsay and no more');
  });

  test('an agent is listed with its task, and its answer can be read', async () => {
    const { resources } = await by.client.listResources();
    const uri = `troupe://agents/${id}/output`;
    expect(resources.find((one) => one.uri === uri)).toEqual({
      uri,
      name: `output of ${id}`,
      title: 'Rehearsal: say forty-two',
      description: 'The answer of Rehearsal (completed) to: say forty-two',
      mimeType: 'text/plain'
    });
    const text = `${beginning}forty-two\nand no more`;
    expect(await by.read(uri)).toEqual([{ uri, mimeType: 'text/plain', text }]);
  });

  test('the log is listed, and reads as its file', async () => {
    const { resources } = await by.client.listResources();
    const uris = resources.map(({ uri }) => uri);
    expect(uris.slice(0, 2)).toEqual([iac, 'troupe://log/CONTEXT.md']);
    for (const name of ['IAC.md', 'CONTEXT.md']) {
      const uri = `troupe://log/${name}`;
      // It may be rewritten between the two reads.
      const [content] = await until(`${name} as it is`, async () => {
        const found = await by.read(uri);
        const path = join(workspace.path, 'logs', name);
        const isSame = found[0]?.text === readFileSync(path, 'utf8');
        return isSame ? found : undefined;
      });
      expect(content).toMatchObject({ uri, mimeType: 'text/markdown' });
    }
  });

  test('a record has what was asked and how it ended, not the answer', async () => {
    const text = await by.textOf(`troupe://agents/${id}/record`);
    const record = JSON.parse(text);
    expect(record).toMatchObject({
      agent_id: id,
      agent_type: 'rehearsal',
      task: 'say forty-two',
      status: 'completed',
      access: 'full',
      cwd: workspace.path,
      result_chars: beginning.length + 21
    });
    expect(record).not.toHaveProperty('result');
    const prompt = readFileSync(String(record.prompt_file), 'utf8');
    expect(prompt).toBe('say forty-two\nsay and no more');
  });

  test('ids of agents are completed', async () => {
    const uri = 'troupe://agents/{agent_id}/output';
    const { completion } = await by.client.complete({
      ref: { type: 'ref/resource', uri },
      argument: { name: 'agent_id', value: id.slice(0, 6) }
    });
    expect(completion.values).toEqual([id]);
  });
});

test('a running agent is marked as running and listed before ended ones', async () => {
  const id = await reader.spawn('sleep 60');
  const uri = `troupe://agents/${id}/output`;
  expect(await reader.textOf(uri)).toMatch(/^Still running\./);
  const { resources } = await reader.client.listResources();
  const agents = resources.filter((one) => /^troupe:..agents/.test(one.uri));
  expect(agents[0]?.uri).toBe(uri);
  await reader.call('cancel_agent', { agent_id: id });
  const record = await reader.textOf(`troupe://agents/${id}/record`);
  expect(JSON.parse(record)).toMatchObject({ status: 'canceled' });
});

test('of an agent that failed a text of its own says why', async () => {
  const id = await reader.run('fail rate_limited Too many today.');
  const uri = `troupe://agents/${id}/output`;
  const [said, why, ...others] = await reader.read(uri);
  expect(said?.text).toBe('');
  expect(why?.text).toMatch(
    /^The agent has ended as failed \(rate_limited\)\. .*Too many today\./
  );
  expect(others).toEqual([]);
});

test.each([
  ['troupe://agents/00000000/output', 'There is no agent "00000000"'],
  ['troupe://agents/../record', 'There is no agent ".."'],
  ['troupe://log/iac.jsonl', 'There is no resource'],
  ['agent://00000000/outbox', 'they go with the toolset orchestrator']
])('%s is refused, to read and to follow', async (uri, words) => {
  for (const ask of [
    () => reader.client.readResource({ uri }),
    () => reader.client.subscribeResource({ uri })
  ])
    await expect(ask()).rejects.toMatchObject({
      code: -32002,
      message: expect.stringContaining(words)
    });
});

test.each([
  ['council', false],
  ['runs', true],
  ['orchestrator', true]
])('with the toolset %s alone there are some: %s', async (name, isThere) => {
  const { client } = await overStdio('--toolsets', name);
  expect(client.getServerCapabilities()?.resources !== undefined).toBe(isThere);
});
