import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  blocksOf,
  documentAt,
  packageRoot
} from '../../kit/judges/documents.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import { installOurs } from '../../kit/workspaces/npm-package.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeAll(() => {
  workspace = createTempWorkspace();
  installOurs(workspace);
  workspace.write('engine.mjs', engine('() => ["a-z", "A-Z"]'));
  workspace.write('wrong.mjs', engine('({ prompt }) => [prompt]'));
  for (const name of ['engine', 'wrong'])
    workspace.write(
      `${name}.test.mjs`,
      `import { describeEngine } from 'troupe/testing';
       import engine from './${name}.mjs';
       describeEngine(engine, [{ case: 'success', stdout: 'HELLO\\n',
         expected: { status: 'completed', text: 'HELLO' } }]);`
    );
});

afterAll(() => workspace.remove());

function engine(args: string): string {
  return `export default { kind: 'cli', name: 'shout', description: 'x',
    command: 'tr', args: ${args} };`;
}

function run(program: string, args: string[]) {
  return spawnSync(program, args, {
    cwd: workspace.path,
    env: testEnvironment(workspace),
    encoding: 'utf8'
  });
}

function runTests(file: string) {
  const { status, stdout, stderr } = run(process.execPath, [
    '--test',
    '--test-reporter=tap',
    file
  ]);
  return { status, said: `${stdout}${stderr}` };
}

test('a project that installed the package tests its engine with node:test', () => {
  const { status, said } = runTests('engine.test.mjs');
  expect(said).toContain('# fail 0');
  expect(Number(/^# pass (\d+)$/m.exec(said)?.[1])).toBeGreaterThan(15);
  expect(said).toContain('the engine shout');
  expect(status).toBe(0);
});

test('the example of plugins/README.md passes for the engine it shows', () => {
  const blocks = blocksOf(documentAt('plugins/README.md'), 'js');
  const holding = (text: string) =>
    blocks.find((block) => block.includes(text)) ?? '';
  workspace.write('engine.mjs', holding("name: 'my-agent'"));
  workspace.write('page.test.mjs', holding('describeEngine('));
  const { status, said } = runTests('page.test.mjs');
  expect(said).toContain('# fail 0');
  expect(said).toContain('not logged in');
  expect(status).toBe(0);
});

test('the same test runs in vitest, which has its globals switched off', () => {
  const modules = join('node_modules', 'vitest');
  symlinkSync(join(packageRoot, modules), join(workspace.path, modules));
  workspace.write(
    'tests/engine.test.mjs',
    `import { describe, it } from 'vitest';
     import { describeEngine } from 'troupe/testing';
     import engine from '../engine.mjs';
     describeEngine(engine, [], { describe, it });`
  );
  const vitest = join(packageRoot, modules, 'vitest.mjs');
  const flags = ['run', '--reporter=tap', 'tests/'];
  const { status, stdout } = run(process.execPath, [vitest, ...flags]);
  expect(stdout).toContain('ok 1 - is an engine that the host loads');
  expect(stdout).not.toContain('not ok');
  expect(status).toBe(0);
});

test('the API engine of plugins/README.md passes with what a server answers', () => {
  const [, , , engine = ''] = blocksOf(
    documentAt('plugins/README.md'),
    'js'
  ).filter((block) => block.includes('export default'));
  workspace.write('house-model.mjs', engine);
  const body = [
    { choices: [{ delta: { content: 'Hi.' } }] },
    { choices: [{ delta: {}, finish_reason: 'stop' }] }
  ].map((part) => `data: ${JSON.stringify(part)}\n\n`);
  workspace.write(
    'house-model.test.mjs',
    `import { describeEngine } from 'troupe/testing';
     import engine from './house-model.mjs';
     describeEngine(engine, [{ case: 'success',
       response: { body: ${JSON.stringify(body.join(''))} },
       expected: { status: 'completed', text: 'Hi.' } }]);`
  );
  const { status, said } = runTests('house-model.test.mjs');
  expect(said).toContain('# fail 0');
  expect(said).toContain('the engine house-model');
  expect(status).toBe(0);
});

test('the installed package runs the first engine of the page', () => {
  const page = documentAt('plugins/README.md');
  const [engine = ''] = blocksOf(page, 'js');
  const [config = ''] = blocksOf(page, 'json');
  workspace.write('engines/shout.mjs', engine);
  workspace.write('troupe.config.json', config);
  const troupe = join(workspace.path, 'node_modules/troupe/dist/troupe.cjs');
  const words = ['run', 'shout', 'hello there'];
  const { status, stdout } = run(process.execPath, [troupe, ...words]);
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'HELLO THERE\n' });
});

test('an engine that does wrong fails there, and says by what', () => {
  const { status, said } = runTests('wrong.test.mjs');
  expect(said).toContain('it belongs into stdin');
  expect(status).toBe(1);
});

test('the tests of the package need no test framework', () => {
  const dist = join(workspace.path, 'node_modules/troupe/dist');
  expect(readdirSync(dist)).toContain('testing.js');
  const bundle = readFileSync(join(dist, 'testing.js'), 'utf8');
  expect(bundle).not.toMatch(/from\s*["']vitest["']/);
});
