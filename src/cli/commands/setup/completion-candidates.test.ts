import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { createProgram } from '../../entry/program.ts';
import { candidates } from './completion-candidates.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** The candidates for the last word of a line. */
function wordsFor(...line: string[]): string[] {
  const environment = { CLAUDE_PROJECT_DIR: workspace.path };
  return candidates(createProgram(), line, environment).map(({ word }) => word);
}

test('the first word is a command, and none that is hidden', () => {
  const words = wordsFor('');
  expect(words).toEqual(expect.arrayContaining(['run', 'clean', 'doctor']));
  expect(words.filter((word) => word.startsWith('_'))).toEqual([]);
  expect(wordsFor('com')).toEqual(['completion']);
  expect(wordsFor('COM')).toEqual(['completion']);
  expect(wordsFor('help', 'com')).toEqual(['completion']);
});

test('a dash gives the flags that the line does not have yet', () => {
  const words = wordsFor('clean', '--keep', '1', '-y', '--');
  expect(words).toContain('--older-than');
  expect(words).not.toContain('--keep');
  expect(words).not.toContain('--yes');
});

test.each([
  [
    ['run', 'claude', '--access', ''],
    ['read', 'write', 'full']
  ],
  [['run', 'claude', '--access', 'w'], ['write']],
  [
    ['clean', '--older-than', ''],
    ['1d', '7d', '30d']
  ],
  [['clean', '--keep', ''], []],
  [['list', '--workspace', ''], [':files']],
  [['list', '--config', 'x'], [':files']],
  [
    ['run', 'clau'],
    ['claude', 'claude-api']
  ],
  [['run', 'claude', ''], []],
  [['init', 'cur'], ['cursor']],
  [['init', 'claude', 'cur'], ['cursor']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish']
  ],
  [['completion', 'bash', ''], []]
])('%j is completed with %j', (line, words) => {
  expect(wordsFor(...line)).toEqual(words);
});

test('in a list the last name is completed, after those before it', () => {
  expect(wordsFor('list', '--engines', 'codex,clau')).toEqual([
    'codex,claude',
    'codex,claude-api'
  ]);
});

test('ids are those that the command accepts, and each once on a line', () => {
  const [active, ended] = [idOf(0xaaaaaaaa), idOf(0xbbbbbbbb)];
  makeUp(workspace.record, { agent_id: active, daysAgo: null });
  makeUp(workspace.record, { agent_id: ended, daysAgo: 1, isOpen: true });
  process.env.TROUPE_HOME = `${workspace.home}/.troupe`;
  try {
    expect(wordsFor('cancel', '')).toEqual([active]);
    expect(wordsFor('wait', '')).toEqual([active]);
    expect(wordsFor('wait', active, '')).toEqual([]);
    expect(wordsFor('clean', '')).toEqual([ended]);
    expect(wordsFor('result', '')).toEqual([active, ended]);
    expect(wordsFor('result', 'bb')).toEqual([ended]);
    expect(wordsFor('result', ended, '')).toEqual([]);
  } finally {
    delete process.env.TROUPE_HOME;
  }
});

test('a role whose name a shell would run is left out', () => {
  const names = ['$(evil)', 'a b', 'a;b', "a'b", '`x`', 'plain-one'];
  for (const name of names) workspace.write(`agents/${name}.md`, 'x');
  workspace.write('agents/other.txt', 'x');
  const words = wordsFor('roles', '');
  expect(words).toEqual([...words].sort());
  expect(words).toContain('plain-one');
  expect(words).toContain('accessibility-specialist');
  expect(words.filter((word) => /[^\w-]/.test(word))).toEqual([]);
  expect(words).not.toContain('other');
});
