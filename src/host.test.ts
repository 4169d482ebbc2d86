import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from './config.ts';
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
  const config = await loadConfig({ workspace: workspace.path }, {});
  const host = await createHost({ ...config, plugins: [grok] });

  const { status, failure } = await host.spawn({ engine: 'grok', prompt: 'x' });

  expect(status).toBe('failed');
  expect(failure?.code).toBe('spawn_failed');
  expect(failure?.message).toMatch(/grok.*a configuration file has to name/);
});
