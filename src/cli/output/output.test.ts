import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { printAnswer } from './output.ts';

/** What is printed of an answer from a character on. */
async function printed(
  answer: string,
  isTTY: boolean,
  offset = 0
): Promise<string> {
  const workspace = createTempWorkspace();
  const { stdout } = process;
  const before = stdout.isTTY;
  let text = '';
  const write = vi
    .spyOn(stdout, 'write')
    .mockImplementation((part, ...rest) => {
      text += String(part);
      for (const called of rest) if (called instanceof Function) called();
      return true;
    });
  onTestFinished(() => {
    write.mockRestore();
    stdout.isTTY = before;
    workspace.remove();
  });
  stdout.isTTY = isTTY;
  writeFileSync(join(workspace.path, 'result.txt'), answer);
  const store = { directoryOf: () => workspace.path };
  const outcome = { result_file: 'result.txt' };
  await printAnswer(store, { agent_id: '0badcafe' }, outcome, offset);
  return text;
}

const hostile = 'one\u001b]0;title\u0007\r\ntwo\u009b2J\rthree';

test.each([0, 3])(
  'an answer steers no terminal, printed from character %i on',
  async (offset) => {
    const text = await printed(hostile, true, offset);
    expect(text).not.toMatch(/[\u0007\u001b\u009b]|\r(?!\n)/);
    expect(text).toMatch(/title.*\n.*two.*three\n$/);
  }
);

test('a pipe gets an answer as it is, with a newline at its end', async () => {
  expect(await printed(hostile, false)).toBe(`${hostile}\n`);
  expect(await printed(hostile, false, 3)).toBe(`${hostile.slice(3)}\n`);
  expect(await printed('whole\n', false)).toBe('whole\n');
});
