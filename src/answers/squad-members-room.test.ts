import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { outcomeWith, recordWith } from '../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { type Budget, type Facts, fitInto } from './budget.ts';
import {
  type MemberReport,
  type MemberSource,
  readMembers
} from './squad-members.ts';

let workspace: TempWorkspace;
beforeEach(() => {
  workspace = createTempWorkspace();
});
afterEach(() => workspace.remove());

const squadId = 'squad-00000000';
const endless = Number.POSITIVE_INFINITY;

/** A member with this output. */
function ended(
  number: number,
  { result = '', stdout = '', stderr = '' }
): MemberSource {
  const memberId = `${squadId}-m${number}`;
  const directory = join(workspace.path, memberId);
  mkdirSync(directory);
  writeFileSync(join(directory, 'result.txt'), result);
  writeFileSync(join(directory, 'stdout'), stdout);
  writeFileSync(join(directory, 'stderr'), stderr);
  const member = { memberId, roleId: 'tester', cwd: '.', agentId: '0badcafe' };
  const created_at = '2026-01-01T00:00:00.000Z';
  const stateMode = 'stateless';
  const outcome = outcomeWith({ result_chars: result.length });
  return {
    squad: { v: 1, squadId, created_at, stateMode, members: [member] },
    member,
    run: { record: recordWith(), status: 'completed', outcome },
    directory
  };
}

function membersIn(
  reports: MemberReport[],
  kind: 'full' | 'words',
  budget: Budget
): Facts[] {
  let members: Facts[] = [];
  fitInto((put) => {
    members = reports.map((report) => report[kind](put));
    return { members };
  }, budget);
  return members;
}

function charsOf(member: Facts): number {
  const { rawStdout = '', rawStderr = '', result } = member;
  return [rawStdout, rawStderr, result].join('').length;
}

test('many members keep no more text in memory than an answer can hold', async () => {
  const long = 'x'.repeat(200_000);
  const sources = Array.from({ length: 40 }, (_, index) =>
    ended(index + 1, { result: long, stdout: long, stderr: long })
  );
  const reports = await readMembers(sources);
  const unbounded = { chars: endless, bytes: endless };
  const members = membersIn(reports, 'full', unbounded);
  const chars = members.reduce((sum, member) => sum + charsOf(member), 0);
  // Both ends of each text, and the mark between them.
  expect(chars).toBeLessThan(3 * 40_000);
  expect(chars).toBeGreaterThan(20_000);
});

test('text that fits is returned whole, even if its characters take several bytes', async () => {
  const long = '한'.repeat(14_000);
  const short = '한'.repeat(900);
  const sources = [long, ...Array.from({ length: 6 }, () => short)].map(
    (stdout, index) => ended(index + 1, { stdout })
  );
  const budget = { chars: 20_000, bytes: endless };
  const members = membersIn(await readMembers(sources), 'full', budget);
  expect(members.map(({ rawStdout }) => rawStdout)).toEqual([
    long,
    ...Array.from({ length: 6 }, () => short)
  ]);
  for (const member of members) expect(member).not.toHaveProperty('truncated');
});

test('without raw output, results get the whole budget', async () => {
  const stdout = 'x'.repeat(100_000);
  const result = 'y'.repeat(5000);
  const sources = [1, 2, 3, 4].map((number) =>
    ended(number, { result, stdout, stderr: stdout })
  );
  const budget = { chars: 20_000, bytes: endless };
  const members = membersIn(await readMembers(sources), 'words', budget);
  for (const member of members) expect(member.result).toBe(result);
});
