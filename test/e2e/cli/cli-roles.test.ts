import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import {
  type CommandOptions,
  runCommand
} from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const troupe = (args: string[], options?: CommandOptions) =>
  runCommand(workspace, args, options);

const broken = '---\nname: a: b\n---\nYou test.\n';

/** The line of a table that is about this id. */
function lineOf(stdout: string, id: string): string {
  return stdout.split('\n').find((line) => line.startsWith(`${id} `)) ?? '';
}

test('roles lists them with what their files settle', async () => {
  workspace.write(
    'agents/baker.md',
    '---\nname: Master baker\ndescription: |\n  Bakes,\n  and \u001b[31mcools.\naccess: write\nengine: codex\nmodel: 4.10\n---\nYou bake.\n'
  );
  workspace.write('agents/architect.md', 'You decide.\n');
  const { code, stdout, stderr } = await troupe(['roles']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^ID +FROM +SETS +GOOD FOR\n/);
  expect(lineOf(stdout, 'baker')).toMatch(
    /^baker +workspace +access write, engine codex, model 4\.10 +Master baker: Bakes, and cools\.$/
  );
  expect(lineOf(stdout, 'architect')).toMatch(/^architect +replaces built-in$/);
  expect(lineOf(stdout, 'second-opinion')).toMatch(
    /^second-opinion +built-in +access read +Independent judgement .*\.$/
  );
  expect(stdout).not.toContain('\u001b');
  expect(stdout.trimEnd().split('\n').length).toBeGreaterThan(25);
});

test('roles --json has stable keys', async () => {
  const path = workspace.write('agents/baker.md', 'You bake.\n');
  const fault = workspace.write('agents/tester.md', broken);
  const { code, stdout } = await troupe(['roles', '--json']);
  expect(code).toBe(1);
  const { roles, faults, ...rest } = JSON.parse(stdout);
  expect(rest).toEqual({});
  expect(roles.find(({ id }: { id: string }) => id === 'baker')).toEqual({
    id: 'baker',
    name: 'baker',
    description: '',
    from: 'workspace',
    replaces_builtin: false,
    access: null,
    engine: null,
    model: null,
    path
  });
  expect(faults).toEqual([
    { id: 'tester', path: fault, problem: expect.stringContaining('line 2') }
  ]);
});

test('a file at fault is reported once on stderr, the rest are listed', async () => {
  const path = workspace.write('agents/architect.md', broken);
  const { code, stdout, stderr } = await troupe(['roles']);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^troupe: The role .+ cannot be used: Nested .* column 7; .* in quotes\. The built-in role "architect" does not take its place\.\n$/
  );
  expect(stderr).toContain(path);
  expect(lineOf(stdout, 'architect')).toBe('');
  expect(lineOf(stdout, 'backend-developer')).toContain('built-in');
});

test('roles ID prints the brief as a member gets it, byte for byte', async () => {
  workspace.write(
    'agents/baker.md',
    '\uFEFF---\r\nname: x\r\n---\r\n\r\n  You "bake" $(x).\r\n\r\n---\r\nEnd \u001b[1m.\r\n\r\n'
  );
  expect(await troupe(['roles', 'baker'])).toEqual({
    code: 0,
    stdout: 'You "bake" $(x).\r\n\r\n---\r\nEnd \u001b[1m.\n',
    stderr: ''
  });
  const { stdout } = await troupe(['roles', 'debugger']);
  const file = readFileSync(join(packageRoot, 'agents/debugger.md'), 'utf8');
  expect(file.endsWith(`---\n\n${stdout}`)).toBe(true);
});

test('roles ID --json has the facts and the brief', async () => {
  const { code, stdout } = await troupe(['roles', 'second-opinion', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    id: 'second-opinion',
    from: 'built-in',
    access: 'read',
    body: expect.stringMatching(/^A person is about .*\S$/s)
  });
});

test('an id that is not there or at fault gives exit code 1 and says why', async () => {
  const nobody = await troupe(['roles', 'nobody']);
  expect(nobody).toEqual({
    code: 1,
    stdout: '',
    stderr: 'troupe: There is no role "nobody". See: troupe roles\n'
  });
  const path = workspace.write('agents/tester.md', broken);
  const faulty = await troupe(['roles', 'tester', '--json']);
  expect(faulty.code).toBe(1);
  expect(faulty.stderr.match(/cannot be used/g)).toHaveLength(1);
  expect(JSON.parse(faulty.stdout)).toEqual({
    id: 'tester',
    path,
    problem: expect.stringContaining('line 2, column 7')
  });
  const other = await troupe(['roles', 'debugger']);
  expect(other.code).toBe(0);
});

test.each([
  ['a flag', ['--agents-directory-path', 'team/roles'], {}],
  ['a variable', [], { AGENTS_DIRECTORY_PATH: 'team/roles' }]
])('%s names another directory of roles', async (_, flags, env) => {
  workspace.write('agents/baker.md', 'You bake.\n');
  const missing = await troupe(['roles', ...flags], { env });
  expect(missing).toMatchObject({ code: 1, stdout: '' });
  expect(missing.stderr).toContain(join(workspace.path, 'team/roles'));
  workspace.write('team/roles/cook.md', 'You cook.\n');
  const { code, stdout } = await troupe(['roles', ...flags], { env });
  expect(code).toBe(0);
  expect(lineOf(stdout, 'cook')).toContain('workspace');
  expect(lineOf(stdout, 'baker')).toBe('');
});

test('doctor names roles and templates at fault, and exits 1', async () => {
  const path = workspace.write('agents/tester.md', broken);
  const env = { PATH: workspace.bin };
  const { code, stdout } = await troupe(['doctor', '--json'], { env });
  expect(code).toBe(1);
  const { ok, squads, next } = JSON.parse(stdout);
  expect({ ok, squads }).toEqual({
    ok: false,
    squads: [
      expect.stringMatching(new RegExp(`${path} .* Correct that file\\.$`))
    ]
  });
  expect(next[0]).toBe(squads[0]);
  const text = await troupe(['doctor'], { env });
  expect(text.stdout).toMatch(/^ {2}squads +at fault$/m);
  expect(text.stdout).toContain(`1. The role ${path} cannot be used`);
  const lost = { ...env, RUN_TEMPLATE_PATH: 'lost.template' };
  const other = await troupe(['doctor', '--json'], { env: lost });
  expect(JSON.parse(other.stdout).squads).toEqual([
    expect.stringContaining('lost.template, and there is no such file'),
    squads[0]
  ]);
});

test.each([
  ['run.template', 'agent | jq .', '"|" outside quotes'],
  ['run.template', 'agent <%= promt %>', 'promt is not defined'],
  ['chat.template', 'agent create-chat > chat', '">" outside quotes']
])(
  'doctor reports what is wrong in %s before a squad needs it',
  async (name, text, problem) => {
    workspace.write('run.template', 'agent');
    workspace.write('chat.template', 'agent create-chat');
    const path = workspace.write(name, text);
    const squad = {
      stateMode: 'stateful',
      runTemplatePath: 'run.template',
      createChatTemplatePath: 'chat.template'
    };
    workspace.write('troupe.config.json', JSON.stringify({ squad }));
    const { code, stdout } = await troupe(['doctor', '--json']);
    expect(code).toBe(1);
    const { squads } = JSON.parse(stdout);
    expect(squads).toEqual([expect.stringContaining(problem)]);
    expect(squads[0]).toContain(path);
  }
);
