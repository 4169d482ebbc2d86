import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Revisions, type Row, RowLog } from './row-log.ts';

test('an empty log has nothing to send, and a first reader gets everything', () => {
  const revisions = new Revisions();
  const log = new RowLog(revisions);
  expect(log.since(0)).toEqual({ isAll: true, rows: [], gone: [] });
  log.replace([{ id: 'a' }, { id: 'b' }]);
  expect(log.since(0)).toMatchObject({
    isAll: true,
    rows: [{ id: 'a' }, { id: 'b' }]
  });
  expect(log.since(revisions.last)).toBeUndefined();
});

const rows = fc.uniqueArray(
  fc.record({ id: fc.constantFrom(...'abcdef'), value: fc.nat(3) }),
  { selector: ({ id }) => id }
);

test('a reader has the current rows in the end, whichever changes it was sent', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(rows, fc.boolean())), (states) => {
      const revisions = new Revisions();
      const log = new RowLog(revisions);
      const seen = new Map<string, Row>();
      let known = 0;
      for (const [state, reads] of states) {
        log.replace(state);
        const change = reads ? log.since(known) : undefined;
        if (!change) continue;
        if (change.isAll) seen.clear();
        for (const id of change.gone) seen.delete(id);
        for (const row of change.rows) seen.set(row.id, row);
        known = revisions.last;
        const sorted = (all: Iterable<Row>) =>
          [...all].sort((a, b) => (a.id < b.id ? -1 : 1));
        expect(sorted(seen.values())).toEqual(sorted(state));
      }
    })
  );
});

test('a row without a change is sent to no reader again', () => {
  const revisions = new Revisions();
  const log = new RowLog(revisions);
  log.put({ id: 'a', value: 1 });
  const known = revisions.last;
  log.put({ id: 'a', value: 1 });
  expect(log.since(known)).toBeUndefined();
  log.put({ id: 'a', value: 2 });
  expect(log.since(known)?.rows).toEqual([{ id: 'a', value: 2 }]);
});

test('a reader that has missed too many ends gets everything', () => {
  const revisions = new Revisions();
  const log = new RowLog(revisions);
  log.replace([{ id: 'first' }]);
  const known = revisions.last;
  for (let number = 0; number < 1100; number += 1)
    log.replace([{ id: `${number}` }]);
  expect(log.since(known)).toMatchObject({ isAll: true, gone: [] });
});

test('a row that comes back is not sent as gone', () => {
  const revisions = new Revisions();
  const log = new RowLog(revisions);
  log.replace([{ id: 'a' }, { id: 'b' }]);
  const known = revisions.last;
  log.replace([{ id: 'b' }]);
  expect(log.since(known)).toMatchObject({ rows: [], gone: ['a'] });
  log.replace([{ id: 'a' }, { id: 'b' }]);
  expect(log.since(known)).toMatchObject({ rows: [{ id: 'a' }], gone: [] });
});
