import { afterAll, expect, test } from 'vitest';
import { ableOf } from '../../bench/peers/able.mjs';
import { comparison } from '../../bench/peers/comparison.mjs';
import { createTempWorkspace } from '../kit/workspaces/temp-workspace.ts';

const workspace = createTempWorkspace();
const ours = { name: 'troupe' };
const peer = { name: 'peer', version: '1.0.0' };
const slow = { name: 'slow', version: '2.0.0' };
const answering = workspace.write(
  'answering.cjs',
  `process.stdin.once('data', () => console.log('{"jsonrpc":"2.0","id":1,"result":{}}'));`
);
const ending = workspace.write('ending.cjs', '');

afterAll(() => workspace.remove());

test('we are ahead when the best peer has more', () => {
  const seen = [
    { peer: ours, amount: 8 },
    { peer: slow, amount: 30 },
    { peer, amount: 9 }
  ];
  expect(comparison('start', seen, 'ms')).toMatchObject({
    ...{ pass: true, refused: false, reach: 'less' },
    ...{ text: '8.0 ms, best peer 9.0 ms', floor: '9.0 ms (peer 1.0.0)' }
  });
});

test('a check bears as much as its guard says, the verdict nothing', () => {
  const seen = [
    { peer: ours, amount: 11 },
    { peer, amount: 10 }
  ];
  const guarded = comparison('start', seen, 'ms', { guard: 1.2 });
  expect(guarded).toMatchObject({ pass: false, refused: false });
  expect(comparison('start', seen, 'ms').refused).toBe(true);
});

test('no peer is ever taken for us, and being alone is no lead', () => {
  const others = [
    { peer, amount: 1 },
    { peer: slow, amount: 2 }
  ];
  expect(comparison('start', others, 'ms')).toMatchObject({
    pass: false,
    refused: true
  });
  const [alone] = [{ peer: ours, amount: 1 }];
  expect(comparison('start', [alone], 'ms')).toMatchObject({
    pass: undefined,
    refused: false,
    floor: 'no peer'
  });
});

test('a peer that does not start is left out and named (on linux)', async ({
  skip
}) => {
  if (process.platform !== 'linux') skip();
  const all = [
    { ...ours, path: answering },
    { ...peer, path: ending },
    { ...slow, path: '/missing/program', program: 'program', args: [] }
  ];
  const { able, problems } = await ableOf(all, process.execPath);
  expect(able).toEqual([all[0]]);
  expect(problems).toEqual([
    'peer 1.0.0: peer ended.',
    'slow 2.0.0: slow ended.'
  ]);
});

test('nothing is compared when we do not start (on linux)', async ({
  skip
}) => {
  if (process.platform !== 'linux') skip();
  const all = [
    { ...ours, path: ending },
    { ...peer, path: answering }
  ];
  await expect(ableOf(all, process.execPath)).rejects.toThrow('troupe ended');
});
