import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import { RunStore } from '../../runs/run-store.ts';

const secret = 'a-known-secret-value';
const id = agentId(1);
let log: TestLog;

beforeEach(() => {
  log = createLog({ secrets: [secret] });
  onTestFinished(log.workspace.remove);
});

/** The page of an agent that has ended, with these files in its folder. */
async function pageWith(files: Record<string, string>): Promise<string> {
  const store = new RunStore(log.workspace.record);
  store.create(recordWith({ agent_id: id }), 'x', 'x');
  for (const [name, text] of Object.entries(files))
    log.workspace.writeRecord(`spawns/${id}/${name}`, text);
  store.end(id, outcomeWith());
  expect(await log.pages.write(id)).toBe(true);
  return log.read(`agents/${id}.md`);
}

test('the diff of an agent is on its page, without secrets', async () => {
  const page = await pageWith({ 'changes.diff': `+a\n+${secret}\n+b\n` });
  expect(page).toMatch(
    /^## Diff \(\d+ chars\)\n\n```diff\n\+a\n\+.*\n\+b\n\n```$/m
  );
  expect(page).not.toContain(secret);
});

test('a very long text shows both ends, without half of a secret', async () => {
  const marked = (before: number, after: number) =>
    `${'a'.repeat(before)}${secret}${'b'.repeat(after)}`;
  const half = 17 * 1024 * 1024;
  const diff = marked(499_990, half) + marked(half, 499_990);
  const page = await pageWith({ 'changes.diff': diff });
  expect(page).toContain(`${'a'.repeat(20)}[redacted]`);
  expect(page).toContain(`[redacted]${'b'.repeat(20)}`);
  for (const part of [secret.slice(0, 8), secret.slice(-8)])
    expect(page).not.toContain(part);
  expect(page).toContain(`… ${diff.length - 1_000_000} characters left out;`);
});

test('an agent that has changed nothing has no diff on its page', async () => {
  expect(await pageWith({})).not.toContain('## Diff');
});

test('the changed files of an agent are on its page, without secrets', async () => {
  const files = [{ path: `a ${secret}.txt`, added: 2, removed: 0 }];
  const changes = { v: 1, files, total: 1, patch: null, note: 'Late.' };
  const page = await pageWith({ 'changes.json': JSON.stringify(changes) });
  expect(page).toContain('## Changes (1 files)\n');
  expect(page).toMatch(/a .*\.txt/);
  expect(page).toContain('\nLate.\n');
  expect(page).not.toContain(secret);
});
