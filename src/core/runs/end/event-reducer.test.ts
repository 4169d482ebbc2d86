import { expect, test } from 'vitest';
import type { Reply } from '../../../plugin/plugin.ts';
import { EngineFault } from '../../engines/failures.ts';
import { EventReducer } from './event-reducer.ts';

const lines = ['{"type":"a"}', 'noise', '7', '', '{"type":"b"}', '[1]', '{'];

test('events are folded in order, and all other lines are skipped', () => {
  const seen: unknown[] = [];
  const reducer = new EventReducer({
    name: 'x',
    read: (reply, event) => {
      seen.push(event);
      return { ...reply, text: `${reply.text}.` };
    }
  });
  for (const line of lines) reducer.add(line);
  expect(seen).toEqual([{ type: 'a' }, { type: 'b' }, [1]]);
  expect(reducer.reply).toEqual({ text: '...', finished: false });
});

test('a run whose plugin threw once has failed, whatever it reads later', () => {
  let first = true;
  const read = (): Reply => {
    if (!first) return { text: 'said', finished: true };
    first = false;
    throw new EngineFault('x', 'read', 'threw: boom', 'bad_output');
  };
  const reducer = new EventReducer({ name: 'x', read });
  for (const line of lines) reducer.add(line);
  expect(reducer.reply).toEqual({
    text: 'said',
    finished: true,
    failure: {
      code: 'bad_output',
      message: 'The plugin x is at fault: read threw: boom.'
    }
  });
});

test('a line of stderr shows what a run is doing', () => {
  const reducer = new EventReducer({
    name: 'x',
    readError: (reply, line) => ({ ...reply, progress: line })
  });
  reducer.addError('retry 1');
  expect(reducer.reply).toEqual({
    text: '',
    finished: false,
    progress: 'retry 1'
  });
  new EventReducer({ name: 'y' }).addError('nothing reads this');
});

test('only progress is taken from stderr, and nothing after a plugin throws there', () => {
  let calls = 0;
  const readError = (reply: Reply, line: string): Reply => {
    calls += 1;
    if (line === 'boom') throw new TypeError('no such thing');
    return { ...reply, text: line, finished: true, progress: line };
  };
  const reducer = new EventReducer({ name: 'x', readError });
  for (const line of ['one', 'boom', 'two']) reducer.addError(line);
  expect(reducer.reply).toEqual({ text: '', finished: false, progress: 'one' });
  expect(calls).toBe(2);
});

test('an engine without a guard fails the same way', () => {
  const reducer = new EventReducer({
    name: 'x',
    read: () => {
      throw new TypeError('no such thing');
    }
  });
  reducer.add('{}');
  expect(reducer.reply.failure?.message).toBe(
    'The plugin x could not read its output: no such thing'
  );
});

test('every failure streak is counted, however short it was', () => {
  const why = { code: 'network', message: 'x' } as const;
  const reducer = new EventReducer({
    name: 'x',
    read: ({ retrying, ...reply }, event) =>
      JSON.stringify(event) === '[1]'
        ? { ...reply, retrying: { times: (retrying?.times ?? 0) + 1, why } }
        : reply
  });
  for (const line of ['[1]', '[1]', '[0]', '[1]', '[0]', '[0]', '[1]'])
    reducer.add(line);
  expect(reducer.streak).toBe(3);
  expect(reducer.reply.retrying?.times).toBe(1);
});

test('the end of a program whose run was parked is not the end of the run', () => {
  const reducer = new EventReducer({
    name: 'x',
    read: (reply, event) => ({ ...reply, ...Object(event) })
  });
  const failure = { code: 'interrupted', message: 'Stopped.' };
  const first = { finished: true, text: '', failure, denials: ['a'] };
  reducer.add(JSON.stringify({ ...first, sessionId: 's', costUsd: 1 }));
  reducer.add('half a li');
  reducer.add('{"type":"troupe.resumed"}');
  expect(reducer.reply).toMatchObject({ finished: false, sessionId: 's' });
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const second = { finished: true, text: 'Done.', costUsd: 2, usage };
  reducer.add(JSON.stringify(second));
  // What both programs have used is not known.
  const session = { sessionId: 's', denials: ['a'] };
  expect(reducer.reply).toEqual({ finished: true, text: 'Done.', ...session });
});
