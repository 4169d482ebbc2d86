import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { faultOf } from '../../test/kit/workspaces/config-fault.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { mcpFlags } from '../cli/commands/serve/mcp.ts';
import { loadConfig } from './config.ts';
import { type Flags, flagOf, overridden, overridesOf } from './overrides.ts';
import { rolesVariable, squadVariables } from './squads.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

function load(flags: Flags = {}, environment: Record<string, string> = {}) {
  const served = { workspace: workspace.path, trust: true, forSquads: true };
  return loadConfig({ ...served, ...flags }, environment);
}

const inFile = (value: unknown) =>
  workspace.write('.trouperc.json', JSON.stringify(value));

/** The path of a setting, and its values in flag, variable and file. */
const texts = [
  ['stateMode', 'STATE_MODE', 'stateful', 'stateful', 'stateless'],
  ['engine', 'ENGINE', 'codex', 'copilot', 'gemini-cli'],
  ['engineCommand', 'ENGINE_COMMAND', '/a/codex', 'codex-b', 'codex c'],
  ['runTemplatePath', 'RUN_TEMPLATE_PATH', 'a', './b', '/c'],
  ['createChatTemplatePath', 'CREATE_CHAT_TEMPLATE_PATH', 'a', './b', '/c'],
  ['executionMode', 'EXECUTION_MODE', 'sequential', 'parallel', 'sequential']
] as const;

test.each(texts)(
  'squad.%s comes from its flag, else %s, else the file',
  async (key, variable, byFlag, byVariable, byFile) => {
    inFile({ squad: { [key]: byFile } });
    const environment = { [variable]: byVariable };
    const squadOf = async (flags: Flags, variables: Record<string, string>) =>
      (await load(flags, variables)).squad[key];
    const flags = { squad: { [key]: byFlag } };
    expect(await squadOf(flags, environment)).toBe(byFlag);
    expect(await squadOf({}, environment)).toBe(byVariable);
    expect(await squadOf({}, {})).toBe(byFile);
    expect(await squadOf({}, { [variable]: '' })).toBe(byFile);
    expect(await squadOf({ squad: { [key]: '' } }, environment)).toBe(
      byVariable
    );
  }
);

test.each([
  ['processTimeoutMs', 'PROCESS_TIMEOUT_MS', 600_000],
  ['sequentialDelayMs', 'SEQUENTIAL_DELAY_MS', 100]
] as const)(
  'squad.%s is a number in its flag, in %s and in the file',
  async (key, variable, byDefault) => {
    const flags = { squad: { [key]: '3000' } };
    const environment = { [variable]: '2000' };
    expect((await load()).squad[key]).toBe(byDefault);
    inFile({ squad: { [key]: 1000 } });
    expect((await load(flags, environment)).squad[key]).toBe(3000);
    expect((await load({}, environment)).squad[key]).toBe(2000);
    expect((await load()).squad[key]).toBe(1000);
  }
);

test('the directory of roles comes from flag, variable, file, in this order', async () => {
  inFile({ rolesDirectory: 'file' });
  const environment = { AGENTS_DIRECTORY_PATH: 'variable' };
  const flags = { agentsDirectoryPath: 'flag' };
  const directory = async (...sources: Parameters<typeof load>) =>
    (await load(...sources)).rolesDirectory;
  expect(await directory(flags, environment)).toBe('flag');
  expect(await directory({}, environment)).toBe('variable');
  expect(await directory()).toBe('file');
  expect(await directory({}, { AGENTS_DIRECTORY_PATH: '' })).toBe('file');
});

test('a setting without an override keeps its value from the file', async () => {
  inFile({ squad: { engine: 'codex', stateMode: 'stateful' } });
  const { squad } = await load({}, { EXECUTION_MODE: 'sequential' });
  expect(squad).toMatchObject({
    engine: 'codex',
    stateMode: 'stateful',
    executionMode: 'sequential'
  });
});

test('every variable of squads has a flag of the same name', () => {
  for (const variable of [...Object.values(squadVariables), rolesVariable])
    expect(Object.keys(mcpFlags)).toContain(flagOf(variable).slice(2));
});

test.each([
  [{ STATE_MODE: 'both' }, 'squad.stateMode from STATE_MODE: '],
  [{ EXECUTION_MODE: 'serial' }, 'squad.executionMode from EXECUTION_MODE: '],
  [{ PROCESS_TIMEOUT_MS: '0' }, 'squad.processTimeoutMs from PROCESS_TIME'],
  [{ PROCESS_TIMEOUT_MS: '-5' }, 'squad.processTimeoutMs from PROCESS_TIME'],
  [{ PROCESS_TIMEOUT_MS: '10 min' }, 'squad.processTimeoutMs from PROCESS_'],
  [{ PROCESS_TIMEOUT_MS: 'Infinity' }, 'squad.processTimeoutMs from PROCESS'],
  [{ SEQUENTIAL_DELAY_MS: '-1' }, 'squad.sequentialDelayMs from SEQUENTIAL_'],
  [{ SEQUENTIAL_DELAY_MS: ' ' }, 'squad.sequentialDelayMs from SEQUENTIAL_D'],
  [{ ENGINE: 'a\nb' }, 'squad.engine from ENGINE: '],
  [{ ENGINE: 'x'.repeat(61) }, 'squad.engine from ENGINE: ']
])('%j is refused with the name of the variable', async (environment, said) => {
  expect(await faultOf(load({}, { ...environment }))).toContain(said);
});

test.each([
  ['stateMode', 'x', 'squad.stateMode from --state-mode: '],
  ['executionMode', 'x', 'squad.executionMode from --execution-mode: '],
  ['processTimeoutMs', 'x', 'squad.processTimeoutMs from --process-timeout-ms'],
  ['sequentialDelayMs', '1e9', 'squad.sequentialDelayMs from --sequential-del']
])('an invalid --%s is refused with its name', async (key, value, said) => {
  const fault = await faultOf(load({ squad: { [key]: value } }));
  expect(fault).toContain(said);
});

test('a fault of the file is not blamed on a variable with a similar name', async () => {
  const file = inFile({
    maxConcurrentApi: 0,
    squad: { engine: 'codex', engineCommand: '' }
  });
  const environment = { TROUPE_MAX_CONCURRENT: '3', ENGINE: 'claude' };
  const fault = await faultOf(load({}, environment));
  expect(fault).toContain(`maxConcurrentApi in ${file}: `);
  expect(fault).toContain(`squad.engineCommand in ${file}: `);
});

test.each([null, 'stateful', ['stateful'], 7, true])(
  'a file whose squad is %j stops the start, whatever the variables are',
  async (squad) => {
    const file = inFile({ squad });
    for (const environment of [{}, { STATE_MODE: 'stateful' }])
      expect(await faultOf(load({}, { ...environment }))).toContain(
        `squad in ${file}: `
      );
  }
);

test.each([
  [{ squad: { stateMod: 'stateful' } }, '"stateMod"'],
  [{ squad: { templateVariables: ['A B'] } }, 'squad.templateVariables.0'],
  [{ squad: { templateVariables: 'A' } }, 'squad.templateVariables'],
  [{ squad: { processTimeoutMs: '600000' } }, 'squad.processTimeoutMs'],
  [{ squad: { runTemplatePath: '' } }, 'squad.runTemplatePath'],
  [{ rolesDirectory: ['agents'] }, 'rolesDirectory'],
  [{ rolesDirectory: '' }, 'rolesDirectory']
])('%j in the file is refused with its path', async (value, path) => {
  const file = inFile(value);
  const fault = await faultOf(load());
  expect(fault).toContain(path);
  expect(fault).toContain(` in ${file}: `);
});

test('an override does not change the original object', () => {
  const written = { squad: { engine: 'codex' } };
  const environment = { ENGINE: 'claude' };
  const overrides = overridesOf({ forSquads: true }, environment, written);
  expect(overridden(written, overrides)).toEqual({
    squad: { engine: 'claude' }
  });
  expect(written).toEqual({ squad: { engine: 'codex' } });
});

describe('variables with plain names', () => {
  const stray = {
    ...Object.fromEntries(
      Object.values(squadVariables).map((variable) => [variable, 'stray'])
    ),
    [rolesVariable]: 'stray'
  };

  test('are ignored where no squad could be served', async () => {
    const { squad, rolesDirectory } = await load({ forSquads: false }, stray);
    expect(squad).toEqual((await load()).squad);
    expect(rolesDirectory).toBeUndefined();
  });

  test('are ignored without the toolset, whatever leaves it out', async () => {
    const toolsets = 'spawn,runs';
    const byDefault = (await load()).squad;
    const squadOf = async (...sources: Parameters<typeof load>) =>
      (await load(...sources)).squad;
    expect(await squadOf({ toolsets }, stray)).toEqual(byDefault);
    expect(await squadOf({}, { ...stray, TROUPE_TOOLSETS: toolsets })).toEqual(
      byDefault
    );
    inFile({ toolsets: ['spawn'] });
    expect(await squadOf({}, stray)).toEqual(byDefault);
  });

  test.each<[Flags, Record<string, string>, string[] | undefined]>([
    [{}, {}, undefined],
    [{}, {}, ['runs', 'squad']],
    [{ toolsets: 'all' }, { TROUPE_TOOLSETS: 'runs' }, ['spawn']],
    [{}, { TROUPE_TOOLSETS: 'squad' }, ['spawn']]
  ])('count with toolsets by %j, %j, %j', async (flags, variables, file) => {
    inFile(file ? { toolsets: file } : {});
    const environment = { ...variables, STATE_MODE: 'stray' };
    expect(await faultOf(load(flags, environment))).toContain('STATE_MODE');
  });

  test('have flags that count everywhere', async () => {
    const flags = { toolsets: 'spawn', squad: { stateMode: 'stray' } };
    expect(await faultOf(load(flags))).toContain('--state-mode');
  });
});
