import { afterEach, beforeEach, expect, test } from 'vitest';
import { faultOf } from '../../test/kit/workspaces/config-fault.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { type Config, hasToolset, loadConfig } from './config.ts';
import { heartbeatOf } from './orchestrator.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const inFile = (value: unknown) =>
  workspace.write('.trouperc.json', JSON.stringify(value));

const load = (toolsets?: string, environment: Record<string, string> = {}) =>
  loadConfig({ workspace: workspace.path, toolsets }, environment);

/** The tools of a server with this configuration. */
function servedBy(config: Config): string[] {
  const all = ['spawn', 'runs', 'squad', 'council', 'orchestrator', 'worker'];
  return all.filter((name) => hasToolset(config, name));
}

test('the default settings are as documented', async () => {
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

test('a setting of the file counts, and the rest keeps its default', async () => {
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
])('%j is refused with its key and file', async (orchestrator, key) => {
  const file = inFile({ orchestrator });
  const fault = await faultOf(load());
  expect(fault).toContain(key);
  expect(fault).toContain(file);
});

test('the heartbeat comes well before a worker counts as stalled', async () => {
  const beatWith = async (orchestrator: object) => {
    inFile({ orchestrator });
    return heartbeatOf((await load()).orchestrator);
  };
  expect(await beatWith({})).toBe(60);
  expect(await beatWith({ heartbeatSeconds: 5 })).toBe(5);
  expect(await beatWith({ stalledAfterSeconds: 30 })).toBe(10);
});

test('neither an orchestrator nor a worker is served by default', async () => {
  const usual = ['spawn', 'runs', 'squad', 'council'];
  expect(servedBy(await load())).toEqual(usual);
  // Settings alone do not switch the toolset on.
  inFile({ orchestrator: { backend: 'process' } });
  expect(servedBy(await load())).toEqual(usual);
});

test('an orchestrator is served if any source requests it', async () => {
  const both = ['runs', 'orchestrator'];
  expect(servedBy(await load('orchestrator'))).toEqual(['orchestrator']);
  expect(servedBy(await load('runs,orchestrator'))).toEqual(both);
  const environment = { TROUPE_TOOLSETS: 'runs,orchestrator' };
  expect(servedBy(await load(undefined, environment))).toEqual(both);
  inFile({ toolsets: both });
  expect(servedBy(await load())).toEqual(both);
});

test('"all" includes every toolset except that of a worker', async () => {
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
