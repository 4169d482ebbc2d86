import {
  appendFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import type { NewEvent } from './records.ts';
import type { WorkerFolder } from './worker-folder.ts';
import type { WorkerLog } from './worker-log.ts';

const id = 'aaaaaaaa';

let office: WorkerOffice;
let folder: WorkerFolder;
let log: WorkerLog;

beforeEach(async () => {
  office = await openOffice();
  onTestFinished(() => office.close());
  office.hire(id);
  ({ folder, log } = office.reader().get(id));
});

/** The log as another process opens it. */
const another = () => office.reader().get(id).log;

const add = (task_id: string, to = log) =>
  to.change(() => ({
    commands: [{ type: 'task' as const, task_id }],
    result: undefined
  }));

const record = (events: NewEvent[], to = log) =>
  to.change(() => ({ events, result: undefined }));

const progress: NewEvent = { type: 'progress' };
const stopped: NewEvent = { type: 'stopped', by: 'troupe' };
const tasks = (of = log) => of.read().tasks.map((task) => task.id);

describe('a change', () => {
  test('gets the newest state and is visible to other processes at once', async () => {
    const other = another();
    expect(other.read().tasks).toEqual([]);
    await add('a');
    const seen = await other.change((queue) => ({
      commands: [{ type: 'task', task_id: 'b' }],
      result: queue.tasks.length
    }));
    expect(seen).toBe(1);
    expect(tasks()).toEqual(['a', 'b']);
    expect(tasks(other)).toEqual(['a', 'b']);
  });

  test('by many processes at once is never lost, and numbers have no gap', async () => {
    const logs = [log, another(), another(), another()];
    await Promise.all(
      logs.flatMap((each, writer) =>
        Array.from({ length: 25 }, (_, index) =>
          index % 2 ? add(`${writer}-${index}`, each) : record([progress], each)
        )
      )
    );
    const numbersOf = (file: 'inbox' | 'outbox') =>
      office.lines(id, file).map(({ seq }) => seq);
    const upTo = (last: number) =>
      Array.from({ length: last }, (_, index) => index + 1);
    expect(numbersOf('inbox')).toEqual(upTo(48));
    expect(numbersOf('outbox')).toEqual(upTo(52));
    for (const each of logs) expect(tasks(each)).toEqual(tasks());
  });

  test('that throws writes nothing and does not affect concurrent changes', async () => {
    const [good, bad] = await Promise.allSettled([
      add('a'),
      log.change(() => {
        throw new Error('no');
      })
    ]);
    expect([good?.status, bad?.status]).toEqual(['fulfilled', 'rejected']);
    expect(office.lines(id, 'inbox')).toHaveLength(1);
  });

  test('of a worker without a record is refused and creates no record', async () => {
    rmSync(folder.private, { recursive: true });
    await expect(add('a')).rejects.toMatchObject({ code: 'unknown_agent' });
    expect(existsSync(folder.private)).toBe(false);
  });

  test('is copied to the workspace, whatever record to the copy', async () => {
    const { inbox } = folder.paths();
    const copied = () =>
      readFileSync(inbox, 'utf8') === readFileSync(folder.inbox, 'utf8');
    await add('a');
    expect(copied()).toBe(true);
    for (const [index, damage] of [
      () => rmSync(folder.public, { recursive: true }),
      () => appendFileSync(inbox, '{"seq":'),
      () => truncateSync(inbox, 3),
      () => writeFileSync(inbox, 'other'),
      () => {
        rmSync(inbox);
        symlinkSync(folder.request, inbox);
      },
      () => {
        rmSync(inbox);
        linkSync(folder.request, inbox);
      }
    ].entries()) {
      const request = readFileSync(folder.request, 'utf8');
      damage();
      await add(`b${index}`);
      expect(copied(), String(damage)).toBe(true);
      expect(readFileSync(folder.request, 'utf8')).toBe(request);
    }
  });

  test('is recorded if the workspace cannot be written, and copied later', async () => {
    const elsewhere = `${folder.public}.moved`;
    renameSync(folder.public, elsewhere);
    symlinkSync(elsewhere, folder.public);
    const before = readFileSync(`${elsewhere}/inbox.jsonl`, 'utf8');
    await add('a');
    expect(tasks(another())).toEqual(['a']);
    await expect(log.restore()).rejects.toMatchObject({ code: 'state_unsafe' });
    expect(readFileSync(`${elsewhere}/inbox.jsonl`, 'utf8')).toBe(before);
    rmSync(folder.public);
    await log.restore();
    expect(office.lines(id, 'inbox')).toHaveLength(1);
    expect(readFileSync(folder.paths().inbox, 'utf8')).toContain('"a"');
  });

  test('is written to both files or to neither', async () => {
    await add('a');
    const before = readFileSync(folder.inbox, 'utf8');
    // Nothing is written through a link.
    renameSync(folder.outbox, `${folder.outbox}.moved`);
    symlinkSync(`${folder.outbox}.moved`, folder.outbox);
    await expect(
      log.change(() => ({
        commands: [{ type: 'cancel', task_id: 'a' }],
        events: [progress],
        result: undefined
      }))
    ).rejects.toMatchObject({ code: 'storage_unwritable' });
    expect(readFileSync(folder.inbox, 'utf8')).toBe(before);
    renameSync(`${folder.outbox}.moved`, folder.outbox);
    expect(log.read().first?.isCancelWanted).toBe(false);
  });
});

describe('in damaged files', () => {
  test('a torn line is moved aside with the next change, and its number is free', async () => {
    await add('a');
    appendFileSync(
      folder.inbox,
      '{"seq":2,"at":"","type":"task","task_id":"b"'
    );
    const other = another();
    expect(tasks(other)).toEqual(['a']);
    await add('c', other);
    expect(office.lines(id, 'inbox').map(({ seq }) => seq)).toEqual([1, 2]);
    expect(tasks()).toEqual(['a', 'c']);
    const aside = readdirSync(folder.private).filter((name) =>
      name.startsWith('inbox.torn-')
    );
    expect(aside).toHaveLength(1);
  });

  test('a torn line is moved aside without a change, too', async () => {
    await add('a');
    const whole = readFileSync(folder.inbox, 'utf8');
    appendFileSync(folder.inbox, '{"seq":2,"at":');
    await another().repair();
    expect(readFileSync(folder.inbox, 'utf8')).toBe(whole);
    const [aside = ''] = readdirSync(folder.private).filter((name) =>
      name.startsWith('inbox.torn-')
    );
    expect(readFileSync(`${folder.private}/${aside}`, 'utf8')).toBe(
      '{"seq":2,"at":'
    );
  });

  test('invalid lines are skipped', async () => {
    await add('a');
    appendFileSync(folder.inbox, '\n{}\n[]\nnull\n{"seq":-1}\n{"seq":9}\n');
    await add('b');
    expect(tasks()).toEqual(['a', 'b']);
    expect(tasks(another())).toEqual(['a', 'b']);
  });

  test('a truncated file is read again from its beginning', async () => {
    await add('a');
    const { length } = readFileSync(folder.inbox);
    await add('b');
    expect(tasks()).toEqual(['a', 'b']);
    truncateSync(folder.inbox, length);
    expect(tasks()).toEqual(['a']);
    await add('c');
    expect(tasks(another())).toEqual(['a', 'c']);
  });
});

describe('the snapshot of a long log', () => {
  const storedState = () => JSON.parse(readFileSync(folder.state, 'utf8'));

  test('gives a later process the same state without reading the whole log', async () => {
    await add('a');
    await add('b');
    expect(existsSync(folder.state)).toBe(false);
    await record([
      { type: 'ready' },
      { type: 'delivered', task_id: 'a', by: 'troupe' },
      ...Array.from({ length: 2000 }, () => progress)
    ]);
    expect(storedState().outbox).toBe(log.outbox.size());
    await record([{ type: 'result', task_id: 'a', done: true }]);
    expect(another().read().snapshot()).toEqual(log.read().snapshot());
    // If the whole log were read again, this would show.
    const lines = readFileSync(folder.inbox, 'utf8');
    writeFileSync(folder.inbox, lines.replace('"b"', '"z"'));
    expect(tasks(another())).toEqual(['b']);
  });

  test.each<[string, (stored: string) => string]>([
    ['empty', () => ''],
    ['half', (stored) => stored.slice(0, stored.length / 2)],
    ['of another version', (stored) => stored.replace('"phase"', '"stage"')],
    [
      'of a later version',
      (stored) => stored.replace('"phase"', '"x":1,"phase"')
    ],
    [
      'of longer files',
      (stored) => stored.replace(/"outbox":\d+/, '"outbox":1e9')
    ],
    ['no object', () => 'null']
  ])('is not used when it is %s', async (_, change) => {
    await add('a');
    await record([stopped]);
    const stored = readFileSync(folder.state, 'utf8');
    writeFileSync(folder.state, change(stored));
    const { status, state } = another().read();
    expect(status).toBe('stopped');
    expect(state).toMatchObject({ commandSeq: 1, eventSeq: 1 });
    expect(tasks(another())).toEqual(['a']);
  });
});
