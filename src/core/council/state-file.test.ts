import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { temporaryName } from '../state/atomic-file.ts';
import { Council } from './council.ts';
import { CouncilStore } from './council-store.ts';
import { emptyState } from './state.ts';
import { StateFile } from './state-file.ts';
import { encode } from './state-text.ts';

let workspace: TempWorkspace;
let path: string;
let stores: CouncilStore[] = [];

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'state.json');
});

afterEach(() => {
  for (const store of stores) store.close();
  stores = [];
  workspace.remove();
});

describe('a file that is not understood is named, and left as it is,', () => {
  const whole = encode(sample());
  test.each([
    ['empty', '', 'is empty'],
    ['white space', ' \n', 'is empty'],
    ['words', 'to do: the council', 'is no JSON'],
    ['cut off', whole.slice(0, -20), 'is no JSON'],
    ['a list', '[]', 'does not hold a council'],
    ['another schema', '{"todo":[]}', 'version'],
    ['version 99', whole.replace('"version": 1', '"version": 99'), 'version'],
    [
      'a response without an author',
      whole.replace('"author":"bob",', ''),
      'feedback.0.author'
    ],
    [
      'no UTF-8',
      Buffer.from(whole.replace('Why?', 'Pourquoi é'), 'latin1'),
      'is not UTF-8'
    ]
  ])('when it is %s', async (_, bytes, fault) => {
    writeFileSync(path, bytes);
    await expectInvalid(fault);
    expect(readFileSync(path)).toEqual(Buffer.from(bytes));
  });

  test('when it is a directory', async () => {
    mkdirSync(path);
    await expectInvalid('is no file');
    expect(readdirSync(path)).toEqual([]);
  });

  test('when we may not read it', () => {
    writeFileSync(path, whole, { mode: 0o600 });
    withoutRights(() =>
      expect(() => new StateFile(path).read()).toThrow(
        invalid('cannot be read \\(EACCES\\)')
      )
    );
    expect(readFileSync(path, 'utf8')).toBe(whole);
  });

  test('when it is a pipe that nobody writes to', async () => {
    execFileSync('mkfifo', [path]);
    await expectInvalid('is no file');
    expect(lstatSync(path).isFIFO()).toBe(true);
  });

  test.each(['to a council', 'to nothing'])(
    'when it is a symbolic link %s',
    async (where) => {
      const target = join(workspace.home, 'elsewhere.json');
      if (where === 'to a council') writeFileSync(target, whole);
      symlinkSync(target, path);
      await expectInvalid('is a symbolic link');
      expect(lstatSync(path).isSymbolicLink()).toBe(true);
      expect(existsSync(target)).toBe(where === 'to a council');
    }
  );
});

test('keys that are not ours survive every change, a new session too', async () => {
  const { session, requests, feedback, participants } = sample();
  const note = { by: ['another', 'tool'], at: null };
  writeFileSync(
    path,
    JSON.stringify({
      ...sample(),
      note,
      session: { ...session, note },
      requests: requests.map((request) => ({ ...request, note })),
      feedback: feedback.map((response) => ({ ...response, note })),
      participants: participants.map((one) => ({ ...one, note }))
    })
  );
  const council = createCouncil();
  await council.send('bob', 'Because.');
  await council.close('bob', 'So it is.');
  const after = new StateFile(path).read();
  expect(after.note).toEqual(note);
  expect(after.session).toMatchObject({ note, status: 'closed' });
  expect(after.requests).toMatchObject([{ note, status: 'closed' }]);
  expect(after.feedback).toMatchObject([{ note }, { content: 'Because.' }]);
  expect(after.feedback).toHaveLength(2);
  expect(after.participants).toMatchObject([{ note, agent_name: 'bob' }]);

  const { previous } = await council.start('bob', 'And now?');
  const fresh = new StateFile(path).read();
  expect(fresh).toMatchObject({ note, feedback: [] });
  expect(fresh.session?.note).toBeUndefined();
  expect(new StateFile(previous?.file ?? '').read()).toEqual(after);
});

test('what another process wrote is seen at the next look', () => {
  const [one, other] = [new StateFile(path), new StateFile(path)];
  expect(one.read()).toBe(emptyState);
  expect(one.stamp()).toBe('');
  other.write(sample());
  expect(one.read()).toEqual(sample());
  const stamp = one.stamp();
  const read = one.read();
  expect(one.read()).toBe(read);
  other.write({ ...sample(), feedback: [] });
  expect(one.stamp()).not.toBe(stamp);
  expect(one.read().feedback).toEqual([]);
});

test('what killed writers left half-written is swept, and nothing else', async () => {
  const left = [temporaryName(path), temporaryName(`${path}.v1.bak`)];
  const others = ['state.json.bak', 'notes.tmp', 'other.json.1.tmp'];
  for (const file of left) writeFileSync(file, '{"version": 1, "sess');
  for (const name of others) workspace.write(name, 'mine');
  await createCouncil().start('bob', 'Why?');
  for (const file of left) expect(existsSync(file)).toBe(false);
  for (const name of others)
    expect(readFileSync(join(workspace.path, name), 'utf8')).toBe('mine');
});

function createCouncil(): Council {
  const witnesses = createProcesses(workspace.home);
  const store = new CouncilStore(path, witnesses);
  stores.push(store);
  return new Council({ store, witnesses });
}

/** Whoever reads, and whoever would write. */
async function expectInvalid(fault: string) {
  const error = invalid(fault);
  expect(() => new StateFile(path).read()).toThrow(error);
  expect(() => new StateFile(path).write(sample())).toThrow(error);
  await expect(createCouncil().start('bob', 'Why?')).rejects.toThrow(error);
  await expect(createCouncil().send('bob', 'So.')).rejects.toThrow(error);
}

function invalid(fault: string) {
  return expect.objectContaining({
    code: 'state_invalid',
    message: expect.stringMatching(`${path} .*${fault}`)
  });
}

/** As one to whom the file does not belong; root may read everything. */
function withoutRights(look: () => void): void {
  if (process.geteuid?.() !== 0) {
    chmodSync(path, 0);
    look();
    chmodSync(path, 0o600);
    return;
  }
  for (const directory of [workspace.path, join(workspace.path, '..')])
    chmodSync(directory, 0o755);
  process.seteuid?.(65_534);
  try {
    look();
  } finally {
    process.seteuid?.(0);
  }
}

function sample() {
  const at = '2026-01-02T03:04:05.678Z';
  return {
    version: 1 as const,
    session: {
      id: 's-1',
      status: 'active' as const,
      created_at: at,
      current_request_id: 'r-1',
      conclusion: null
    },
    requests: [
      {
        id: 'r-1',
        content: 'Why?',
        created_by: 'bob',
        created_at: at,
        status: 'open' as const
      }
    ],
    feedback: [
      {
        id: 'f-1',
        request_id: 'r-1',
        author: 'bob',
        content: 'First.',
        created_at: at
      }
    ],
    participants: [
      {
        agent_name: 'bob',
        last_seen: at,
        last_request_seen: 'r-1',
        last_feedback_seen: null
      }
    ]
  };
}
