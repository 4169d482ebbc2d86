import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of the files that git knows or would take, and that are there. */
export function trackedFiles(root) {
  const options = ['ls-files', '--cached', '--others', '--exclude-standard'];
  return execFileSync('git', ['-C', root, ...options, '-z'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28
  })
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)));
}
