import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { endAllIn } from './end-all-in.ts';

/**
 * Each test file has a TMPDIR of its own. At its end, whether a test failed or
 * not, what was started in it is killed, and it is removed. A user's path may
 * hold a blank and any letter, and lie in a repository: this one does. Where
 * root keeps its TMPDIR to itself, they are in `/tmp`: a test that gives up its
 * rights needs them.
 */
const { TEST_DIRECTORY = 'troupe-' } = process.env;
const outside = process.env.TMPDIR;
const usual = realpathSync(tmpdir());
const isShut = process.getuid?.() === 0 && !mayPass(usual);
const directory = mkdtempSync(
  join(isShut ? realpathSync('/tmp') : usual, TEST_DIRECTORY)
);
// Some tests give up their rights, and still need to get here.
chmodSync(directory, 0o755);
const repository = join(directory, '.git');
for (const name of ['objects', 'refs'])
  mkdirSync(join(repository, name), { recursive: true });
writeFileSync(join(repository, 'HEAD'), 'ref: refs/heads/main\n');
process.env.TMPDIR = directory;
// Git must not find that repository, but everything below it.
process.env.GIT_CEILING_DIRECTORIES = directory;

afterAll(async () => {
  await endAllIn(directory);
  if (outside === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = outside;
});

/** Whether every user may pass through a folder and those above it. */
function mayPass(folder: string): boolean {
  const above = dirname(folder);
  const isOpen = (statSync(folder).mode & 0o001) !== 0;
  return isOpen && (above === folder || mayPass(above));
}
