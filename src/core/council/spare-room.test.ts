import { expect, test } from 'vitest';
import { SpareRoom } from './spare-room.ts';

test('what is kept is not written over, and what was kept before it is', () => {
  const room = new SpareRoom();
  const first = room.take(4).fill('a');
  room.keep(first.subarray(1));
  const second = room.take(4).fill('b');
  expect(first.toString()).toBe('aaaa');
  room.keep(second);
  room.take(4).fill('c');
  expect(second.toString()).toBe('bbbb');
  expect(first.toString()).toBe('cccc');
});

test('what is not kept is written over', () => {
  const room = new SpareRoom();
  const first = room.take(4).fill('a');
  room.keep(Buffer.from('else'));
  room.take(2).fill('b');
  expect(first.toString()).toBe('bbaa');
});

test('room for a file that has become short is given back', () => {
  const room = new SpareRoom();
  for (const size of [10_000_000, 10_000_000, 100, 100])
    room.keep(room.take(size));
  const taken = [1, 2].map(() => {
    const bytes = room.take(100);
    room.keep(bytes);
    return bytes.buffer.byteLength;
  });
  expect(Math.max(...taken)).toBeLessThan(1000);
});
