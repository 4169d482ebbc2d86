import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const init = (...args: string[]) =>
  commandHere(
    workspace,
    ['init', '--no-check', ...args, '--workspace', workspace.path],
    { PATH: workspace.bin }
  );

const pathOf = (name: string) => join(workspace.path, name);
const textOf = (name: string) => readFileSync(pathOf(name), 'utf8');
const isThere = (name: string) => existsSync(pathOf(name));

async function json(...args: string[]) {
  const { code, stdout } = await init(...args, '--json');
  return { code, ...JSON.parse(stdout) };
}

describe('the consent', () => {
  test('is needed: in a pipe nothing is written without --yes', async () => {
    const { code, stdout, stderr } = await init('claude', '--access', 'read');
    expect(code).toBe(1);
    expect(stdout).toContain('+ ');
    expect(stderr).toContain('nothing was written. Use --yes');
    expect(isThere('.mcp.json')).toBe(false);
    expect(isThere('troupe.config.json')).toBe(false);
  });

  test('does not count in a dry run', async () => {
    const { code, stdout } = await init('claude', '--yes', '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain('agents');
    expect(isThere('.mcp.json')).toBe(false);
  });

  test('is not asked for when there is nothing to write', async () => {
    await init('claude', '--yes');
    const { code, stdout, stderr } = await init('claude');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('troupe is there, and stays as it is');
    expect(stderr).toContain('nothing to do');
  });
});

describe('what is written', () => {
  test('is the entry of the named client, and no other file', async () => {
    const found = await json('claude', '--yes');
    expect(found).toMatchObject({
      code: 0,
      clients: [
        { name: 'claude', change: 'add', problem: null, written: true }
      ],
      access: { change: 'add', written: true },
      first_task: null
    });
    expect(JSON.parse(textOf('.mcp.json'))).toMatchObject({
      mcpServers: { agents: { command: expect.any(String) } }
    });
    expect(isThere('.codex')).toBe(false);
    expect(JSON.parse(textOf('troupe.config.json'))).toEqual({
      maxAccess: 'write'
    });
  });

  test('leaves other entries as they are', async () => {
    const other = '{\n "mcpServers": { "other": {"command": "x"} }\n}';
    workspace.write('.mcp.json', other);
    await init('claude', '--yes');
    const { mcpServers } = JSON.parse(textOf('.mcp.json'));
    expect(Object.keys(mcpServers)).toEqual(['other', 'agents']);
    await init('claude', '--yes', '--remove');
    expect(JSON.parse(textOf('.mcp.json'))).toEqual(JSON.parse(other));
  });

  test('has the ceiling of --access in the configuration', async () => {
    expect(await json('claude', '--yes', '--access', 'write')).toMatchObject({
      code: 0,
      access: { change: 'add', written: true }
    });
    expect(textOf('troupe.config.json')).toContain('"maxAccess": "write"');
  });

  test('without a named client is the entry of each client that is found', async () => {
    workspace.program('codex', '');
    expect(await json('--yes')).toMatchObject({
      code: 0,
      clients: [{ name: 'codex', written: true }]
    });
    expect(isThere('.mcp.json')).toBe(false);
  });

  test('is nothing when no client is found', async () => {
    const { code, stderr } = await init('--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('no client was found: nothing was written');
    expect((await init('--yes', '--json')).code).toBe(1);
  });

  test('is nothing without names and without --yes: the clients are listed', async () => {
    workspace.program('codex', '');
    const { code, stdout } = await init();
    expect(code).toBe(0);
    expect(stdout).toMatch(/codex .* found/);
    expect(stdout).toMatch(/claude .* not found/);
    expect(isThere('.codex')).toBe(false);
  });
});

describe('what is left alone', () => {
  test.each([
    ['{"mcpServers": ', 'a file that is broken'],
    ['[]', 'a file that is no object'],
    ['{"mcpServers": []}', 'a file whose servers are no object']
  ])('%s, %s, stays as it is, and the entry is shown', async (text) => {
    workspace.write('.mcp.json', text);
    const { code, stdout, stderr } = await init('claude', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('put this in by hand:');
    expect(stdout).toContain('"agents"');
    expect(textOf('.mcp.json')).toBe(text);
    expect(await json('claude', '--yes')).toMatchObject({
      code: 1,
      clients: [{ written: false, problem: expect.any(String) }]
    });
  });

  test('a broken file does not keep another client from its entry', async () => {
    workspace.write('.mcp.json', '{');
    expect((await init('claude', 'cursor', '--yes')).code).toBe(1);
    expect(textOf('.cursor/mcp.json')).toContain('agents');
  });

  test('a file that is read-only stays as it is', async () => {
    chmodSync(workspace.write('.mcp.json', '{}'), 0o400);
    const { code, stderr } = await init('claude', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('is read-only');
    expect(textOf('.mcp.json')).toBe('{}');
  });

  test('an entry of this name that starts something else stays, also with --remove', async () => {
    const text = '{"mcpServers": {"agents": {"command": "other"}}}';
    workspace.write('.mcp.json', text);
    const { code, stderr } = await init('claude', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('give it another name');
    expect((await init('claude', '--yes', '--remove')).code).toBe(0);
    expect(textOf('.mcp.json')).toBe(text);
  });
});

describe('--remove', () => {
  test('takes out what init has written, and names what stays', async () => {
    await init('claude', '--yes', '--access', 'read');
    const { code, stderr } = await init('--remove', '--yes');
    expect(code).toBe(0);
    expect(isThere('.mcp.json')).toBe(false);
    expect(stderr).toContain('still here: maxAccess in');
  });

  test('without an entry is done at once', async () => {
    for (const args of [['--remove', '--yes'], ['--remove']]) {
      const { code, stderr } = await init(...args);
      expect(code).toBe(0);
      expect(stderr).toContain('no entry of troupe is there');
    }
  });

  test.each([
    ['--access', 'read'],
    ['--engine', 'claude']
  ])('is refused with %s %s', async (...flags) => {
    expect((await init('--remove', ...flags, '--yes')).code).toBe(1);
  });
});

test('an unknown client or engine is refused before anything is written', async () => {
  const unknown = await init('cladue', 'cursor', '--yes');
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('Did you mean "claude"?');
  const engine = await init('cursor', '--engine', 'no-engine', '--yes');
  expect(engine.code).toBe(1);
  expect(isThere('.cursor')).toBe(false);
});

describe('the trust of the workspace', () => {
  const trust = () =>
    commandHere(workspace, ['trust', '--json', '--workspace', workspace.path]);

  test('is not given to settings that init did not write', async () => {
    workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
    const { stderr } = await init('claude', '--yes', '--access', 'read');
    expect(stderr).toContain('not trusted: 1 setting');
    expect((await trust()).stdout).toContain('maxConcurrent');
    expect(existsSync(join(workspace.home, '.troupe/trust'))).toBe(false);
  });

  test('stays with a workspace whose trusted file init has changed', async () => {
    workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
    const where = ['--workspace', workspace.path];
    const granted = await commandHere(workspace, ['trust', '--yes', ...where]);
    expect(granted.code).toBe(0);
    const { stderr } = await init('claude', '--yes', '--access', 'read');
    expect(stderr).not.toContain('not trusted');
  });
});
