import { spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { packageRoot } from '../kit/judges/documents.ts';

const folder = join(packageRoot, '.github', 'workflows');
const permissions = z.record(z.string(), z.enum(['none', 'read', 'write']));
const workflow = z.looseObject({
  permissions,
  jobs: z.record(
    z.string(),
    z.looseObject({
      if: z.string().optional(),
      environment: z.string().optional(),
      permissions: permissions.optional(),
      steps: z.array(
        z.looseObject({
          run: z.string().optional(),
          uses: z.string().optional()
        })
      )
    })
  )
});
const files = readdirSync(folder).map((name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  return { ...workflow.parse(parse(text)), name, text };
});

/** Actions as the lines of a workflow name them, with their comments. */
function actionsIn(text: string): string[] {
  return [...text.matchAll(/\buses:\s*(.+)$/gm)].map(([, named = '']) => named);
}

const pinned = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

describe('the workflows of this repository', () => {
  test('name every action by the commit of a version', () => {
    const named = files.flatMap(({ name, text }) =>
      actionsIn(text).map((action) => `${name}: ${action}`)
    );
    expect(named.length).toBeGreaterThanOrEqual(6);
    const loose = named.filter((one) => !pinned.test(one.split(': ')[1] ?? ''));
    expect(loose).toEqual([]);
    const steps = files.flatMap(({ jobs }) =>
      Object.values(jobs).flatMap((job) => job.steps)
    );
    const used = steps.filter(({ uses }) => uses !== undefined);
    expect(used).toHaveLength(named.length);
  });

  test('name an action by the same commit everywhere', () => {
    const commits = new Map<string, Set<string>>();
    for (const action of files.flatMap(({ text }) => actionsIn(text))) {
      const [name = ''] = action.split('@');
      commits.set(name, (commits.get(name) ?? new Set()).add(action));
    }
    for (const [name, all] of commits) expect([...all], name).toHaveLength(1);
  });

  test.each([
    'actions/checkout@v4',
    'actions/checkout@11d5960 # v4.4.0',
    'actions/checkout@11d5960a326750d5838078e36cf38b85af677262',
    'docker://alpine:3'
  ])('may not name one as %s', (action) => {
    expect(action).not.toMatch(pinned);
  });

  test('let a job write only what it has to', () => {
    const writes = files.flatMap(({ name, permissions, jobs }) => [
      ...writesIn(name, permissions),
      ...Object.entries(jobs).flatMap(([job, one]) =>
        writesIn(`${name} ${job}`, one.permissions)
      )
    ]);
    expect(writes).toEqual([
      'release.yml publish: id-token',
      'releases.yml tell: issues'
    ]);
  });
});

function writesIn(
  where: string,
  all: Record<string, string> | undefined = {}
): string[] {
  return Object.entries(all).flatMap(([what, level]) =>
    level === 'write' ? [`${where}: ${what}`] : []
  );
}

describe('the release', () => {
  const jobs = files.find(({ name }) => name === 'release.yml')?.jobs ?? {};

  test('waits for a person to enable it, and for the tests', () => {
    for (const job of Object.values(jobs))
      expect(job.if).toBe("vars.TROUPE_PUBLISH == 'true'");
    const runs = (jobs.build?.steps ?? []).map(({ run }) => run);
    expect(runs).toContain('.ci/run');
    expect(runs).toContain('node scripts/check-tag.mjs "$TAG"');
    expect(jobs.publish).toMatchObject({
      needs: 'build',
      environment: 'release'
    });
  });

  test('publishes with provenance, in a job that installs nothing', () => {
    const runs = (jobs.publish?.steps ?? []).flatMap(({ run }) => run ?? []);
    expect(runs).toEqual([
      'npm publish ./package/*.tgz --provenance --access public'
    ]);
  });

  /** A checkout of which the tag says that it is to be published. */
  function faultsOf(tag: string, about: object, changes: string): string {
    const directory = mkdtempSync(join(tmpdir(), 'troupe-tag-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const whole = { name: 'x', mcpName: 'io.github.me/x', ...about };
    writeFileSync(join(directory, 'package.json'), JSON.stringify(whole));
    writeFileSync(join(directory, 'CHANGELOG.md'), changes);
    const script = join(packageRoot, 'scripts', 'check-tag.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, tag], {
      cwd: directory,
      encoding: 'utf8'
    });
    expect(status).toBe(stderr === '' ? 0 : 1);
    return stderr;
  }

  const changes = '## [Unreleased]\n\n## [1.2.3] - 2027-01-01\n\n- One.\n';

  test('takes the tag of a version that the changelog describes', () => {
    expect(faultsOf('v1.2.3', { version: '1.2.3' }, changes)).toBe('');
  });

  test.each([
    ['another tag', 'v1.2.4', { version: '1.2.3' }, 'The tag is "v1.2.4"'],
    ['no section', 'v1.2.4', { version: '1.2.4' }, 'no section [1.2.4]'],
    [
      'a name that is not ours',
      'v1.2.3',
      { version: '1.2.3', private: true },
      'is private'
    ],
    [
      'no account',
      'v1.2.3',
      { version: '1.2.3', mcpName: 'io.github.OWNER/x' },
      'OWNER'
    ]
  ])('refuses %s', (_, tag, about, fault) => {
    expect(faultsOf(tag, about, changes)).toContain(fault);
  });

  test('refuses a section without entries', () => {
    const empty = '## [1.2.3] - 2027-01-01\n\n## [1.2.2]\n\n- One.\n';
    const fault = faultsOf('v1.2.3', { version: '1.2.3' }, empty);
    expect(fault).toContain('no section [1.2.3] with entries');
  });
});
