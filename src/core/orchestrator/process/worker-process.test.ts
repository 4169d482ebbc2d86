import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { partsOn } from '../../../../test/kit/agents/worker-parts.ts';
import { LostWorkers } from './lost-workers.ts';
import { WorkerProcess } from './worker-process.ts';

const id = '0badcafe';

let office: WorkerOffice;

beforeEach(async () => {
  office = await openOffice();
});

afterEach(() => office.close());

const paneOn = (socket: string) => ({ pane_id: '%7', socket });

test.each([
  ['that could not be recorded', '/its/socket', undefined],
  ['on another socket than before', '/old/socket', '/its/socket']
])('a pane is closed %s', async (_which, inMemory, stored) => {
  office.hire(id);
  const store = office.reader();
  const closed: string[] = [];
  const program = new WorkerProcess(
    partsOn(office, store, id, { socket: '/its/socket', closed })
  );
  const worker = store.get(id);
  if (stored) store.setMeta({ ...worker.meta, pane: paneOn(stored) });
  const meta = { ...worker.meta, pane: paneOn(inMemory) };
  await program.closePane({ ...worker, meta });
  expect(closed).toEqual(['%7']);
});

test('the pane of a worker whose record was removed is closed', async () => {
  office.hire(id);
  const store = office.reader();
  const closed: string[] = [];
  const parts = partsOn(office, store, id, { socket: '/its/socket', closed });
  const lost = new LostWorkers(parts, new WorkerProcess(parts));
  const { meta, folder } = store.get(id);
  store.setMeta({ ...meta, pane: paneOn('/its/socket') });
  // The supervisor has ended: no process has this number.
  writeFileSync(join(folder.start(1), 'claim'), '99999999 0\n\n');
  lost.note(store.get(id));
  rmSync(folder.private, { recursive: true });
  await lost.end(id);
  expect(closed).toEqual(['%7']);
  expect(() => store.get(id)).toThrow(/its program was ended/);
});
