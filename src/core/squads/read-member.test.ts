import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outcomeWith, recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { type Facts, tellWithin } from '../runs/fit.ts';
import type { Outcome, Run, RunRecord } from '../runs/run.ts';
import { readMembers } from './read-member.ts';
import type { Squad } from './squad-store.ts';

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

async function told(
  run: Run | undefined,
  stateMode: Squad['stateMode'] = 'stateless',
  room = { chars: 20_000, bytes: Number.POSITIVE_INFINITY },
  refused?: string
): Promise<Facts> {
  const directory = workspace.path;
  const source = { squad: squad(stateMode), member, run, directory, refused };
  const [report] = await readMembers([source]);
  if (!report) throw new Error('No report');
  return tellWithin([{ answer: report.full, least: 0 }], room);
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

test('one that runs has no output yet', async () => {
  write('stdout', 'half');
  const run: Run = { record: recordWith(), status: 'running' };
  expect(await told(run)).toEqual({
    ...member,
    status: 'running',
    rawStdout: '',
    rawStderr: '',
    result: ''
  });
});

test('one that was never recorded is an error, with the reason', async () => {
  expect(await told(undefined)).toMatchObject({
    status: 'error',
    error: expect.stringContaining('never started')
  });
  const room = { chars: 100, bytes: 1000 };
  expect(await told(undefined, 'stateless', room, 'The disk is full.')).toEqual(
    expect.objectContaining({ error: 'The disk is full.' })
  );
});

test('output is told to the last byte, blank lines and all', async () => {
  const stdout = '\n\r\n  {"a": 1}\t\n\n \u2028 \u0007 é\u{1f3ad}\n\n';
  write('stdout', stdout);
  write('stderr', ' \n');
  write('result.txt', 'é');
  const facts = await told(ended({ result_chars: 1 }));
  expect(facts).toMatchObject({ rawStdout: stdout, rawStderr: ' \n' });
  expect(facts).toMatchObject({ result: 'é', status: 'completed' });
  expect(facts).not.toHaveProperty('truncated');
});

test('what is not UTF-8 is shown by replacement characters', async () => {
  write('stdout', Buffer.from([0x61, 0xff, 0xfe, 0x62]));
  write('stderr', Buffer.from([0xe2, 0x82]));
  const facts = await told(ended());
  expect(facts.rawStdout).toBe('a\uFFFD\uFFFDb');
  expect(facts.rawStderr).toBe('\uFFFD');
});

test('output that is too long is told by its ends, size and place', async () => {
  const stdout = `begin ${'한'.repeat(30_000)} end`;
  write('stdout', stdout);
  const facts = await told(ended());
  expect(facts).toMatchObject({
    truncated: true,
    rawStdout_bytes: Buffer.byteLength(stdout),
    rawStdout_path: join(workspace.path, 'stdout'),
    rawStderr: ''
  });
  expect(String(facts.rawStdout).length).toBeLessThanOrEqual(20_000);
  expect(facts.rawStdout).toMatch(/^begin 한.*\n\n… \[cut\] …\n\n.*한 end$/s);
});

test("a template's output and its answer share the room", async () => {
  const words = 'x'.repeat(100_000);
  write('stdout', words);
  write('result.txt', words);
  const outcome = { result_chars: 100_000 };
  const facts = await told(ended(outcome, { template: 'run.template' }));
  const { length } = `${facts.rawStdout}${facts.result}`;
  expect(length).toBeLessThanOrEqual(20_000);
  expect(length).toBeGreaterThan(19_500);
});

describe('the chat that can go on', () => {
  const chatIdOf = async (run: Run | undefined) =>
    (await told(run, 'stateful')).chatId;
  const api = { kind: 'api', agent_id: 'a', session_id: 'a' } as const;

  test('is not spoken of where there are none', async () => {
    const facts = await told(ended({ session_id: 's' }));
    expect(facts).not.toHaveProperty('chatId');
  });

  test('is the one that the first run began', async () => {
    expect(await chatIdOf(ended({ session_id: 's' }))).toBe('s');
    const failed = { status: 'failed', session_id: 's' } as const;
    expect(await chatIdOf(ended(failed))).toBe('s');
  });

  test('may not know its role when the first run went wrong', async () => {
    write('result.txt', '');
    const failed = { status: 'failed', session_id: 's' } as const;
    expect((await told(ended(failed), 'stateful')).message).toContain('role');
    const later = ended(failed, { session_id: 's' });
    expect(await told(later, 'stateful')).not.toHaveProperty('message');
    const unknown = ended({ status: 'failed', session_id: null });
    expect(await told(unknown, 'stateful')).not.toHaveProperty('message');
  });

  test('is the one that was asked for, from the start', async () => {
    const record = recordWith({ session_id: 's' });
    expect(await chatIdOf({ record, status: 'queued' })).toBe('s');
    const failed = { status: 'failed', session_id: null } as const;
    expect(await chatIdOf(ended(failed, record))).toBe('s');
  });

  test('is not known before', async () => {
    expect(await chatIdOf(undefined)).toBeNull();
    const record = recordWith();
    expect(await chatIdOf({ record, status: 'running' })).toBeNull();
    expect(await chatIdOf(ended())).toBeNull();
  });

  test('is there with the first answer of an API', async () => {
    const failed = { status: 'failed', session_id: 'a' } as const;
    expect(await chatIdOf({ record: recordWith(api), status: 'running' })).toBe(
      null
    );
    expect(await chatIdOf(ended(failed, api))).toBeNull();
    expect(await chatIdOf(ended({ session_id: 'a' }, api))).toBe('a');
    const later = { ...api, agent_id: 'b', continues: 'a' };
    expect(await chatIdOf(ended(failed, later))).toBe('a');
  });

  test('is another one where the engine began anew, and that is said', async () => {
    const run = ended({ session_id: 'new' }, { session_id: 'asked' });
    expect(await told(run, 'stateful')).toMatchObject({
      chatId: 'new',
      message: expect.stringContaining('"asked"')
    });
  });
});
