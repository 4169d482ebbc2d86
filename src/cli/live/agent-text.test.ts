import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type AgentHere,
  agentHere,
  id
} from '../../../test/kit/servers/agent-here.ts';
import { hireWorker } from '../../../test/kit/servers/host-here.ts';
import { wasRead } from '../../core/runs/run-files.ts';
import {
  watchedRun,
  watchedWorker
} from '../../interfaces/board/watched-agent.ts';
import { AgentText } from './agent-text.ts';

let here: AgentHere;

beforeEach(async () => {
  here = await agentHere();
});

const agent: AgentHere['agent'] = (made) => here.agent(made);

async function watched() {
  return watchedRun(here.host, await here.run());
}

describe('the text of an agent', () => {
  const textOf = async () => new AgentText(here.host, await watched()).read();

  test('that has ended has its facts and its answer, and marks it as read', async () => {
    const directory = agent({
      ...{ task: 'look\nthere', text: 'Fine.', model: 'm1' },
      outcome: { denials: ['rm\u0007'] }
    });
    const { title, text } = await textOf();
    expect(title).toContain(id);
    expect(text).toBe(
      'asked: look there\nmodel m1, access full (no limit to enforce)\ndenied: rm\n\nFine.'
    );
    expect(wasRead(directory)).toBe(true);
  });

  test('has the model of its end, or else "default"', async () => {
    agent({ outcome: { model: 'm2' }, model: 'm1' });
    expect((await textOf()).text).toContain('model m2,');
    agent({ model: null });
    here = await agentHere();
    agent({ model: null });
    expect((await textOf()).text).toContain('model default,');
  });

  test('has the files that it changed', async () => {
    const directory = agent({ text: 'Fine.' });
    const files = [
      { path: 'a', added: 2, removed: 1 },
      { path: 'b', added: null, removed: null, shared: true }
    ];
    writeFileSync(
      join(directory, 'changes.json'),
      JSON.stringify({ v: 1, patch: null, files, total: 2, note: 'So\nso.' })
    );
    expect((await textOf()).text).toContain(
      '\nchanged 2 files:\n  a +2 -1\n  b (binary) (shared)\nSo so.\n\nFine.'
    );
  });

  test('says so when there is no answer, or its file is gone', async () => {
    const directory = agent({ text: '' });
    expect((await textOf()).text).toMatch(/\n\n\(no words\)$/);
    rmSync(join(directory, 'result.txt'));
    expect((await textOf()).text).toMatch(/\n\nThe file .* is gone\.$/);
  });

  test('has the beginning of a very long answer, and how to read the rest', async () => {
    const directory = agent();
    const path = join(directory, 'result.txt');
    writeFileSync(path, 'x'.repeat(1_000_000));
    expect((await textOf()).text).not.toContain('more characters');
    truncateSync(path, 1_000_002);
    expect((await textOf()).text).toMatch(
      new RegExp(`\n\n… 2 more characters: troupe result ${id}$`)
    );
  });

  test('at work has its steps so far, and is no longer read than it lives', async () => {
    const directory = agent({ daysAgo: null, task: 'look' });
    const text = new AgentText(here.host, await watched());
    expect((await text.read()).text).toBe('asked: look\n\nNo output yet.');
    const lines = ['one', 'two'].map((step) =>
      JSON.stringify({ type: 'progress', text: step })
    );
    writeFileSync(join(directory, 'stdout'), `${lines.join('\n')}\n`);
    const { title, text: said } = await text.read();
    expect(title).toMatch(new RegExp(`^Claude ${id} queued \\(.+\\)$`));
    expect(said).toBe('asked: look\n\n- one\n- two');
    expect(wasRead(directory)).toBe(false);
    await here.host.cancel(id);
    expect((await text.read()).title).toContain('canceled');
    rmSync(directory, { recursive: true });
    expect((await text.read()).title).toContain('canceled');
    const later = new AgentText(here.host, text.agent);
    expect(await later.read()).toEqual({
      ...{ title: `${id} no longer exists`, text: 'It was removed.' }
    });
  });

  test('that is a worker has its tasks and events', async () => {
    const worker = hireWorker(here, 'aaaaaaaa', { model: 'm\n1' });
    const text = new AgentText(here.host, watchedWorker(worker));
    expect((await text.read()).text).toBe(
      'role builder, engine rehearsal, model m 1, access full\nno tasks\n'
    );
    await worker.log.change(() => ({
      events: [
        { type: 'ready', by: 'troupe' },
        { type: 'progress', task_id: 't1', payload: { n: 1 } },
        { type: 'note', payload: 'wor\nds' }
      ],
      result: undefined
    }));
    await here.host.orchestrator.enqueue('aaaaaaaa', { id: 't1', payload: 1 });
    const { title, text: said } = await text.read();
    expect(title).toMatch(/^worker One aaaaaaaa \w+$/);
    expect(said.replace(/\d\d:\d\d:\d\d/g, 'T').split('\n')).toEqual([
      'role builder, engine rehearsal, model m 1, access full',
      ...['tasks:', '  t1', '', 'T  (ready)'],
      ...['T  progress  t1  {"n":1}', 'T  note  wor ds']
    ]);
  });
});
