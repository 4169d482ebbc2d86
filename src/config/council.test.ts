import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { faultOf } from '../../test/kit/workspaces/config-fault.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { hasToolset, loadConfig } from './config.ts';
import { councilPathOf, statePathVariable } from './council.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const inFile = (council: unknown) =>
  workspace.write('.trouperc.json', JSON.stringify({ council }));

const load = (environment: Record<string, string> = {}) =>
  loadConfig({ workspace: workspace.path, trust: true }, environment);

async function pathWith(environment: Record<string, string> = {}) {
  const config = await load(environment);
  return councilPathOf(config.council, config.workspace);
}

const ofUser = join(homedir(), '.agents-council', 'state.json');

test('the default council belongs to the user', async () => {
  const config = await load();
  expect(config.council).toEqual({ scope: 'user' });
  expect(hasToolset(config, 'council')).toBe(true);
  expect(await pathWith()).toBe(ofUser);
});

test('a project may have its own council', async () => {
  inFile({ scope: 'project' });
  expect(await pathWith()).toBe(
    join(workspace.path, '.agents', 'council', 'state.json')
  );
});

test.each([
  ['talk/state.json', () => join(workspace.path, 'talk', 'state.json')],
  ['../state.json', () => join(workspace.path, '..', 'state.json')],
  ['/srv/council/state.json', () => '/srv/council/state.json'],
  ['~/talk.json', () => join(homedir(), 'talk.json')],
  ['~other/talk.json', () => join(workspace.path, '~other', 'talk.json')]
])('the file "%s" is found with any scope', async (statePath, path) => {
  inFile({ scope: 'project', statePath });
  expect(await pathWith()).toBe(path());
  expect(await pathWith({ [statePathVariable]: '' })).toBe(path());
});

test('the variable overrides the file', async () => {
  inFile({ scope: 'project', statePath: 'by-file.json' });
  expect(await pathWith({ [statePathVariable]: 'by-variable.json' })).toBe(
    join(workspace.path, 'by-variable.json')
  );
});

test('the variable alone sets the file', async () => {
  expect(await pathWith({ [statePathVariable]: '/srv/state.json' })).toBe(
    '/srv/state.json'
  );
});

test.each([
  [{ scope: 'team' }, 'council.scope'],
  [{ statePath: '' }, 'council.statePath'],
  [{ statePath: 3 }, 'council.statePath'],
  [{ path: 'x' }, '"path"'],
  ['project', 'council']
])('%j is refused with its key and file', async (council, key) => {
  const file = inFile(council);
  const fault = await faultOf(load());
  expect(fault).toContain(key);
  expect(fault).toContain(file);
});

test('the toolset can be excluded or be the only one', async () => {
  const toolsetsOf = async (toolsets: string) => {
    const config = await loadConfig(
      { workspace: workspace.path, toolsets },
      {}
    );
    return ['spawn', 'runs', 'squad', 'council'].filter((name) =>
      hasToolset(config, name)
    );
  };
  expect(await toolsetsOf('council')).toEqual(['council']);
  expect(await toolsetsOf('spawn,runs')).toEqual(['spawn', 'runs']);
  expect(await toolsetsOf('all')).toContain('council');
});
