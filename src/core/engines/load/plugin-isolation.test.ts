import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { isStray, refuseExits } from './plugin-isolation.ts';

const { exit } = process;
const load = createRequire(import.meta.url);

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => {
  process.exit = exit;
  workspace.remove();
});

const body = `{
  fail: () => { throw new Error('fail'); },
  later: async () => { await undefined; throw new Error('later'); }
}`;

test.each([
  'plugins',
  'my plugins',
  'my (old) plugins',
  '(old)/plugins',
  'été 한',
  '100%'
])('an error of a plugin in a folder "%s" is known as stray', async (name) => {
  const common = workspace.write(`${name}/a.cjs`, `module.exports = ${body};`);
  const module = workspace.write(`${name}/b.mjs`, `export default ${body};`);
  const importer = workspace.write(
    'import.cjs',
    'module.exports = (address) => import(address);'
  );
  const { default: imported } = await load(importer)(
    pathToFileURL(module).href
  );
  const errors: unknown[] = [];
  for (const plugin of [load(common), imported]) {
    try {
      plugin.fail();
    } catch (error) {
      errors.push(error);
    }
    errors.push(await plugin.later().catch((error: unknown) => error));
  }
  expect(errors.map(isStray)).toEqual([false, false, false, false]);
  refuseExits(dirname(common));
  expect(errors.map(isStray)).toEqual([true, true, true, true]);
  expect(isStray(new Error('of another file'))).toBe(false);
});
