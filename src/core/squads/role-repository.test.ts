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
} from '../../testing/temp-workspace.ts';
import {
  describeFault,
  type RoleFault,
  RoleRepository
} from './role-repository.ts';

let workspace: TempWorkspace;
let roles: RoleRepository;
/** Faults in the order in which they were told. */
let told: RoleFault[];

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('package/architect.md', role('Architect', 'You decide.'));
  workspace.write('package/tester.md', role('Tester', 'You test.'));
  told = [];
  roles = repository('agents');
});

afterEach(() => workspace.remove());

const at = (name: string) => join(workspace.path, name);

function repository(own: string): RoleRepository {
  return new RoleRepository(
    { builtin: at('package'), own: at(own), within: workspace.path },
    (fault) => told.push(fault)
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

test('the roles of the package and of the workspace come by id', async () => {
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

test('a role of the workspace takes the place of the built-in one', async () => {
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

test('a broken file hides itself only, and the built-in role it replaces', async () => {
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

test('another directory takes the place of the workspace’s', async () => {
  workspace.write('agents/baker.md', 'You bake.');
  workspace.write('team/roles/cook.md', 'You cook.');
  expect(await ids(repository('team/roles'))).toEqual([
    'architect',
    'cook',
    'tester'
  ]);
});

test('where both directories are one, each role is there once, as built in', async () => {
  const { roles: found } = await repository('package').all();
  expect(
    found.map(({ id, from, replacesBuiltIn }) => [id, from, replacesBuiltIn])
  ).toEqual([
    ['architect', 'built-in', false],
    ['tester', 'built-in', false]
  ]);
});

test('a directory that is not there, or is a file, has no roles', async () => {
  expect(await ids()).toEqual(['architect', 'tester']);
  workspace.write('agents', 'not a directory');
  expect(await ids()).toEqual(['architect', 'tester']);
});

test('a directory that cannot be read is an error: it might replace any role', async () => {
  symlinkSync(at('agents'), at('agents'));
  await expect(roles.all()).rejects.toMatchObject({
    code: 'config_invalid',
    message: `The roles in ${at('agents')} cannot be read (ELOOP).`
  });
});

test('README.md, hidden files, other names and folders within are no roles', async () => {
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
  expect(told).toEqual([]);
});

test('an id may be any name of a file that is no flag', async () => {
  const names = ['Größe 1', '役割', 'a.b', '🎭', '$(x)'];
  for (const name of names) workspace.write(`agents/${name}.md`, 'You test.');
  workspace.write('agents/--flag.md', 'You test.');
  expect(await ids()).toEqual(
    ['architect', 'tester', ...names].sort((a, b) => (a < b ? -1 : 1))
  );
  expect(await faults()).toEqual(['--flag: its name begins with "-"']);
});

test('what is no file that can be read is a fault, and the others load', async () => {
  mkdirSync(at('agents/folder.md'), { recursive: true });
  symlinkSync(at('nowhere'), at('agents/dangling.md'));
  symlinkSync('loop.md', at('agents/loop.md'));
  execFileSync('mkfifo', [at('agents/pipe.md')]);
  symlinkSync('/dev/zero', at('agents/endless.md'));
  workspace.write('agents/large.md', 'x');
  truncateSync(at('agents/large.md'), 3_000_000_000);
  expect(await faults()).toEqual([
    'dangling: it is a link that leads nowhere',
    'endless: it is no regular file',
    'folder: it is no regular file',
    'large: it is larger than 1000000 bytes',
    'loop: it cannot be read (ELOOP)',
    'pipe: it is no regular file'
  ]);
  expect(await ids()).toEqual(['architect', 'tester']);
  expect(told).toHaveLength(6);
});

test('a file that may not be read is a fault until it may', async () => {
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
  expect(told.map(({ id }) => id)).toEqual(['secret']);
});

test('a role that is a link out of the workspace is a fault, and its words stay there', async () => {
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

test('a link to a file of the workspace is that file', async () => {
  const target = workspace.write('elsewhere/brief.txt', 'One.');
  mkdirSync(at('agents'));
  symlinkSync(target, at('agents/linked.md'));
  expect(await bodyOf('linked')).toBe('One.');
  writeFileSync(target, 'Two.');
  expect(await bodyOf('linked')).toBe('Two.');
});
