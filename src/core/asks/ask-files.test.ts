import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import type { Ask } from './ask.ts';
import {
  answerTo,
  askFile,
  createAsk,
  createAskFolder,
  decide,
  openAsksIn
} from './ask-files.ts';

const allow = { decision: 'allow', text: null, by: 'person' } as const;
let directory: string;
let ask: Ask;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  directory = workspace.path;
  createAskFolder(directory);
  ask = createAsk(directory, {
    agent_id: '1a2b3c4d',
    kind: 'permission',
    tool: 'Bash',
    subject: { command: 'make' },
    needs: 'full',
    asked_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2026-01-01T00:10:00.000Z',
    bridge: { pid: 1, start: '', place: 'here' }
  });
});

test('an ask is open until it is decided, and decided once', () => {
  expect(openAsksIn(directory, '1a2b3c4d')).toEqual([ask]);
  expect(answerTo(directory, ask)).toBeUndefined();
  expect(decide(directory, ask, allow)).toBe(true);
  expect(decide(directory, ask, { ...allow, decision: 'deny' })).toBe(false);
  expect(openAsksIn(directory, '1a2b3c4d')).toEqual([]);
  expect(answerTo(directory, ask)).toMatchObject(allow);
});

test.each<[string, (path: string) => void]>([
  ['a folder', (path) => mkdirSync(path)],
  ['a link to nothing', (path) => symlinkSync('nothing', path)],
  ['a link to itself', (path) => symlinkSync(path, path)],
  [
    'a link to an answer',
    (path) => {
      writeFileSync(
        `${path}.other`,
        JSON.stringify({ v: 1, ...allow, at: '' })
      );
      symlinkSync(`${path}.other`, path);
    }
  ],
  ['an empty file', (path) => writeFileSync(path, '')]
])('%s in place of an answer is a refusal', (_, put) => {
  put(askFile(directory, '1.answer'));
  expect(answerTo(directory, ask)).toMatchObject({
    decision: 'deny',
    by: 'asker_gone'
  });
  expect(openAsksIn(directory, '1a2b3c4d')).toEqual([]);
  expect(decide(directory, ask, allow)).toBe(false);
});
