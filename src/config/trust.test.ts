import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig, surveyTrust } from './config.ts';
import type { Flags } from './overrides.ts';
import { grantsOf, leftOutFaults, leftOutLine } from './trust.ts';

let workspace: TempWorkspace;
let environment: Record<string, string>;

beforeEach(() => {
  workspace = createTempWorkspace();
  environment = { HOME: workspace.home };
});

afterEach(() => workspace.remove());

const load = (flags: Flags = {}) =>
  loadConfig({ workspace: workspace.path, ...flags }, environment);

async function leftOut(flags?: Flags): Promise<string[]> {
  const { trust } = await load(flags);
  return trust.leftOut.map(({ setting }) => setting);
}

function configure(value: object): string {
  return workspace.write('troupe.config.json', JSON.stringify(value));
}

/** Grants what the workspace asks for now. */
async function grant(): Promise<void> {
  const flags = { workspace: workspace.path };
  const { asked } = await surveyTrust(flags, environment);
  for (const { digests } of asked)
    grantsOf(workspace.path, environment).add(workspace.path, digests);
}

test('a setting that widens is left out, and the others count', async () => {
  configure({ maxConcurrent: 99, maxDepth: 1, http: { sessions: 999 } });
  const { maxConcurrent, maxDepth, http, trust } = await load();
  expect({ maxConcurrent, maxDepth }).toMatchObject({ maxDepth: 1 });
  expect(maxConcurrent).toBeLessThan(99);
  expect(http.sessions).toBe(32);
  expect(trust).toMatchObject({ isAll: false, hasChanged: false });
  expect(await leftOut()).toEqual(['maxConcurrent', 'http.sessions']);
});

test('a setting that is left out must be valid all the same', async () => {
  configure({ engines: { codex: { command: 7 } } });
  await expect(load()).rejects.toMatchObject({ code: 'config_invalid' });
});

test.each([
  ['a flag', { trust: true }, {}],
  ['TROUPE_TRUST=1', {}, { TROUPE_TRUST: '1' }]
])('%s grants everything', async (_, flags, variables) => {
  configure({ maxConcurrent: 99 });
  Object.assign(environment, variables);
  const { maxConcurrent, trust } = await load(flags);
  expect([maxConcurrent, trust.isAll]).toEqual([99, true]);
});

test.each(['', '0', 'true', 'yes'])(
  'TROUPE_TRUST="%s" grants nothing',
  async (value) => {
    configure({ maxConcurrent: 99 });
    environment.TROUPE_TRUST = value;
    expect(await leftOut()).toEqual(['maxConcurrent']);
  }
);

test('a survey of trust is not answered by the variable', async () => {
  configure({ maxConcurrent: 99 });
  environment.TROUPE_TRUST = '1';
  const flags = { workspace: workspace.path, trust: true };
  const { asked, leftOut: left } = await surveyTrust(flags, environment);
  expect([asked.length, left.length]).toEqual([1, 1]);
});

describe('a grant', () => {
  test('counts for the content that the user saw', async () => {
    configure({ maxConcurrent: 99 });
    await grant();
    const { maxConcurrent, trust } = await load();
    expect(maxConcurrent).toBe(99);
    expect(trust).toMatchObject({ isAll: false, leftOut: [] });
    expect(leftOutLine(trust)).toBeUndefined();
  });

  test('ends when the file changes, which the message says', async () => {
    configure({ maxConcurrent: 99 });
    await grant();
    configure({ maxConcurrent: 98 });
    const { maxConcurrent, trust } = await load();
    expect(maxConcurrent).toBeLessThan(98);
    expect(trust.hasChanged).toBe(true);
    expect(leftOutLine(trust)).toContain('has changed since you trusted it');
    expect(leftOutFaults(trust)).toEqual([
      {
        plugin: 'maxConcurrent',
        problem: expect.stringContaining('it has changed')
      }
    ]);
  });

  test('of code ends when the code changes, and its digest is pinned', async () => {
    const plugin = workspace.write('p.mjs', 'export default {}');
    configure({ plugins: ['./p.mjs'] });
    expect(await leftOut()).toEqual(['plugins']);
    await grant();
    const { trust } = await load();
    expect(Object.keys(trust.pinnedCode)).toContain(plugin);
    workspace.write('p.mjs', 'export default { }');
    expect(await leftOut()).toEqual(['plugins']);
  });

  test('of a limit pins no code', async () => {
    configure({ maxConcurrent: 99 });
    await grant();
    const { trust } = await load();
    expect(trust.pinnedCode).toEqual({});
    expect(trust.pinnedTemplates).toEqual({});
  });

  test('of a template pins it, and no code', async () => {
    const file = workspace.write('run.template', 'x');
    configure({ squad: { runTemplatePath: 'run.template' } });
    await grant();
    const { trust } = await load();
    expect(Object.keys(trust.pinnedTemplates)).toContain(file);
    expect(trust.pinnedCode).toEqual({});
  });
});

describe('a configuration that is code', () => {
  const code = () => {
    const ran = join(workspace.path, 'ran');
    workspace.write(
      'troupe.config.mjs',
      `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(ran)}, '');
      export default { maxConcurrent: 99 };`
    );
    return () => existsSync(ran);
  };

  test('does not run until it is trusted, and then its settings count', async () => {
    const hasRun = code();
    expect(await leftOut()).toEqual(['troupe.config.mjs']);
    expect(hasRun()).toBe(false);
    await grant();
    expect(hasRun()).toBe(false);
    const { maxConcurrent, trust } = await load();
    expect([maxConcurrent, hasRun()]).toEqual([99, true]);
    expect(trust.asked.map(({ setting }) => setting)).toEqual([
      'troupe.config.mjs'
    ]);
  });

  test('does not run when trust is only looked at, even if it is trusted', async () => {
    const hasRun = code();
    await grant();
    const flags = { workspace: workspace.path };
    const { leftOut: left } = await surveyTrust(flags, environment);
    expect([left, hasRun()]).toEqual([[], false]);
  });
});

describe('a file that the user names', () => {
  test('is the own one of the user outside of the workspace', async () => {
    const file = join(workspace.home, 'own.json');
    workspace.write('../home/own.json', '{"maxConcurrent": 99}');
    expect((await load({ config: file })).maxConcurrent).toBe(99);
    expect(await leftOut({ config: file })).toEqual([]);
  });

  test('comes with the workspace inside of it', async () => {
    const file = workspace.write('own.json', '{"maxConcurrent": 99}');
    expect(await leftOut({ config: file })).toEqual(['maxConcurrent']);
  });
});

describe('a role of the workspace', () => {
  const role = (name: string, head: string) =>
    workspace.write(`roles/${name}.md`, `---\n${head}\n---\nDo it.\n`);

  test.each([
    ['access: full', ['roles/own.md']],
    ['access: "f\\u0075ll"', ['roles/own.md']],
    ['access: write', []],
    ['name: full of ideas', []]
  ])('with "%s" needs trust: %j', async (head, settings) => {
    configure({ rolesDirectory: './roles' });
    role('own', head);
    expect(await leftOut()).toEqual(settings);
  });

  test('is trusted by its text', async () => {
    configure({ rolesDirectory: './roles' });
    const path = role('own', 'access: full');
    const text = '---\naccess: full\n---\nDo it.\n';
    expect((await load()).trust.trustsRole(path, text)).toBe(false);
    await grant();
    const { trustsRole } = (await load()).trust;
    expect(trustsRole(path, text)).toBe(true);
    expect(trustsRole(path, `${text} `)).toBe(false);
    expect(trustsRole(`${path}2`, text)).toBe(false);
  });

  test('is trusted without a grant where everything is granted', async () => {
    const path = role('own', 'access: full');
    const { trustsRole } = (await load({ trust: true })).trust;
    expect(trustsRole(path, 'any text')).toBe(true);
  });
});

test('the message names at most twelve settings, and counts the rest', async () => {
  const engines = Object.fromEntries(
    Array.from({ length: 14 }, (_, index) => [`e${index}`, { command: 'x' }])
  );
  configure({ engines });
  const line = leftOutLine((await load()).trust) ?? '';
  expect(line).toContain('engines.e11.command, 2 more');
  expect(line).not.toContain('engines.e12.command');
  expect(line).toContain('run: troupe trust');
});

test('no grant is read or written for a record inside the workspace', () => {
  const inside = { ...environment, TROUPE_HOME: workspace.path };
  expect(() => grantsOf(workspace.path, inside)).toThrow(
    expect.objectContaining({ code: 'config_invalid' })
  );
});
