import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { judges } from '../../scripts/engine-versions.mjs';
import { needing } from '../kit/workspaces/needs.ts';

const root = join(import.meta.dirname, '../..');
const modules = join(root, '.cache', 'judges', 'node_modules');
const node = join(modules, judges.node.package, 'bin', 'node');

const programs = {
  conformance: join(modules, judges.conformance.package, 'dist', 'index.js'),
  inspector: join(modules, '.bin', 'inspector')
};

export interface Verdict {
  code: number;
  stdout: string;
  stderr: string;
}

/** `test`, for where scripts/test-engines.mjs has installed one. */
export function testWith(judge: keyof typeof programs) {
  const { platform, arch } = process;
  const isForUs = judges.node.package.endsWith(`-${platform}-${arch}`);
  const isThere = existsSync(programs[judge]) && existsSync(node);
  return isForUs
    ? needing(`the package ${judges[judge].package}`, isThere)
    : (title: string, body: () => Promise<void>) =>
        test.skip(`${title} (on linux)`, body);
}

/** Runs one, on the Node that it needs. */
export function askJudge(
  judge: keyof typeof programs,
  args: string[],
  { cwd, home }: { cwd: string; home: string }
): Promise<Verdict> {
  return new Promise((resolve) => {
    execFile(
      node,
      [programs[judge], ...args],
      {
        cwd,
        env: { PATH: `${join(node, '..')}:/usr/bin:/bin`, HOME: home },
        maxBuffer: 64 * 1024 * 1024,
        timeout: 100_000
      },
      (error, stdout, stderr) =>
        resolve({
          code: Number(error?.code ?? (error ? -1 : 0)),
          stdout,
          stderr
        })
    );
  });
}
