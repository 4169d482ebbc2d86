import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import type { Ask } from './ask.ts';
import { askFile, createAsk, createAskFolder, decide } from './ask-files.ts';
import { park } from './parking.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const agentId = '1a2b3c4d';
const bridge = { pid: 1, start: '', place: 'here' };
let directory: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  directory = workspace.path;
  createAskFolder(directory);
  watchFiles();
});

function asked(): Ask {
  return createAsk(directory, {
    ...{ agent_id: agentId, kind: 'permission', tool: 'Bash' },
    ...{ subject: { command: 'make' }, needs: 'full', bridge },
    asked_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2026-01-01T00:10:00.000Z'
  });
}

test('an ask survives a power failure once it waits for its answer', () => {
  asked();
  expectDurable(askFile(directory, '1.json'));
});

test('an answer survives a power failure before the program acts on it', () => {
  const ask = asked();
  const answer = { decision: 'allow', text: null, by: 'person' } as const;
  expect(decide(directory, ask, answer)).toBe(true);
  expectDurable(askFile(directory, '1.answer'));
});

test('a run is parked on the disk before its program is ended', () => {
  const { ask_id: id } = asked();
  park(directory, { session: 's', asks: [id], parker: bridge });
  expectDurable(askFile(directory, 'parked'));
});
