import { expect, test } from 'vitest';
import { Script } from './rehearsal-script.ts';

test('a command takes all of its line, separators of other systems included', async () => {
  const script = new Script({
    access: 'read',
    report: () => {},
    print: () => {}
  });
  await script.perform('say one\u2028two\u2029three\rfour');
  expect(script.said).toEqual(['one\u2028two\u2029three\rfour']);
});
