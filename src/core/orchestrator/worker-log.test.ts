import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openOffice, type WorkerOffice } from '../../testing/worker-office.ts';
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

/** The log as another process has it. */
const another = () => office.reader().get(id).log;

const add = (task_id: string, to = log) =>
  to.change(() => ({
    commands: [{ type: 'task' as const, task_id }],
    told: undefined
  }));

const happened = (events: NewEvent[], to = log) =>
  to.change(() => ({ events, told: undefined }));

const progress: NewEvent = { type: 'progress' };
const stopped: NewEvent = { type: 'stopped', by: 'troupe' };
const tasks = (of = log) => of.read().tasks.map((task) => task.id);

describe('a change', () => {
  test('is told the newest state, and others see it at once', async () => {
    const other = another();
    expect(other.read().tasks).toEqual([]);
    await add('a');
    const seen = await other.change((queue) => ({
      commands: [{ type: 'task', task_id: 'b' }],
      told: queue.tasks.length
    }));
    expect(seen).toBe(1);
    expect(tasks()).toEqual(['a', 'b']);
    expect(tasks(other)).toEqual(['a', 'b']);
  });

  test('of many processes at once is never lost, and numbers have no gap', async () => {
    const logs = [log, another(), another(), another()];
    await Promise.all(
      logs.flatMap((each, who) =>
        Array.from({ length: 25 }, (_, index) =>
          index % 2 ? add(`${who}-${index}`, each) : happened([progress], each)
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

  test('that throws writes nothing, and spares those beside it', async () => {
    const [good, bad] = await Promise.allSettled([
      add('a'),
      log.change(() => {
        throw new Error('no');
      })
    ]);
    expect([good?.status, bad?.status]).toEqual(['fulfilled', 'rejected']);
    expect(office.lines(id, 'inbox')).toHaveLength(1);
  });

  test('of a worker whose folder is gone is refused, and makes none', async () => {
    rmSync(folder.public, { recursive: true });
    await expect(add('a')).rejects.toMatchObject({ code: 'unknown_agent' });
    expect(existsSync(folder.public)).toBe(false);
  });

  test('is in both files or in none', async () => {
    await add('a');
    const before = readFileSync(folder.inbox, 'utf8');
    // Nothing is written through a link.
    renameSync(folder.outbox, `${folder.outbox}.moved`);
    symlinkSync(`${folder.outbox}.moved`, folder.outbox);
    await expect(
      log.change(() => ({
        commands: [{ type: 'cancel', task_id: 'a' }],
        events: [progress],
        told: undefined
      }))
    ).rejects.toMatchObject({ code: 'storage_unwritable' });
    expect(readFileSync(folder.inbox, 'utf8')).toBe(before);
    renameSync(`${folder.outbox}.moved`, folder.outbox);
    expect(log.read().first?.isCancelWanted).toBe(false);
  });
});

describe('whatever somebody has done to the files,', () => {
  test('half a line is put aside with the next change, and the number is free', async () => {
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

  test('lines that are none are passed over', async () => {
    await add('a');
    appendFileSync(folder.inbox, '\n{}\n[]\nnull\n{"seq":-1}\n{"seq":9}\n');
    await add('b');
    expect(tasks()).toEqual(['a', 'b']);
    expect(tasks(another())).toEqual(['a', 'b']);
  });

  test('a file that was made shorter is read anew', async () => {
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

describe('what is kept of a long log', () => {
  const keptState = () => JSON.parse(readFileSync(folder.state, 'utf8'));

  test('gives who comes later the same state, without reading it again', async () => {
    await add('a');
    await add('b');
    expect(existsSync(folder.state)).toBe(false);
    await happened([
      { type: 'ready' },
      { type: 'delivered', task_id: 'a', by: 'troupe' },
      ...Array.from({ length: 2000 }, () => progress)
    ]);
    expect(keptState().outbox).toBe(log.outbox.size());
    await happened([{ type: 'result', task_id: 'a', done: true }]);
    expect(another().read().snapshot()).toEqual(log.read().snapshot());
    // Were it read again, this would count.
    const lines = readFileSync(folder.inbox, 'utf8');
    writeFileSync(folder.inbox, lines.replace('"b"', '"z"'));
    expect(tasks(another())).toEqual(['b']);
  });

  test.each<[string, (kept: string) => string]>([
    ['empty', () => ''],
    ['half', (kept) => kept.slice(0, kept.length / 2)],
    ['of another version', (kept) => kept.replace('"phase"', '"stage"')],
    ['of a later version', (kept) => kept.replace('"phase"', '"x":1,"phase"')],
    ['of longer files', (kept) => kept.replace(/"outbox":\d+/, '"outbox":1e9')],
    ['no object', () => 'null']
  ])('is not taken when it is %s', async (_, change) => {
    await add('a');
    await happened([stopped]);
    const kept = readFileSync(folder.state, 'utf8');
    writeFileSync(folder.state, change(kept));
    const { status, state } = another().read();
    expect(status).toBe('stopped');
    expect(state).toMatchObject({ commandSeq: 1, eventSeq: 1 });
    expect(tasks(another())).toEqual(['a']);
  });
});
