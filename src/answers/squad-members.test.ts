import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outcomeWith, recordWith } from '../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import type { Outcome, Run, RunRecord } from '../core/runs/run.ts';
import type { Squad } from '../core/squads/squad-store.ts';
import { type Facts, fitInto } from './budget.ts';
import { readMembers } from './squad-members.ts';

let workspace: TempWorkspace;
beforeEach(() => {
  workspace = createTempWorkspace();
});
afterEach(() => workspace.remove());

const member = {
  memberId: 'squad-00000000-m1',
  roleId: 'tester',
  cwd: 'apps',
  agentId: '0badcafe'
};

function squad(stateMode: Squad['stateMode']): Squad {
  const created_at = '2026-01-01T00:00:00.000Z';
  const squadId = 'squad-00000000';
  return { v: 1, squadId, created_at, stateMode, members: [member] };
}

function write(name: string, data: string | Buffer): void {
  writeFileSync(join(workspace.path, name), data);
}

async function factsOf(
  run: Run | undefined,
  stateMode: Squad['stateMode'] = 'stateless',
  room = { chars: 20_000, bytes: Number.POSITIVE_INFINITY },
  refused?: string
): Promise<Facts> {
  const directory = workspace.path;
  const source = { squad: squad(stateMode), member, run, directory, refused };
  const [report] = await readMembers([source]);
  if (!report) throw new Error('No report');
  return fitInto(report.full, room);
}

function ended(
  outcome: Partial<Outcome> = {},
  record: Partial<RunRecord> = {}
): Run {
  return {
    record: recordWith(record),
    status: outcome.status ?? 'completed',
    outcome: outcomeWith(outcome)
  };
}

test('a running member has no output yet', async () => {
  write('stdout', 'half');
  const run: Run = { record: recordWith(), status: 'running' };
  expect(await factsOf(run)).toEqual({
    ...member,
    status: 'running',
    rawStdout: '',
    rawStderr: '',
    result: ''
  });
});

test('a member that was never recorded is an error with the reason', async () => {
  expect(await factsOf(undefined)).toMatchObject({
    status: 'error',
    error: expect.stringContaining('never started')
  });
  const room = { chars: 100, bytes: 1000 };
  expect(
    await factsOf(undefined, 'stateless', room, 'The disk is full.')
  ).toEqual(expect.objectContaining({ error: 'The disk is full.' }));
});

test('output is returned to the last byte, including blank lines', async () => {
  const stdout = '\n\r\n  {"a": 1}\t\n\n \u2028 \u0007 é\u{1f3ad}\n\n';
  write('stdout', stdout);
  write('stderr', ' \n');
  write('result.txt', 'é');
  const facts = await factsOf(ended({ result_chars: 1 }));
  expect(facts).toMatchObject({ rawStdout: stdout, rawStderr: ' \n' });
  expect(facts).toMatchObject({ result: 'é', status: 'completed' });
  expect(facts).not.toHaveProperty('truncated');
});

test('output whose file was removed is empty', async () => {
  write('stderr', 'a warning');
  const facts = await factsOf(ended());
  expect(facts).toMatchObject({ rawStdout: '', rawStderr: 'a warning' });
  expect(facts).not.toHaveProperty('truncated');
});

test('invalid UTF-8 becomes replacement characters', async () => {
  write('stdout', Buffer.from([0x61, 0xff, 0xfe, 0x62]));
  write('stderr', Buffer.from([0xe2, 0x82]));
  const facts = await factsOf(ended());
  expect(facts.rawStdout).toBe('a\uFFFD\uFFFDb');
  expect(facts.rawStderr).toBe('\uFFFD');
});

test('long output is returned as its two ends, its size and its path', async () => {
  const stdout = `begin ${'한'.repeat(30_000)} end`;
  write('stdout', stdout);
  const facts = await factsOf(ended());
  expect(facts).toMatchObject({
    truncated: true,
    rawStdout_bytes: Buffer.byteLength(stdout),
    rawStdout_path: join(workspace.path, 'stdout'),
    rawStderr: ''
  });
  expect(String(facts.rawStdout).length).toBeLessThanOrEqual(20_000);
  expect(facts.rawStdout).toMatch(/^begin 한.*\n\n… \[cut\] …\n\n.*한 end$/s);
});

test('the raw output and the result share the budget', async () => {
  const words = 'x'.repeat(100_000);
  write('stdout', words);
  write('result.txt', words);
  const outcome = { result_chars: 100_000 };
  const facts = await factsOf(ended(outcome, { template: 'run.template' }));
  const { length } = `${facts.rawStdout}${facts.result}`;
  expect(length).toBeLessThanOrEqual(20_000);
  expect(length).toBeGreaterThan(19_500);
});

describe('the chat id of a member', () => {
  const chatIdOf = async (run: Run | undefined) =>
    (await factsOf(run, 'stateful')).chatId;
  const api = { kind: 'api', agent_id: 'a', session_id: 'a' } as const;

  test('is absent in a stateless squad', async () => {
    const facts = await factsOf(ended({ session_id: 's' }));
    expect(facts).not.toHaveProperty('chatId');
  });

  test('is the session of the first run', async () => {
    expect(await chatIdOf(ended({ session_id: 's' }))).toBe('s');
    const failed = { status: 'failed', session_id: 's' } as const;
    expect(await chatIdOf(ended(failed))).toBe('s');
  });

  test('comes with a warning about the role when the first run failed', async () => {
    write('result.txt', '');
    const failed = { status: 'failed', session_id: 's' } as const;
    expect((await factsOf(ended(failed), 'stateful')).message).toContain(
      'role'
    );
    const later = ended(failed, { session_id: 's' });
    expect(await factsOf(later, 'stateful')).not.toHaveProperty('message');
    const unknown = ended({ status: 'failed', session_id: null });
    expect(await factsOf(unknown, 'stateful')).not.toHaveProperty('message');
  });

  test('is the requested chat from the start', async () => {
    const record = recordWith({ session_id: 's' });
    expect(await chatIdOf({ record, status: 'queued' })).toBe('s');
    const failed = { status: 'failed', session_id: null } as const;
    expect(await chatIdOf(ended(failed, record))).toBe('s');
  });

  test('is null before the first run has a session', async () => {
    expect(await chatIdOf(undefined)).toBeNull();
    const record = recordWith();
    expect(await chatIdOf({ record, status: 'running' })).toBeNull();
    expect(await chatIdOf(ended())).toBeNull();
  });

  test('is set by the first answer of an API', async () => {
    const failed = { status: 'failed', session_id: 'a' } as const;
    expect(await chatIdOf({ record: recordWith(api), status: 'running' })).toBe(
      null
    );
    expect(await chatIdOf(ended(failed, api))).toBeNull();
    expect(await chatIdOf(ended({ session_id: 'a' }, api))).toBe('a');
    const later = { ...api, agent_id: 'b', continues: 'a' };
    expect(await chatIdOf(ended(failed, later))).toBe('a');
  });

  test('comes with a note when the engine started a new chat', async () => {
    const run = ended({ session_id: 'new' }, { session_id: 'asked' });
    expect(await factsOf(run, 'stateful')).toMatchObject({
      chatId: 'new',
      message: expect.stringContaining('"asked"')
    });
  });
});
