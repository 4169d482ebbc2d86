import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
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
let reader: ResourceReader;

beforeEach(async () => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await reader.client.close();
  workspace.remove();
});

async function connect(clientName?: string): Promise<void> {
  const flags = ['--engines', 'rehearsal'];
  reader = new ResourceReader(
    await connectStdio(workspace, { clientName, flags })
  );
}

/** A script whose answer has so many lines. */
function lines(count: number): string {
  const all = Array.from({ length: count }, (_, line) => `say line ${line} 火`);
  return all.join('\n');
}

function logged(words: string): Promise<string> {
  const path = join(workspace.path, 'logs', 'IAC.md');
  return until('the entry in the log', () => {
    // It is written some time after the first agent has ended.
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    return text.includes(words) ? text : undefined;
  });
}

test.each([undefined, 'codex-mcp-client'])(
  'a long answer is read part by part by %s, and nothing is lost',
  async (clientName) => {
    await connect(clientName);
    const id = await reader.run(lines(3000));
    const uri = `troupe://agents/${id}/output`;
    const whole = beginning + lines(3000).replace(/^say /gm, '');
    const [ends, note] = await reader.read(uri);
    expect(ends?.text).toContain('… [cut] …');
    expect(ends?.text.endsWith('line 2999 火')).toBe(true);
    expect(note?.text).toMatch(
      new RegExp(`^This is a part of ${whole.length} characters, ${uri}\\?`)
    );
    const page = join(workspace.paths.views.agents, `${id}.md`);
    expect(note?.text).toContain(page);
    expect(readFileSync(page, 'utf8')).toContain(whole);
    let offset = 0;
    let parts = 0;
    for (let text = ''; offset < whole.length; offset += text.length) {
      const contents = await reader.read(`${uri}?offset=${offset}`);
      const size = Buffer.byteLength(JSON.stringify({ contents }));
      expect(size).toBeLessThan(clientName ? 11_500 : 60_000);
      text = contents[0]?.text ?? '';
      expect(text.length).toBeGreaterThan(0);
      expect(text).toBe(whole.slice(offset, offset + text.length));
      parts += 1;
    }
    expect(parts).toBeLessThan(10);
  }
);

test.each([
  [undefined, 20],
  ['codex-mcp-client', 10]
])(
  'agents with long tasks are listed to %s all the same',
  async (name, least) => {
    await connect(name);
    const ids = [];
    for (let count = 0; count < 20; count += 1)
      ids.push(await reader.spawn(`say ${'火'.repeat(500)}`));
    await reader.call('wait_for_agents', { agent_ids: ids });
    const { resources } = await reader.client.listResources();
    const agents = resources.filter(({ uri }) => /agents/.test(uri));
    expect(agents.length).toBeGreaterThanOrEqual(least);
    expect(agents[0]?.title).toMatch(/^Rehearsal: say 火+….{0,2}$/);
  }
);

test('a long log is read part by part', async () => {
  await connect();
  await reader.run(lines(2500));
  // Of the answer: in the prompt, "say" stands before it.
  const whole = await logged('\nline 2499 火\n```\n\n</details>\n\n---');
  const [first, note] = await reader.read(iac);
  const from = Number(/offset=(\d+) reads on/.exec(note?.text ?? '')?.[1]);
  expect(from).toBe(first?.text.length);
  expect(whole.startsWith(first?.text ?? 'no')).toBe(true);
  const second = await reader.textOf(`${iac}?offset=${from}`);
  expect(whole.slice(from).startsWith(second)).toBe(true);
});

test('what the log hides is hidden here, too', async () => {
  await connect();
  const key = `sk-ant-api03-${'Ab1'.repeat(31)}`;
  const id = await reader.run(`say ${key}`);
  await logged(id);
  const text = await reader.textOf(iac);
  expect(text).toContain(id);
  expect(text).not.toContain(key);
});

test('a client with the list is notified of agents that run for a moment only', async () => {
  await connect();
  let told = 0;
  reader.client.setNotificationHandler(
    ResourceListChangedNotificationSchema,
    () => {
      told += 1;
    }
  );
  await reader.run('say first');
  await reader.client.listResources();
  for (let count = 1; count <= 3; count += 1) {
    const before = told;
    await reader.run('say short');
    await until('word of the list', () => told > before);
  }
});

test('a client that follows the log and the list is notified of changes', async () => {
  await connect();
  const { client } = reader;
  const told: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (one) => {
    told.push(one.params.uri);
  });
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
    told.push('list');
  });
  await reader.run('say first');
  await logged('first');
  const id = await reader.spawn('sleep 1\nsay done');
  await client.listResources();
  await client.subscribeResource({ uri: iac });
  const output = `troupe://agents/${id}/output`;
  await client.subscribeResource({ uri: output });
  await until('all to be told', () =>
    [iac, 'list', output].every((what) => told.includes(what))
  );
  expect(await reader.textOf(output)).toBe(`${beginning}done`);
});
