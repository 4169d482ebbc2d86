import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  justBefore,
  syncsBelow,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { RunStore } from '../runs/run-store.ts';
import { Council } from './council.ts';
import { CouncilStore } from './council-store.ts';
import { longTextFile, StateFile } from './state-file.ts';
import { type Mark, SummonMarks } from './summon-marks.ts';
import { Summons } from './summons.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const processes = createProcesses('');

let workspace: TempWorkspace;
let path: string;
let store: CouncilStore;
let council: Council;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'state.json');
  store = new CouncilStore(path, processes);
  council = new Council({ store, witnesses: processes });
  onTestFinished(() => {
    store.close();
    workspace.remove();
  });
  watchFiles();
});

/** Runs `check` just before the file of the state is replaced. */
function beforeReplacement(check: () => void) {
  const checked = vi.fn(check);
  justBefore('rename', path, checked);
  return checked;
}

test('a change of the council is on the disk when it is answered', async () => {
  await council.start('alice', 'Which language?');
  expectDurable(path);
  watchFiles();
  await council.send('alice', 'This one.');
  expectDurable(path);
});

test('responses that one server is sent together share one sync', async () => {
  await council.start('alice', 'Which language?');
  const texts = ['one', 'two', 'three', 'four', 'five'];
  await council.send('alice', 'first');
  watchFiles();
  await council.send('alice', 'alone');
  const alone = syncsBelow(workspace.path);
  watchFiles();
  await Promise.all(texts.map((text) => council.send('alice', text)));
  expect(syncsBelow(workspace.path)).toBe(alone);
  expectDurable(path);
  const recorded = store.read().feedback.map(({ content }) => content);
  expect(recorded).toEqual(['first', 'alone', ...texts]);
});

test('a change is on the disk even when its file cannot be opened afterwards', async () => {
  await council.start('alice', 'Which language?');
  watchFiles();
  const refused = vi.fn(() => {
    throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
  });
  justBefore('open', path, refused);
  await council.send('alice', 'This one.');
  expect(refused).toHaveBeenCalled();
  expectDurable(path);
});

test('the state that another process wrote is on the disk before it is answered from', async () => {
  await council.start('alice', 'Which language?');
  const other = new StateFile(path);
  onTestFinished(() => other.close());
  watchFiles();
  other.write({ ...other.read(), feedback: [] });
  expect(() => expectDurable(path)).toThrow('was not synced');
  await store.change((state) => ({ state, result: undefined }));
  expectDurable(path);
});

test('a former session is on the disk before the next one replaces it', async () => {
  const { session } = await council.start('alice', 'Which language?');
  const archived = join(workspace.path, 'history', `${session.id}.json`);
  watchFiles();
  const checked = beforeReplacement(() => expectDurable(archived));
  await council.start('alice', 'Which name?');
  expect(checked).toHaveBeenCalled();
});

test('the original of a converted file is on the disk before it is replaced', async () => {
  const fixture = 'fixtures/agents-council-0.4.0.json';
  copyFileSync(join(import.meta.dirname, fixture), path);
  const checked = beforeReplacement(() => expectDurable(`${path}.v1.bak`));
  await council.start('alice', 'Which language?');
  expect(checked).toHaveBeenCalled();
});

test('the mark of a summoned agent is on the disk before the agent starts', async () => {
  await council.start('alice', 'Which language?');
  const runs = new RunStore(workspace.record);
  const markOf = (id: string) => join(runs.root, 'summons', id);
  const summons = new Summons({
    council: store,
    storeAt: () => store,
    witnesses: processes,
    workspace: workspace.path,
    runs,
    tracker: { run: async () => undefined },
    spawn: async ({ agentId = '' }) => {
      expectDurable(markOf(agentId));
      expectDurable(path);
      watchFiles();
      const record = recordWith({ agent_id: agentId });
      return { record, status: 'running', repeated: false };
    },
    onProblem: (problem) => {
      throw problem;
    }
  });
  watchFiles();
  const { agentId } = await summons.summon({ engine: 'claude' });
  expectDurable(markOf(agentId));
});

test('a mark that is replaced stays on the disk', () => {
  const marks = new SummonMarks(workspace.record);
  const mark: Mark = {
    agent_id: '0badcafe',
    state: path,
    owner: processes.self
  };
  marks.set(mark);
  watchFiles();
  marks.setStarted(mark);
  expectDurable(join(workspace.record, 'summons', mark.agent_id));
});

test('a long text is on the disk before an answer names its file', () => {
  const file = longTextFile(path, 'an-id', 'a long text');
  expect(file).not.toBe(path);
  expectDurable(file);
});
