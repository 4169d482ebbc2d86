import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AgentHere,
  agentHere,
  id
} from '../../../test/kit/servers/agent-here.ts';
import { hireWorker } from '../../../test/kit/servers/host-here.ts';
import {
  watchedRun,
  watchedWorker
} from '../../interfaces/board/watched-agent.ts';
import { DiffText } from './diff-text.ts';

let here: AgentHere;

beforeEach(async () => {
  here = await agentHere();
});

const agent: AgentHere['agent'] = (made) => here.agent(made);

async function watched() {
  return watchedRun(here.host, await here.run());
}

describe('the changes of an agent', () => {
  const diffOf = async () => new DiffText(here.host, await watched()).read();
  const title = `Changes of Claude ${id}`;

  test('are unknown before its end, and when they were not recorded', async () => {
    agent({ daysAgo: null });
    expect(await diffOf()).toEqual({
      ...{ title, text: 'Its changes are recorded when it ends.' }
    });
    here = await agentHere();
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
