import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import type { Flags } from './config-overrides.ts';
import { createHost } from './host.ts';
import type { ApiEngine } from './plugin.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from './testing/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

test('an API engine that no file names is refused, and none of its name asked instead', async () => {
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

describe('the engine of squads, off unless it is named,', () => {
  async function offered(
    flags: Flags,
    environment: Record<string, string> = { ENGINE: 'rehearsal' }
  ): Promise<string[]> {
    const served = { workspace: workspace.path, forSquads: true };
    const config = await loadConfig({ ...served, ...flags }, environment);
    const { registry } = await createHost(config);
    return registry.all().map(({ name }) => name);
  }

  test('is offered beside the others', async () => {
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

  test('is not offered beside those that a flag or TROUPE_ENGINES names', async () => {
    expect(await offered({ engines: 'codex' })).toEqual(['codex']);
    const environment = { ENGINE: 'rehearsal', TROUPE_ENGINES: 'codex' };
    expect(await offered({}, environment)).toEqual(['codex']);
  });
});
