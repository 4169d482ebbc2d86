import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../test/kit/agents/made-up-agents.ts';
import {
  type HostHere,
  hireWorker,
  hostHere
} from '../../../test/kit/servers/host-here.ts';
import {
  watchedRun,
  watchedWorker
} from '../../interfaces/board/watched-agent.ts';
import { DiffText } from './diff-text.ts';

const id = idOf(0x11111111);

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

function agent(made: Partial<MadeUp> = {}): string {
  const all = { agent_id: id, daysAgo: 1, isOpen: true, ...made };
  return makeUp(here.workspace.record, all);
}

async function watched() {
  const run = await here.host.tracker.run(id);
  if (!run) throw new Error('There is no such agent.');
  return watchedRun(here.host, run);
}

describe('the changes of an agent', () => {
  const diffOf = async () => new DiffText(here.host, await watched()).read();
  const title = `Changes of Claude ${id}`;

  test('are unknown before its end, and when they were not recorded', async () => {
    agent({ daysAgo: null });
    expect(await diffOf()).toEqual({
      ...{ title, text: 'Its changes are recorded when it ends.' }
    });
    here = await hostHere();
    agent();
    expect(await diffOf()).toEqual({
      ...{ title, text: 'Its changes were not recorded.' }
    });
  });

  test('are its patch, with the note above', async () => {
    const directory = agent({ patch: '+a' });
    expect(await diffOf()).toMatchObject({
      ...{ title: `${title}: 1 file`, text: '+a' }
    });
    const noted = { v: 1, patch: 'changes.diff', note: 'So\nso.' };
    writeFileSync(join(directory, 'changes.json'), JSON.stringify(noted));
    const text = new DiffText(here.host, await watched());
    rmSync(join(directory, 'changes.diff'));
    expect(await text.read()).toMatchObject({
      title: `${title}: unknown`,
      text: 'So so.\n\nThe file with the patch is gone.'
    });
    expect(await text.read()).toBe(await text.read());
  });

  test('are none of a worker, and have the beginning of a very long patch', async () => {
    const worker = hireWorker(here, 'aaaaaaaa');
    const ofWorker = new DiffText(here.host, watchedWorker(worker));
    expect((await ofWorker.read()).text).toMatch(/are not recorded/);
    agent({ patch: 'x'.repeat(1_000_001) });
    expect((await diffOf()).text).toMatch(
      /\n… 1 more characters: .*changes\.diff$/
    );
  });

  test('have a color for each kind of line', async () => {
    agent({ patch: '' });
    const { color = String } = await diffOf();
    const kinds = ['diff a', '+++ b', '@@ 1', '+a', '-a', ' a', '+++a'];
    const marked = (line: string) => color(line).replace(/\u001b\[/g, '^');
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('FORCE_COLOR', '0');
    expect(kinds.map(marked)).toEqual(kinds);
    vi.stubEnv('FORCE_COLOR', '1');
    expect(kinds.map((line) => marked(line).slice(0, 4))).toEqual([
      ...['^1md', '^1m+', '^36m', '^32m', '^31m', ' a', '^32m']
    ]);
  });
});
