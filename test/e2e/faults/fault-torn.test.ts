import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startSquad } from '../../kit/servers/squad-call.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

let workspace: StepWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createStepWorkspace();
  await start();
});

afterEach(async () => {
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toMatch(/bug|unexpectedly|^\s+at /m);
  workspace.remove();
});

async function start(): Promise<void> {
  server = await startServer(workspace, { flags: ['--engine', 'step'] });
}

async function restart(): Promise<void> {
  expect(await server.close()).toEqual({ code: 0, signal: null });
  await start();
}

async function spawned(name: string, seconds = 0): Promise<string> {
  const prompt = stepPrompt(name, seconds);
  const { data, text } = await server.call('spawn_step', { prompt });
  expect(data.status, text).toBe('running');
  return String(data.agent_id);
}

async function ended(agent_id: string) {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 20 });
  return (await server.call('result', { agent_id })).data;
}

function fileOf(id: string, name: string): string {
  return join(workspace.record, 'spawns', id, name);
}

/** What a power cut or another program may leave in a file. */
const damages: [what: string, text: string][] = [
  ['half a line', '{"at":"2026-01-01T00:00:00.000Z","type":"sto'],
  ['bytes that are no text', '\u0000\uFFFD\u0007'],
  ['a line of somebody else', 'hello\n'],
  ['a line of 5 MB', `${'x'.repeat(5e6)}\n`]
];

describe('in the events of an agent', () => {
  test.each(damages)('%s costs no stop request', async (_what, text) => {
    const id = await spawned('long', 60);
    await until('its start', () => workspace.steps().length === 1);
    appendFileSync(fileOf(id, 'events.jsonl'), text);
    const { data } = await server.call('cancel_agent', { agent_id: id });
    expect(data.status).toBe('canceled');
    await restart();
    expect(await ended(id)).toMatchObject({ status: 'canceled' });
  });
});

describe('a file of one agent that was spoilt', () => {
  test.each(['record.json', 'outcome.json', 'claim', 'exit', 'changes.json'])(
    'hides no other agent: %s',
    async (name) => {
      const spoilt = await spawned('spoilt');
      await ended(spoilt);
      const running = await spawned('running', 1);
      for (const text of ['', '{"v":1,', 'null']) {
        writeFileSync(fileOf(spoilt, name), text);
        await restart();
        const listed = await server.call('list');
        expect(listed.isError, listed.text).toBe(false);
        expect(listed.text).toContain(running);
        const { data } = await server.call('result', { agent_id: spoilt });
        expect(data.error_code).not.toBe('internal');
      }
      expect(await ended(running)).toMatchObject({ status: 'completed' });
    }
  );

  test('while it runs, hides no other agent: record.json', async () => {
    const spoilt = await spawned('spoilt', 1);
    const running = await spawned('running', 1);
    await until('both', () => workspace.steps().length === 2);
    truncateSync(fileOf(spoilt, 'record.json'), 100);
    await restart();
    const listed = await server.call('list');
    expect(listed.isError, listed.text).toBe(false);
    expect(await ended(running)).toMatchObject({ status: 'completed' });
    const { data } = await server.call('cancel_agent', { agent_id: spoilt });
    expect(data.error_code).not.toBe('internal');
  });
});

describe('in the journal', () => {
  test.each(damages)('%s costs no record of ours', async (_what, text) => {
    const first = await spawned('first');
    await ended(first);
    const journal = join(workspace.record, 'iac.jsonl');
    appendFileSync(journal, text);
    const second = await spawned('second');
    await ended(second);
    await restart();
    const third = await spawned('third');
    await ended(third);
    // It is found, as it is none of ours.
    const { records, faults } = await workspace.verify();
    expect({ records, faults: faults.length }).toEqual({
      records: 6,
      faults: 1
    });
    await until('the log', () =>
      [first, second, third].every((id) => workspace.iac().includes(`#${id}`))
    );
  });

  test('a damaged head is reported, and the next writer has its own', async () => {
    await ended(await spawned('first'));
    const heads = join(workspace.record, 'heads');
    for (const name of readdirSync(heads))
      if (name !== '.gitignore') writeFileSync(join(heads, name), 'nonsense');
    await restart();
    await ended(await spawned('second'));
    expect((await workspace.verify()).records).toBe(4);
  });
});

describe('spoilt files of squads and sessions', () => {
  test.each(['', '{"squadId":', '[]', 'null'])(
    'hide nothing: %j',
    async (text) => {
      await startSquad(server, [
        { roleId: 'accessibility-specialist', task: 'x' }
      ]);
      const squads = join(workspace.record, 'squads');
      if (existsSync(squads))
        for (const name of readdirSync(squads).filter(
          (one) => one !== '.gitignore'
        ))
          writeFileSync(join(squads, name), text);
      const marks = ['open/zzz', 'open/0badcafe', 'summons/0badcafe'];
      for (const mark of marks) workspace.writeRecord(mark, text);
      workspace.writeRecord(`sessions/${'0'.repeat(32)}/1`, text);
      await restart();
      const listed = await server.call('list');
      expect(listed.isError, listed.text).toBe(false);
      const id = await spawned('next');
      expect(await ended(id)).toMatchObject({ status: 'completed' });
    }
  );
});

test('IAC.md that was cut is whole again after the next agent', async () => {
  const first = await spawned('first');
  await ended(first);
  const view = join(workspace.path, 'logs', 'IAC.md');
  await until('the log', () => workspace.iac().includes('**Done**'));
  for (const text of ['', readFileSync(view, 'utf8').slice(0, 300)]) {
    writeFileSync(view, text);
    const next = await spawned('next');
    await ended(next);
    await until('both in it', () =>
      [first, next].every((id) => workspace.iac().includes(`#${id}`))
    );
  }
});
