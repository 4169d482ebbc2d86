import { expect, test } from 'vitest';
import { changeOf, hasEntry, type Plan, stateOf } from './plan.ts';

type Edit = Plan['edit'];

test.each<[Edit, string, boolean]>([
  [{ change: 'add', text: 'x' }, 'not there', true],
  [{ change: 'update', text: 'x' }, 'old', true],
  [{ change: 'remove', text: 'x' }, 'not there', false],
  [{ stays: 'ours' }, 'is there', true],
  [{ stays: 'foreign' }, 'not ours', false],
  [{ stays: 'absent' }, 'not there', false],
  [{ problem: 'is read-only', entry: 'x' }, 'by hand', false]
])('after %j the entry is "%s"', (edit, state, isThere) => {
  expect([stateOf(edit), hasEntry(edit)]).toEqual([state, isThere]);
});

test('only a change is written', () => {
  const plan = { label: 'x', file: 'f', before: 'b' };
  expect(changeOf({ ...plan, edit: { stays: 'ours' } })).toEqual([]);
  expect(changeOf({ ...plan, edit: { change: 'add', text: 't' } })).toEqual([
    { file: 'f', before: 'b', text: 't' }
  ]);
});
