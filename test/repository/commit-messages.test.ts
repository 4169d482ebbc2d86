import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../kit/judges/documents.ts';

describe('the check of commit messages', () => {
  /** A repository with these commits, the first of which is the base. */
  function check(...messages: string[]) {
    const cwd = mkdtempSync(join(tmpdir(), 'troupe-commits-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
    git('init', '-q');
    const commit = (message: string) =>
      git(
        ...['-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit'],
        ...['-q', '--allow-empty', '--cleanup=verbatim', '-m', message]
      );
    commit('no type at all');
    const base = git('rev-parse', 'HEAD');
    for (const message of messages) commit(message);
    const script = join(packageRoot, 'scripts', 'check-commits.mjs');
    const run = (from: string) =>
      spawnSync(process.execPath, [script, from], { cwd, encoding: 'utf8' });
    return { base, run };
  }

  test('takes conventional ones behind the base, and does not look at it', () => {
    const { base, run } = check(
      'fix(runs): stop the whole tree\n\nIt left children behind.\n',
      'feat!: drop Node 18',
      'test(http, cli): wait for the event'
    );
    const { status, stdout, stderr } = run(base);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('Checked 3 ');
  });

  test.each([
    ['Fixed the tree', 'is not "type(scope): subject"'],
    ['fix:no space', 'is not "type(scope): subject"'],
    ['fixed(runs): the tree', '"fixed" is not one of'],
    ['fix(runs): stop the tree.', 'full stop'],
    [`fix: ${'x'.repeat(100)}`, 'longer than 100'],
    ['fix: stop the tree\nat once', 'second line is not empty']
  ])('names %j and what is wrong with it', (message, fault) => {
    const { base, run } = check('fix: one', message, 'fix: two');
    const { status, stderr } = run(base);
    expect(status).toBe(1);
    expect(stderr).toContain(fault);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test.each(['0'.repeat(40), 'f'.repeat(40), '', '--all'])(
    'looks at the newest commit where the base %j is unknown',
    (base) => {
      expect(check('no type', 'fix: two').run(base).status).toBe(0);
      expect(check('fix: one', 'no type').run(base).status).toBe(1);
    }
  );
});
