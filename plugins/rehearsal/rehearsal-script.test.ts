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

test('a shell command is allowed by full access or by the answer to an ask', async () => {
  expect(await permitted('full')).toBe('allowed make');
  expect(await permitted('read')).toBe('(refused make: access is read)');
  expect(await permitted('read', { behavior: 'allow' })).toBe('allowed make');
  expect(await permitted('read', { behavior: 'deny', message: 'No.' })).toBe(
    '(refused make: No.)'
  );
});

/** The result of the command `permit make`, as an agent reports it. */
async function permitted(access: string, answer?: Record<string, unknown>) {
  const events: Record<string, unknown>[] = [];
  const script = new Script({
    ...{ access, print: () => {} },
    report: (event) => events.push(event),
    ...(answer && { ask: async () => answer })
  });
  await script.perform('permit make');
  const [said] = script.said;
  const isError = said?.startsWith('(refused') ? { isError: true } : {};
  expect(events.at(-1)).toEqual({
    ...{ type: 'result', call: '1', text: said },
    ...isError
  });
  return said;
}
