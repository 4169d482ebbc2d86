import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { ceilingIn, planAccess } from './access-plan.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  vi.stubEnv('HOME', workspace.home);
  vi.stubEnv('TROUPE_HOME', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  workspace.remove();
});

const plan = (level: 'read' | 'write' | 'full') =>
  planAccess(workspace.path, level);

async function textFor(level: 'read' | 'write' | 'full') {
  const { edit } = (await plan(level)) ?? {};
  return edit && 'change' in edit ? edit.text : undefined;
}

test('without a configuration, each ceiling makes one, so that full stays chosen', async () => {
  const file = join(workspace.path, 'troupe.config.json');
  expect(await plan('read')).toMatchObject({ file, before: undefined });
  expect(await textFor('read')).toBe('{\n  "maxAccess": "read"\n}\n');
  expect(await textFor('full')).toBe('{\n  "maxAccess": "full"\n}\n');
});

test('a ceiling that applies already is not planned', async () => {
  workspace.write('troupe.config.json', '{"maxAccess": "write"}');
  expect(await plan('write')).toBeUndefined();
  expect(await textFor('full')).toBe('{"maxAccess": "full"}');
  const { ceiling } = await ceilingIn(workspace.path);
  expect(ceiling).toBe('write');
});

test('the rest of the configuration stays as it is, with its byte order mark', async () => {
  const text = '\uFEFF{\n\n  "toolsets": ["spawn"]\n}\n';
  workspace.write('.trouperc.json', text);
  const changed = await textFor('read');
  expect(changed).toMatch(/^\uFEFF\{\n\n {2}"toolsets"/);
  expect(changed).toContain('"maxAccess": "read"');
});

test('in package.json the ceiling goes into the part of troupe', async () => {
  workspace.write('package.json', '{"name": "x", "troupe": {}}');
  expect(JSON.parse((await textFor('read')) ?? '')).toEqual({
    name: 'x',
    troupe: { maxAccess: 'read' }
  });
});

test('a configuration that cannot be changed is left to the user', async () => {
  const file = workspace.write('troupe.config.json', '{"toolsets": []}');
  chmodSync(file, 0o400);
  const found = await plan('read');
  expect(found?.edit).toEqual({
    problem: 'is read-only',
    entry: '"maxAccess": "read"\n'
  });
  chmodSync(file, 0o600);
  expect((await plan('read'))?.edit).toHaveProperty('change');
});

test('a configuration that is code is not run, and left to the user', async () => {
  const file = workspace.write(
    'troupe.config.mjs',
    `import { writeFileSync } from 'node:fs';
    writeFileSync(${JSON.stringify(join(workspace.path, 'ran'))}, '');
    export default { maxAccess: 'read' };`
  );
  expect(await ceilingIn(workspace.path)).toEqual({ file });
  const found = await plan('read');
  expect(found).toMatchObject({ file, edit: { problem: 'is no JSON' } });
});

test.each(['[]', '{"maxAccess": ', '"x"'])(
  'the broken configuration %s is not replaced',
  async (text) => {
    workspace.write('troupe.config.json', text);
    const planned = await plan('read').catch((error: Error) => error);
    if (!(planned instanceof Error))
      expect(planned?.edit).toHaveProperty('problem');
  }
);
