import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pluginShapes } from '../engine-shape.ts';
import { simpleReply } from './simple-reply.ts';

const schema = () => pluginShapes().answers.read;

const value = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.double(),
  fc.constantFrom(null, undefined, [], {}, ['a'], Number.NaN, 'run')
);

const members = Object.fromEntries(
  [...Object.keys(schema().shape), 'own', 'constructor'].map((name) => [
    name,
    value
  ])
);

const reply = fc.record(members, { requiredKeys: [] });
const simple = fc.record(
  {
    text: fc.string(),
    finished: fc.boolean(),
    progress: fc.string(),
    sessionId: fc.string(),
    costUsd: fc.double(),
    own: value
  },
  { requiredKeys: ['text', 'finished'] }
);

test('a simple reply is what the schema returns, and anything else is left to the schema', () => {
  let count = 0;
  fc.assert(
    fc.property(fc.oneof(reply, simple, value), (answer) => {
      const found = simpleReply(answer);
      if (!found) return;
      count += 1;
      const { success, data } = schema().safeParse(answer);
      expect(success).toBe(true);
      expect(found).toStrictEqual(data);
      expect(found).not.toBe(answer);
    }),
    { numRuns: 2000 }
  );
  expect(count).toBeGreaterThan(50);
});

test('each member that the schema checks is checked, or left to the schema', () => {
  for (const name of Object.keys(schema().shape)) {
    const answer = { text: '', finished: false, [name]: Symbol('wrong') };
    expect(simpleReply(answer), name).toBeUndefined();
  }
});

test('values that only the schema can judge are left to it', () => {
  class Other {
    text = '';
    finished = false;
  }
  const half = Object.defineProperty({ finished: true }, 'text', {
    get: () => 't'
  });
  for (const answer of [undefined, 1, [], new Other(), half, Promise.resolve()])
    expect(simpleReply(answer)).toBeUndefined();
});

test('a getter is read once, and the text that was checked is returned', () => {
  const texts: unknown[] = ['right', 7];
  const answer = {
    finished: true,
    get text() {
      return texts.shift();
    }
  };
  expect(simpleReply(answer)).toStrictEqual({ finished: true, text: 'right' });
});
