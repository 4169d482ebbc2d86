import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { faultOf } from '../../test/kit/workspaces/config-fault.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { HostError } from '../core/errors.ts';
import { packageDirectory } from '../host/package.ts';
import { hasToolset, loadConfig } from './config.ts';
import type { Flags } from './overrides.ts';
import {
  checkSquadConfig,
  roleDirectoriesOf,
  squadSettingsOf
} from './squads.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

function load(environment: Record<string, string> = {}, flags: Flags = {}) {
  const served = { workspace: workspace.path, forSquads: true };
  return loadConfig({ ...served, ...flags }, environment);
}

async function settingsWith(environment: Record<string, string>) {
  const { squad } = await load(environment);
  return squadSettingsOf(squad, workspace.path);
}

const engines: Parameters<typeof checkSquadConfig>[2] = [
  { name: 'claude', kind: 'cli' },
  { name: 'codex', kind: 'cli' },
  { name: 'grok', kind: 'api' }
];

async function check(
  environment: Record<string, string>,
  flags: Flags = {}
): Promise<void> {
  const config = await load(environment, flags);
  checkSquadConfig(config.workspace, config, engines);
}

test('the default settings are as documented', async () => {
  const { squad, rolesDirectory } = await load();
  expect(squad).toEqual({
    stateMode: 'stateless',
    processTimeoutMs: 600_000,
    sequentialDelayMs: 100,
    templateVariables: []
  });
  expect(rolesDirectory).toBeUndefined();
  expect(squadSettingsOf(squad, workspace.path)).toEqual({
    stateMode: 'stateless',
    defaultEngine: 'claude',
    timeoutSeconds: 600,
    sequentialDelayMs: 100,
    templateVariables: []
  });
  await check({});
});

test('a template is looked up in the workspace, then in the package', async () => {
  const both = 'package.json';
  const settings = () => settingsWith({ RUN_TEMPLATE_PATH: both });
  expect((await settings()).runTemplatePath).toBe(
    join(packageDirectory(), both)
  );
  const own = workspace.write(both, '{}');
  expect((await settings()).runTemplatePath).toBe(own);
});

test('a missing template resolves to a path in the workspace', async () => {
  const { createChatTemplatePath } = await settingsWith({
    CREATE_CHAT_TEMPLATE_PATH: 'templates/chat'
  });
  expect(createChatTemplatePath).toBe(join(workspace.path, 'templates/chat'));
});

test('an absolute path of a template is unchanged', async () => {
  const path = join(workspace.home, 'run.template');
  expect(
    (await settingsWith({ RUN_TEMPLATE_PATH: path })).runTemplatePath
  ).toBe(path);
});

test('the time limit is converted to seconds', async () => {
  const { timeoutSeconds } = await settingsWith({ PROCESS_TIMEOUT_MS: '1500' });
  expect(timeoutSeconds).toBe(1.5);
});

test('roles are in the package and in a directory of the workspace', () => {
  const { path, home } = workspace;
  const builtin = join(packageDirectory(), 'agents');
  expect(roleDirectoriesOf(path, undefined)).toEqual({
    builtin,
    own: join(path, 'agents'),
    within: path
  });
  expect(roleDirectoriesOf(path, 'team/roles').own).toBe(
    join(path, 'team/roles')
  );
  expect(roleDirectoriesOf(path, home).own).toBe(home);
});

test('an unknown engine stops the start, with a list of the engines', async () => {
  const said = 'ENGINE (squad.engine) names "aider"';
  expect(await faultOf(check({ ENGINE: 'aider' }))).toContain(said);
  const error = await check({ ENGINE: 'aider' }).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(HostError);
  expect(Object(error).hint).toContain('claude, codex, grok');
  expect(Object(error).hint).toContain('RUN_TEMPLATE_PATH');
  await check({ ENGINE: 'codex' });
});

test('an engine that --engines leaves out stops the start', async () => {
  const flags = { engines: 'codex,grok' };
  const said =
    'ENGINE (squad.engine) names "aider", which is not among those that --engines (TROUPE_ENGINES) offers.';
  const environment = { ENGINE: 'aider', TROUPE_ENGINES: 'codex' };
  expect(await faultOf(check({ ENGINE: 'aider' }, flags))).toBe(said);
  expect(await faultOf(check(environment))).toBe(said);
  await check({ ENGINE: 'codex' }, flags);
  await check({}, { engines: 'gemini-cli' });
});

test('a template may have any engine name', async () => {
  workspace.write('run.template', 'aider');
  const environment = { ENGINE: 'aider', RUN_TEMPLATE_PATH: 'run.template' };
  await check(environment);
  await check(environment, { engines: 'codex' });
});

test('a program for an API stops the start, unless a template runs it', async () => {
  workspace.write('run.template', 'x');
  const environment = { ENGINE: 'grok', ENGINE_COMMAND: 'grok' };
  expect(await faultOf(check(environment))).toBe(
    'ENGINE_COMMAND (squad.engineCommand) names a program, and squads run on "grok", an API, which has none.'
  );
  await check({ ...environment, RUN_TEMPLATE_PATH: 'run.template' });
  await check({ ENGINE: 'codex', ENGINE_COMMAND: 'codex' });
});

test.each([
  ['RUN_TEMPLATE_PATH', 'no.template', 'no.template', 'file'],
  ['CREATE_CHAT_TEMPLATE_PATH', '/no/such.template', '/no/such.', 'file'],
  ['RUN_TEMPLATE_PATH', '.', '', 'file'],
  ['AGENTS_DIRECTORY_PATH', 'no-roles', 'no-roles', 'directory'],
  ['AGENTS_DIRECTORY_PATH', 'a-file', 'a-file', 'directory']
])('%s that names %s stops the start', async (variable, value, where, kind) => {
  workspace.write('a-file', '');
  const fault = await faultOf(check({ [variable]: value }));
  expect(fault).toMatch(new RegExp(`^${variable} \\([a-zA-Z.]+\\) names /`));
  expect(fault).toContain(where);
  expect(fault).toContain(`there is no such ${kind}`);
});

test('directories and links to them may hold roles', async () => {
  mkdirSync(join(workspace.home, 'roles'));
  symlinkSync(join(workspace.home, 'roles'), join(workspace.path, 'linked'));
  await check({ AGENTS_DIRECTORY_PATH: 'linked' });
  await check({ AGENTS_DIRECTORY_PATH: '../home/roles' });
});

test('a workspace without the default directory of roles is valid', async () => {
  workspace.write('agents', 'a file, and nobody named it');
  await check({});
});

test.each([
  [undefined, true],
  ['all', true],
  ['runs,squad', true],
  ['spawn,runs', false]
])('of the toolsets %s, squad is on: %s', async (toolsets, isOn) => {
  const config = await load({}, toolsets === undefined ? {} : { toolsets });
  expect(hasToolset(config, 'squad')).toBe(isOn);
});
