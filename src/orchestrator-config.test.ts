import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Config, hasToolset, loadConfig } from './config.ts';
import { heartbeatOf } from './orchestrator-config.ts';
import { faultOf } from './testing/config-fault.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from './testing/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const inFile = (value: unknown) =>
  workspace.write('.trouperc.json', JSON.stringify(value));

const load = (toolsets?: string, environment: Record<string, string> = {}) =>
  loadConfig({ workspace: workspace.path, toolsets }, environment);

/** Those that a server with this configuration has. */
function servedBy(config: Config): string[] {
  const all = ['spawn', 'runs', 'squad', 'council', 'orchestrator', 'worker'];
  return all.filter((name) => hasToolset(config, name));
}

test('without anything said, workers are as the page says', async () => {
  const { orchestrator } = await load();
  expect(orchestrator).toEqual({
    backend: 'tmux',
    engine: 'gemini-cli',
    restart: 'never',
    runningTask: 'requeue',
    stalledAfterSeconds: 300,
    readyTimeoutSeconds: 60,
    heartbeatSeconds: 60,
    keepFailedPane: false
  });
});

test('what the file says is taken, and the rest stays as it was', async () => {
  inFile({
    orchestrator: { backend: 'process', restart: 'on-crash', engine: 'codex' }
  });
  expect((await load()).orchestrator).toMatchObject({
    backend: 'process',
    engine: 'codex',
    restart: 'on-crash',
    runningTask: 'requeue'
  });
});

test.each([
  [{ backend: 'screen' }, 'orchestrator.backend'],
  [{ engine: '' }, 'orchestrator.engine'],
  [{ restart: 'always' }, 'orchestrator.restart'],
  [{ restart: true }, 'orchestrator.restart'],
  [{ runningTask: 'drop' }, 'orchestrator.runningTask'],
  [{ stalledAfterSeconds: 0 }, 'orchestrator.stalledAfterSeconds'],
  [{ readyTimeoutSeconds: '60' }, 'orchestrator.readyTimeoutSeconds'],
  [{ heartbeatSeconds: -1 }, 'orchestrator.heartbeatSeconds'],
  [{ heartbeatSeconds: 604_801 }, 'orchestrator.heartbeatSeconds'],
  [{ keepFailedPane: 'yes' }, 'orchestrator.keepFailedPane'],
  [{ stalledAfter: 3 }, '"stalledAfter"'],
  ['tmux', 'orchestrator']
])('%j is refused, by its key and file', async (orchestrator, key) => {
  const file = inFile({ orchestrator });
  const fault = await faultOf(load());
  expect(fault).toContain(key);
  expect(fault).toContain(file);
});

test('a worker shows that it lives well before it would count as stalled', async () => {
  const beatWith = async (orchestrator: object) => {
    inFile({ orchestrator });
    return heartbeatOf((await load()).orchestrator);
  };
  expect(await beatWith({})).toBe(60);
  expect(await beatWith({ heartbeatSeconds: 5 })).toBe(5);
  expect(await beatWith({ stalledAfterSeconds: 30 })).toBe(10);
});

test('without a choice there is neither an orchestrator nor a worker', async () => {
  const usual = ['spawn', 'runs', 'squad', 'council'];
  expect(servedBy(await load())).toEqual(usual);
  // Settings alone ask for nothing.
  inFile({ orchestrator: { backend: 'process' } });
  expect(servedBy(await load())).toEqual(usual);
});

test('an orchestrator is served where it is asked for, in every way', async () => {
  const both = ['runs', 'orchestrator'];
  expect(servedBy(await load('orchestrator'))).toEqual(['orchestrator']);
  expect(servedBy(await load('runs,orchestrator'))).toEqual(both);
  const environment = { TROUPE_TOOLSETS: 'runs,orchestrator' };
  expect(servedBy(await load(undefined, environment))).toEqual(both);
  inFile({ toolsets: both });
  expect(servedBy(await load())).toEqual(both);
});

test('"all" is everything but the tools of a worker', async () => {
  const all = ['spawn', 'runs', 'squad', 'council', 'orchestrator'];
  expect(servedBy(await load('all'))).toEqual(all);
  expect(servedBy(await load('all,orchestrator'))).toEqual(all);
});

test('a worker is served alone or not at all', async () => {
  expect(servedBy(await load('worker'))).toEqual(['worker']);
  for (const toolsets of ['worker,runs', 'all,worker', 'orchestrator,worker'])
    expect(await faultOf(load(toolsets))).toBe(
      'The configuration is not valid. toolsets from --toolsets: "worker" is only ever served alone.'
    );
});
