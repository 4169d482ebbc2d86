import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { DoctorDocument } from '../../json/setup-documents.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

type Diagnosis = DoctorDocument & { code: number | null };

/** With stand-ins alone on PATH. */
const troupe = (args: string[], env: Record<string, string> = {}) =>
  commandHere(workspace, ['doctor', '--workspace', workspace.path, ...args], {
    PATH: workspace.bin,
    ...env
  });

async function diagnosis(
  flags: string[] = ['--engines', 'claude,grok'],
  env?: Record<string, string>
): Promise<Diagnosis> {
  const { code, stdout } = await troupe(['--json', ...flags], env);
  return { code, ...JSON.parse(stdout) };
}

function engineIn({ engines }: Diagnosis, name: string) {
  return engines.find((engine) => engine.name === name);
}

/** A program that logs in and prints its version as Claude Code does. */
const claude = (login: string, version = "'2.1.7 (Claude Code)'") =>
  workspace.program(
    'claude',
    `const [, , first, second] = process.argv;
    if (first === 'auth') { ${login} }
    else if (first === '--version') { ${version.startsWith("'") ? `console.log(${version})` : version} }
    else console.log(second ?? '');`
  );

describe('an engine', () => {
  test('whose program is missing is not ready, and can be installed', async () => {
    const found = await diagnosis();
    expect(found).toMatchObject({ code: 0, ok: true });
    expect(engineIn(found, 'claude')).toMatchObject({
      ready: false,
      available: false,
      path: null,
      next: expect.stringMatching(/^Install it: npm install/)
    });
    expect(found.next.at(-1)).toContain('troupe run rehearsal');
  });

  test('whose program fails is not ready', async () => {
    claude('', 'process.exit(7)');
    const found = await diagnosis();
    expect(engineIn(found, 'claude')).toMatchObject({
      ready: false,
      available: true,
      version: null,
      next: expect.stringContaining('fails: exit code 7.')
    });
  });

  test('without its key is not ready, and says where to get one', async () => {
    const found = await diagnosis();
    expect(engineIn(found, 'grok')).toMatchObject({
      ready: false,
      keys: [],
      next: expect.stringMatching(/^Set XAI_API_KEY or .*Get a key at /)
    });
  });

  test('with its key is ready, and the key is not shown', async () => {
    const value = 'the-value-of-the-key';
    const env = { XAI_API_KEY: value };
    const found = await diagnosis(undefined, env);
    expect(engineIn(found, 'grok')).toMatchObject({
      ready: true,
      next: null,
      keys: [{ name: 'XAI_API_KEY', from: 'environment' }]
    });
    expect(JSON.stringify(found)).not.toContain(value);
    expect(found.next).toEqual([expect.stringContaining('troupe run grok')]);
  });
});

describe('the check of the configuration', () => {
  test('fails for an invalid file, and the defaults are used', async () => {
    workspace.write('troupe.config.json', '{"maxConcurrent": "many"}');
    const found = await diagnosis([]);
    expect(found).toMatchObject({ code: 1, ok: false });
    expect(found.config.problem).toContain('maxConcurrent');
    expect(found.next[0]).toBe(found.config.problem);
    expect(found.engines.length).toBeGreaterThan(3);
  });

  test('names the file that is used', async () => {
    const file = workspace.write('troupe.config.json', '{}');
    expect((await diagnosis()).config).toEqual({ file, problem: null });
  });

  test('shows what is left out for lack of trust, and fails', async () => {
    workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
    const found = await diagnosis();
    expect(found).toMatchObject({
      code: 1,
      left_out: [{ setting: 'maxConcurrent', changed: false }]
    });
    expect(found.next[0]).toContain('troupe trust (1 setting left out)');
  });

  test('with --trust leaves nothing out', async () => {
    workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
    const found = await diagnosis(['--trust', '--engines', 'grok']);
    expect(found).toMatchObject({ code: 0, left_out: [], faults: [] });
  });

  test('fails for a plugin that does not load', async () => {
    workspace.write('troupe.config.json', '{"plugins": ["./gone.mjs"]}');
    const found = await diagnosis(['--trust']);
    expect(found).toMatchObject({
      code: 1,
      ok: false,
      faults: [{ plugin: './gone.mjs' }]
    });
    expect(found.next[0]).toMatch(/^Fix the plugin \.\/gone\.mjs, or remove/);
  });

  test('fails for a name of an engine that does not exist', async () => {
    workspace.write('troupe.config.json', '{"engines": {"gork": {}}}');
    const found = await diagnosis([]);
    expect(found).toMatchObject({ code: 1, ok: false });
    expect(found.next[0]).toMatch(/^Correct the name gork in "engines"/);
  });
});

describe('the check of directories', () => {
  const stateOf = ({ directories }: Diagnosis, name: string) =>
    directories.find(({ path }) => path === join(workspace.path, name))?.state;

  test('tells those that are there from those that will be made', async () => {
    mkdirSync(join(workspace.path, 'logs'));
    const found = await diagnosis();
    expect(stateOf(found, 'logs')).toBe('writable');
    expect(stateOf(found, '.agents')).toBe('created when needed');
  });

  test('finds a file in the place of one', async () => {
    chmodSync(workspace.write('.agents', ''), 0o755);
    const found = await diagnosis();
    expect(stateOf(found, '.agents')).toBe('not writable');
    expect(found.next).toContain(
      `Make ${join(workspace.path, '.agents')} a directory you may write to.`
    );
  });

  test('fails for one that everybody can change', async () => {
    mkdirSync(join(workspace.path, 'logs'));
    chmodSync(join(workspace.path, 'logs'), 0o777);
    const found = await diagnosis();
    expect(found).toMatchObject({ code: 1, ok: false });
    expect(found.unsafe).toContain('logs');
  });
});

test('tmux is found with its version, and is not required', async () => {
  expect(await diagnosis()).toMatchObject({ code: 0, tmux: null });
  const path = workspace.program('tmux', "console.log('tmux 3.4')");
  expect((await diagnosis()).tmux).toEqual({ path, version: 'tmux 3.4' });
});

test('records of workspaces that are gone are named, and are no failure', async () => {
  const gone = join(workspace.path, 'gone');
  const facts = { v: 1, id: '0badcafe', workspace: gone, formerly: [] };
  workspace.writeRecord(
    '../gone-0123456789ab/workspace.json',
    JSON.stringify(facts)
  );
  const found = await diagnosis();
  expect(found).toMatchObject({ code: 0, orphans: [gone] });
  expect(found.next.join()).toContain('troupe clean --orphans');
});

test('a role that is invalid is a failure only if squads are served', async () => {
  workspace.write('agents/bad.md', '---\naccess: everything\n---\nx');
  const config = '{"rolesDirectory": "./agents", "toolsets": ["spawn"]}';
  workspace.write('troupe.config.json', config);
  expect((await diagnosis()).squads).toEqual([]);
  workspace.write('troupe.config.json', config.replace('"spawn"', '"squad"'));
  const found = await diagnosis();
  expect(found.squads).toEqual([expect.stringContaining('Correct that file.')]);
  expect(found).toMatchObject({ code: 1, ok: false });
});

test('the text shows the same states as the document', async () => {
  workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
  const { code, stdout } = await troupe(['--engines', 'grok']);
  expect(code).toBe(1);
  for (const line of [
    `workspace  ${workspace.path}`,
    'logs       created when needed',
    'tmux       not installed',
    'grok (api): not ready',
    'keys       none seen',
    'Left out: the workspace is not trusted',
    '  1. Look at what this workspace asks for'
  ])
    expect(stdout).toContain(line);
});
