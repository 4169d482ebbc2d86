import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { EngineRegistry } from '../core/engines/engine-registry.ts';
import { ConfigSource } from './config-source.ts';
import { LiveConfig } from './live-config.ts';

const file = 'troupe.config.json';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  vi.stubEnv('HOME', workspace.home);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  workspace.remove();
});

test('each problem of a changed configuration is logged once', async () => {
  workspace.write(file, '{}');
  const source = new ConfigSource({ workspace: workspace.path });
  const config = await source.load();
  const live = new LiveConfig(config, new EngineRegistry([], {}), source);
  const logged: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    logged.push(String(text));
    return true;
  });
  const change = async (text: string) => {
    workspace.write(file, text);
    await live.refresh();
    return logged.splice(0);
  };
  const problem = /^troupe: The server still uses .*maxAccess.*\n$/;
  expect(await change('{"maxAccess": "rea"}')).toEqual([
    expect.stringMatching(problem)
  ]);
  expect(live.notice).toMatch(/maxAccess/);
  expect(await change('{"maxAccess":  "rea"}')).toEqual([]);
  expect(await change('{"http": {"sessions": 3}}')).toEqual([
    expect.stringMatching(/ for http; restart it/)
  ]);
  expect(await change('{}')).toEqual([]);
  expect(live.notice).toBeUndefined();
});
