import { expect, test } from 'vitest';
import type { Reply } from '../../plugin.ts';
import { EngineFault } from '../engines/engine-fault.ts';
import { Fold } from './fold.ts';

const lines = ['{"type":"a"}', 'noise', '7', '', '{"type":"b"}', '[1]', '{'];

test('events are folded in order, and all else is passed over', () => {
  const seen: unknown[] = [];
  const fold = new Fold({
    name: 'x',
    read: (reply, event) => {
      seen.push(event);
      return { ...reply, text: `${reply.text}.` };
    }
  });
  for (const line of lines) fold.add(line);
  expect(seen).toEqual([{ type: 'a' }, { type: 'b' }, [1]]);
  expect(fold.reply).toEqual({ text: '...', finished: false });
});

test('a plugin that threw once has failed, whatever it says later', () => {
  let first = true;
  const read = (): Reply => {
    if (!first) return { text: 'said', finished: true };
    first = false;
    throw new EngineFault('x', 'read', 'threw: boom', 'bad_output');
  };
  const fold = new Fold({ name: 'x', read });
  for (const line of lines) fold.add(line);
  expect(fold.reply).toEqual({
    text: 'said',
    finished: true,
    failure: {
      code: 'bad_output',
      message: 'The plugin x is at fault: read threw: boom.'
    }
  });
});

test('a line of stderr tells what it is doing', () => {
  const fold = new Fold({
    name: 'x',
    readError: (reply, line) => ({ ...reply, progress: line })
  });
  fold.addError('retry 1');
  expect(fold.reply).toEqual({
    text: '',
    finished: false,
    progress: 'retry 1'
  });
  new Fold({ name: 'y' }).addError('nothing reads this');
});

test('nothing else is taken from stderr, nor from who throws there', () => {
  let calls = 0;
  const readError = (reply: Reply, line: string): Reply => {
    calls += 1;
    if (line === 'boom') throw new TypeError('no such thing');
    return { ...reply, text: line, finished: true, progress: line };
  };
  const fold = new Fold({ name: 'x', readError });
  for (const line of ['one', 'boom', 'two']) fold.addError(line);
  expect(fold.reply).toEqual({ text: '', finished: false, progress: 'one' });
  expect(calls).toBe(2);
});

test('an engine without a guard fails the same way', () => {
  const fold = new Fold({
    name: 'x',
    read: () => {
      throw new TypeError('no such thing');
    }
  });
  fold.add('{}');
  expect(fold.reply.failure?.message).toBe(
    'The plugin x could not read its output: no such thing'
  );
});

test('every row of failures is counted, however short it was', () => {
  const why = { code: 'network', message: 'x' } as const;
  const fold = new Fold({
    name: 'x',
    read: ({ retrying, ...reply }, event) =>
      JSON.stringify(event) === '[1]'
        ? { ...reply, retrying: { times: (retrying?.times ?? 0) + 1, why } }
        : reply
  });
  for (const line of ['[1]', '[1]', '[0]', '[1]', '[0]', '[0]', '[1]'])
    fold.add(line);
  expect(fold.row).toBe(3);
  expect(fold.reply.retrying?.times).toBe(1);
});
