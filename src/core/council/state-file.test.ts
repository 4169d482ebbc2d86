import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { temporaryName, trySyncDirectory } from '../state/files/atomic-file.ts';
import { Council } from './council.ts';
import { CouncilStore } from './council-store.ts';
import { emptyState, encode } from './state.ts';
import { StateFile } from './state-file.ts';

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

describe('an invalid file is reported and left unchanged', () => {
  const whole = encode(sample());
  test.each([
    ['empty', '', 'is empty'],
    ['white space', ' \n', 'is empty'],
    ['words', 'to do: the council', 'is not JSON'],
    ['cut off', whole.slice(0, -20), 'is not JSON'],
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
    await expectInvalid('is not a file');
    expect(readdirSync(path)).toEqual([]);
  });

  test('when we have no permission to read it', () => {
    writeFileSync(path, whole, { mode: 0o600 });
    withoutRights(() =>
      expect(() => new StateFile(path).read()).toThrow(
        invalid('cannot be read \\(EACCES\\)')
      )
    );
    expect(readFileSync(path, 'utf8')).toBe(whole);
  });

  test('when it is a pipe without a writer', async () => {
    execFileSync('mkfifo', [path]);
    await expectInvalid('is not a file');
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

test('unknown keys survive every change, even a new session', async () => {
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

test('a write of another process is seen by the next read', () => {
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

test('only temporary files of killed writers are removed', async () => {
  const left = [temporaryName(path), temporaryName(`${path}.v1.bak`)];
  const others = ['state.json.bak', 'notes.tmp', 'other.json.1.tmp'];
  for (const file of left) writeFileSync(file, '{"version": 1, "sess');
  for (const name of others) workspace.write(name, 'mine');
  await createCouncil().start('bob', 'Why?');
  for (const file of left) expect(existsSync(file)).toBe(false);
  for (const name of others)
    expect(readFileSync(join(workspace.path, name), 'utf8')).toBe('mine');
});

test('a file that was replaced twice is read again, even with the same time, size and perhaps inode', () => {
  const early = new Date('2026-01-01T00:00:00Z');
  // Another process writes, on a system with coarse file times.
  const replace = (note: number) => {
    const next = `${path}.next`;
    writeFileSync(next, encode({ ...emptyState, note }));
    utimesSync(next, early, early);
    renameSync(next, path);
  };
  const file = new StateFile(path);
  for (let note = 100; note < 200; note += 2) {
    replace(note);
    replace(note + 1);
    expect(file.read()).toMatchObject({ note: note + 1 });
  }
  file.close();
});

test('the write of a killed process is made durable once, by a reader', () => {
  const synced: string[] = [];
  const sync = (directory: string) => {
    trySyncDirectory(directory);
    synced.push(directory);
  };
  const [killed, ours] = [new StateFile(path, sync), new StateFile(path, sync)];
  killed.write({ ...emptyState, feedback: [] });
  expect(ours.read().feedback).toEqual([]);
  expect(synced).toEqual([]);
  ours.settle();
  ours.settle();
  expect(synced).toEqual([workspace.path]);
  killed.close();
  ours.close();
});

function createCouncil(): Council {
  const processes = createProcesses(workspace.home);
  const store = new CouncilStore(path, processes);
  stores.push(store);
  return new Council({ store, witnesses: processes });
}

/** Expects both reads and writes to fail. */
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

/** Runs a check as a user without permission: root may read every file. */
function withoutRights(check: () => void): void {
  if (process.geteuid?.() !== 0) {
    chmodSync(path, 0);
    check();
    chmodSync(path, 0o600);
    return;
  }
  for (const directory of [workspace.path, join(workspace.path, '..')])
    chmodSync(directory, 0o755);
  process.seteuid?.(65_534);
  try {
    check();
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
