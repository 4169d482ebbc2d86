import { expect, test } from 'vitest';
import { checkAgentName } from './person.ts';

test.each([
  'person',
  'Person',
  ' person#2',
  '@person',
  'PERSON (from the page)',
  'per\u200bson',
  'pe\u0301rson',
  'ｐｅｒｓｏｎ',
  'реrsоn',
  'persօn',
  'ᴘᴇʀsᴏɴ',
  'the person',
  'per son'
])('an agent is not called %j', (name) => {
  expect(() => checkAgentName(name)).toThrow(/is for people/);
});

test.each(['claude', 'personal assistant', 'a salesperson', 'Anna'])(
  'an agent may be called %j',
  (name) => {
    expect(() => checkAgentName(name)).not.toThrow();
  }
);
