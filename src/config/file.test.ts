import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { faultOf } from '../../test/kit/workspaces/config-fault.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { readConfigFile } from './file.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

test('of several files, the first in the documented order is used', async () => {
  const names = ['.trouperc.yaml', '.config/trouperc.json'];
  const [first] = [...names, 'troupe.config.json'].map((name, at) =>
    workspace.write(name, `{"maxDepth": ${at + 3}}`)
  );
  expect(await found()).toMatchObject({
    file: first,
    value: { maxDepth: 3 }
  });
});

test.each([
  ['by the billion', `${doubled(40)}plugins: *a40\n`],
  ['within themselves', 'plugins: &a [*a]\n']
])('YAML that repeats its values %s is refused', async (_, text) => {
  workspace.write('.trouperc.yaml', text);
  await expect(found()).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('more than 100000 objects and lists')
  });
});

function doubled(times: number): string {
  const lists = Array.from(
    { length: times },
    (_, at) => `  - &a${at + 1} [*a${at}, *a${at}]\n`
  );
  return `engines:\n  - &a0 [x]\n${lists.join('')}`;
}

/** Things that may be in place of a configuration file. */
const unreadable: [
  what: string,
  put: (file: string) => void,
  reason: string
][] = [
  [
    'a link that leads nowhere',
    (file) => symlinkSync('gone.json', file),
    'it is a link that leads nowhere'
  ],
  [
    'a link that leads to itself',
    (file) => symlinkSync(file, file),
    'it is a link that leads nowhere'
  ],
  ['a directory', (file) => mkdirSync(file), 'it is not a regular file'],
  [
    'a pipe',
    (file) => execFileSync('mkfifo', [file]),
    'it is not a regular file'
  ],
  [
    'a file of which we may know only the name',
    (file) => writeFileSync(file, '', { mode: 0 }),
    'its permissions keep it from being read (EACCES)'
  ]
];

describe.each(['troupe.config.json', '.trouperc', '.config/trouperc.yaml'])(
  'where %s should be,',
  (name) => {
    test.each(unreadable)(
      '%s is an error and does not cause the defaults',
      async (_, put, reason) => {
        const file = join(workspace.path, name);
        mkdirSync(dirname(file), { recursive: true });
        put(file);
        const fault = await asOtherUser(() => faultOf(found()));
        expect(fault).toContain(
          `The configuration in ${file} cannot be read: ${reason}`
        );
      }
    );
  }
);

test('a link to a configuration is followed', async () => {
  const file = workspace.write('shared/troupe.json', '{"maxDepth": 3}');
  symlinkSync(file, join(workspace.path, 'troupe.config.json'));
  expect(await found()).toMatchObject({ value: { maxDepth: 3 } });
});

test.each(unreadable.slice(0, -1))(
  'a package.json that is %s configures nothing',
  async (_, put) => {
    put(join(workspace.path, 'package.json'));
    expect(await found()).toMatchObject({ file: undefined, value: {} });
  }
);

test('an unreadable package.json stops the start', async () => {
  const file = workspace.write('package.json', '{"troupe": {}}');
  chmodSync(file, 0);
  const fault = await asOtherUser(() => faultOf(found()));
  expect(fault).toContain(file);
});

test.each(unreadable.filter(([what]) => what !== 'a pipe'))(
  'a named file that is %s stops the start with an error that names it',
  async (_, put, reason) => {
    const file = join(workspace.path, 'x.json');
    put(file);
    const named = () => readConfigFile(workspace.path, file);
    const fault = await asOtherUser(() => faultOf(named()));
    expect(fault).toContain(`${file} cannot be read: ${reason}`);
  }
);

test('a named file may be a pipe of the shell', async () => {
  const file = join(workspace.path, 'pipe');
  execFileSync('mkfifo', [file]);
  const writer = spawn('sh', ['-c', 'echo "maxDepth: 3" > "$0"', file]);
  expect(await readConfigFile(workspace.path, file)).toMatchObject({
    file,
    value: { maxDepth: 3 }
  });
  await once(writer, 'exit');
});

function found() {
  return readConfigFile(workspace.path, undefined);
}

/** Runs as another user, because root may read every file. */
async function asOtherUser<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.getuid?.() === 0;
  const everyone = [dirname(workspace.path), workspace.path];
  for (const directory of everyone) chmodSync(directory, 0o755);
  if (isRoot) process.seteuid?.('nobody');
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.('root');
  }
}
