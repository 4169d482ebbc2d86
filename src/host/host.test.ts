import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { idOf, makeUp } from '../../test/kit/agents/made-up-agents.ts';
import { until } from '../../test/kit/judges/until.ts';
import { hostHere } from '../../test/kit/servers/host-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig } from '../config/config.ts';
import type { Flags } from '../config/overrides.ts';
import { noteJournalled } from '../core/runs/run-files.ts';
import type { ApiEngine } from '../plugin/plugin.ts';
import { createHost, retainAutomatically } from './host.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

test('an API engine that no configuration file names is rejected, and the built-in engine of its name is not used', async () => {
  const grok: ApiEngine = {
    kind: 'api',
    name: 'grok',
    description: 'Not the built-in one.',
    keyNames: [],
    generate: async ({ prompt }) => ({ text: prompt, finished: true })
  };
  const config = await loadConfig(
    { workspace: workspace.path },
    { HOME: workspace.home }
  );
  const host = await createHost({ ...config, plugins: [grok] });

  const { status, failure } = await host.spawn({ engine: 'grok', prompt: 'x' });

  expect(status).toBe('failed');
  expect(failure?.code).toBe('spawn_failed');
  expect(failure?.message).toMatch(/grok.*a configuration file has to name/);
});

describe('an optional engine that is the engine of squads', () => {
  async function offered(
    flags: Flags,
    environment: Record<string, string> = { ENGINE: 'rehearsal' }
  ): Promise<string[]> {
    const served = { workspace: workspace.path, forSquads: true };
    const config = await loadConfig({ ...served, ...flags }, environment);
    const { registry } = await createHost(config);
    return registry.all().map(({ name }) => name);
  }

  test('is offered with the other engines', async () => {
    const engines = await offered({});
    expect(engines).toEqual(expect.arrayContaining(['claude', 'rehearsal']));
    const byFlag = await offered({ squad: { engine: 'rehearsal' } }, {});
    expect(byFlag).toEqual(engines);
  });

  test('is not offered where no squads are served', async () => {
    const flags = { toolsets: 'spawn', squad: { engine: 'rehearsal' } };
    expect(await offered({ toolsets: 'spawn' })).not.toContain('rehearsal');
    expect(await offered(flags)).not.toContain('rehearsal');
  });

  test('is not offered when a flag or TROUPE_ENGINES names the engines', async () => {
    expect(await offered({ engines: 'codex' })).toEqual(['codex']);
    const environment = { ENGINE: 'rehearsal', TROUPE_ENGINES: 'codex' };
    expect(await offered({}, environment)).toEqual(['codex']);
  });
});

test('an ended agent of an unknown engine is not active in IAC.md any more', async () => {
  const { host, workspace: own } = await hostHere();
  const id = idOf(1);
  const made = { agent_id: id, daysAgo: null, engine: 'unknown' };
  const directory = makeUp(own.record, made);
  noteJournalled(directory);
  const view = join(own.path, 'logs', 'IAC.md');
  const isActive = () => readFileSync(view, 'utf8').includes(`\n| \`${id}\` |`);
  await host.attend();
  expect(isActive()).toBe(true);
  writeFileSync(join(directory, 'claim'), `${2 ** 22 + 1} 1\n`);
  const exit = join(directory, 'exit');
  writeFileSync(exit, '0\n');
  // Other servers have a few seconds to record the end.
  utimesSync(exit, 0, 0);
  await host.tracker.look(id);
  await until('a view without it', () => !isActive());
});

test.each([
  [{ automatic: true, keep: 1 }, 1],
  [{ automatic: true }, 0],
  [{ automatic: false, keep: 1 }, 0]
])(
  'with retention %j, old agents are removed at a start: %i',
  async (retention, times) => {
    const { host } = await hostHere();
    const safety = { holds: vi.fn(() => false) };
    const config = { ...host.config, retention };
    const { store, journal, processes } = host;
    const tools = { config, store, journal, processes, safety };
    const stop = retainAutomatically(tools);
    await nextTurn();
    stop();
    expect(safety.holds).toHaveBeenCalledTimes(times);
  }
);
