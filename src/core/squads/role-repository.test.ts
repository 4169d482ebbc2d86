import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import {
  describeFault,
  type RoleFault,
  RoleRepository
} from './role-repository.ts';

let workspace: TempWorkspace;
let roles: RoleRepository;
/** Faults in the order in which they were reported. */
let reported: RoleFault[];

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('package/architect.md', role('Architect', 'You decide.'));
  workspace.write('package/tester.md', role('Tester', 'You test.'));
  reported = [];
  roles = repository('agents');
});

afterEach(() => workspace.remove());

const at = (name: string) => join(workspace.path, name);

function repository(own: string): RoleRepository {
  return new RoleRepository(
    { builtin: at('package'), own: at(own), within: workspace.path },
    (fault) => reported.push(fault)
  );
}

function role(name: string, body: string): string {
  return `---\nname: ${name}\ndescription: What ${name} does.\n---\n${body}\n`;
}

const broken = '---\nname: a: b\n---\nYou test.\n';

async function ids(from = roles): Promise<string[]> {
  return (await from.all()).roles.map(({ id }) => id);
}

async function bodyOf(id: string): Promise<string | undefined> {
  return (await roles.all()).roles.find((role) => role.id === id)?.body;
}

async function faults(): Promise<string[]> {
  return (await roles.all()).faults.map(
    ({ id, problem }) => `${id}: ${problem}`
  );
}

test('the roles of the package and of the workspace are sorted by id', async () => {
  workspace.write('agents/zoologist.md', 'You know animals.');
  workspace.write('agents/baker.md', role('Baker', 'You bake.'));
  const { roles: found, faults } = await roles.all();
  expect(found.map(({ id, from, name }) => [id, from, name])).toEqual([
    ['architect', 'built-in', 'Architect'],
    ['baker', 'workspace', 'Baker'],
    ['tester', 'built-in', 'Tester'],
    ['zoologist', 'workspace', 'zoologist']
  ]);
  expect(found[1]).toEqual({
    id: 'baker',
    name: 'Baker',
    description: 'What Baker does.',
    body: 'You bake.',
    path: at('agents/baker.md'),
    from: 'workspace',
    replacesBuiltIn: false
  });
  expect(faults).toEqual([]);
});

test('a role of the workspace overrides the built-in one', async () => {
  workspace.write('agents/tester.md', role('Our tester', 'You test ours.'));
  const { roles: found } = await roles.all();
  expect(found.map(({ id }) => id)).toEqual(['architect', 'tester']);
  expect(found[1]).toMatchObject({
    name: 'Our tester',
    body: 'You test ours.',
    from: 'workspace',
    replacesBuiltIn: true,
    path: at('agents/tester.md')
  });
  rmSync(at('agents/tester.md'));
  expect(await bodyOf('tester')).toBe('You test.');
});

test('a broken file hides only itself and the built-in role that it overrides', async () => {
  workspace.write('agents/tester.md', broken);
  workspace.write('agents/baker.md', role('Baker', 'You bake.'));
  const list = await roles.all();
  expect(list.roles.map(({ id }) => id)).toEqual(['architect', 'baker']);
  expect(list.faults).toEqual([
    {
      id: 'tester',
      path: at('agents/tester.md'),
      problem: expect.stringMatching(
        /^Nested .* line 2, column 7; .* in quotes$/
      ),
      from: 'workspace',
      replacesBuiltIn: true
    }
  ]);
  const [fault] = list.faults;
  expect(fault && describeFault(fault)).toMatch(
    /agents\/tester\.md cannot be used: .* in quotes\. The built-in role "tester" does not take its place\.$/
  );
});

test('another directory replaces the default one', async () => {
  workspace.write('agents/baker.md', 'You bake.');
  workspace.write('team/roles/cook.md', 'You cook.');
  expect(await ids(repository('team/roles'))).toEqual([
    'architect',
    'cook',
    'tester'
  ]);
});

test('if both directories are the same, each role is listed once, as built-in', async () => {
  const { roles: found } = await repository('package').all();
  expect(
    found.map(({ id, from, replacesBuiltIn }) => [id, from, replacesBuiltIn])
  ).toEqual([
    ['architect', 'built-in', false],
    ['tester', 'built-in', false]
  ]);
});

test('a missing directory has no roles', async () => {
  expect(await ids()).toEqual(['architect', 'tester']);
  expect(reported).toEqual([]);
});

test.each([
  [
    'a file',
    () => workspace.write('agents', 'no directory'),
    'is not a directory'
  ],
  [
    'a pipe',
    () => execFileSync('mkfifo', [at('agents')]),
    'is not a directory'
  ],
  [
    'a link to itself',
    () => symlinkSync(at('agents'), at('agents')),
    'in a circle'
  ]
])(
  '%s in place of the directory is reported once and hides no built-in role',
  async (_, put, words) => {
    put();
    expect(await ids()).toEqual(['architect', 'tester']);
    expect(await ids()).toEqual(['architect', 'tester']);
    const [one = '', ...more] = reported.map(describeFault);
    expect(one).toContain(`${at('agents')}: it`);
    expect(one).toContain(words);
    expect(more).toEqual([]);
    rmSync(at('agents'));
    workspace.write('agents/baker.md', role('Baker', 'You bake.'));
    expect(await ids()).toEqual(['architect', 'baker', 'tester']);
  }
);

test('README.md, hidden files, other names and subfolders are no roles', async () => {
  for (const name of ['README.md', 'readme.md', '.hidden.md', '.md', '._x.md'])
    workspace.write(`agents/${name}`, broken);
  for (const name of [
    'notes.txt',
    'x.md.bak',
    'x.md~',
    'deep/inner.md',
    'y.mdx'
  ])
    workspace.write(`agents/${name}`, broken);
  expect(await ids()).toEqual(['architect', 'tester']);
  expect(reported).toEqual([]);
});

test('an id may be any file name that is not a flag', async () => {
  const names = ['Größe 1', '役割', 'a.b', '🎭', '$(x)'];
  for (const name of names) workspace.write(`agents/${name}.md`, 'You test.');
  workspace.write('agents/--flag.md', 'You test.');
  expect(await ids()).toEqual(
    ['architect', 'tester', ...names].sort((a, b) => (a < b ? -1 : 1))
  );
  expect(await faults()).toEqual(['--flag: its name begins with "-"']);
});

test('an unreadable file is a fault, and the rest load', async () => {
  mkdirSync(at('agents/folder.md'), { recursive: true });
  symlinkSync(at('nowhere'), at('agents/dangling.md'));
  symlinkSync('loop.md', at('agents/loop.md'));
  execFileSync('mkfifo', [at('agents/pipe.md')]);
  symlinkSync('/dev/zero', at('agents/endless.md'));
  workspace.write('agents/large.md', 'x');
  truncateSync(at('agents/large.md'), 3_000_000_000);
  expect(await faults()).toEqual([
    'dangling: it is a link that leads nowhere',
    'endless: it is not a regular file',
    'folder: it is not a regular file',
    'large: it is larger than 1000000 bytes',
    'loop: it cannot be read (ELOOP)',
    'pipe: it is not a regular file'
  ]);
  expect(await ids()).toEqual(['architect', 'tester']);
  expect(reported).toHaveLength(6);
});

test('a file without read permission is a fault until it has it', async () => {
  const file = workspace.write('agents/secret.md', 'You know.');
  const everyone = [dirname(workspace.path), workspace.path];
  for (const directory of everyone) chmodSync(directory, 0o755);
  chmodSync(file, 0);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.('nobody');
  try {
    expect(await faults()).toEqual(['secret: it cannot be read (EACCES)']);
    expect(await faults()).toHaveLength(1);
  } finally {
    if (isRoot) process.seteuid?.('root');
  }
  chmodSync(file, 0o644);
  expect(await bodyOf('secret')).toBe('You know.');
  expect(reported.map(({ id }) => id)).toEqual(['secret']);
});

test('a role that is a link out of the workspace is a fault and is not read', async () => {
  const secret = join(workspace.home, 'secret.md');
  writeFileSync(secret, 'Words of the user.');
  mkdirSync(at('agents'));
  symlinkSync(secret, at('agents/linked.md'));
  expect(await faults()).toEqual([
    'linked: it is a link that leads outside the workspace'
  ]);
});

test('a directory of roles that is a link out of the workspace is not listed', async () => {
  writeFileSync(join(workspace.home, 'private.md'), 'Words of the user.');
  symlinkSync(workspace.home, at('agents'));
  await expect(roles.all()).rejects.toMatchObject({
    code: 'config_invalid',
    message: `The roles in ${at('agents')} are not read: it is a link that leads outside the workspace.`
  });
});

test('a link to a file of the workspace is followed', async () => {
  const target = workspace.write('elsewhere/brief.txt', 'One.');
  mkdirSync(at('agents'));
  symlinkSync(target, at('agents/linked.md'));
  expect(await bodyOf('linked')).toBe('One.');
  writeFileSync(target, 'Two.');
  expect(await bodyOf('linked')).toBe('Two.');
});
