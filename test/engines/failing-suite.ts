import { describe, expect } from 'vitest';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { type RealCli, testWith } from './clis.ts';
import { createStage } from './stage.ts';

/** What an API may answer, and what that is called. */
const failures = [
  ['400', 'Bad', 'provider_error'],
  ['401', 'Wrong key', 'auth'],
  ['402', 'Pay first', 'quota'],
  ['429', 'Slow down', 'rate_limited'],
  ['500', 'Broken', 'provider_error']
] as const;

type Status = (typeof failures)[number][0];

/** No process listens there. */
const closedPort = 'http://127.0.0.1:9';

/**
 * Turns of a real CLI whose model fails. A run reports the model's message,
 * or the `words` that the CLI has in its place.
 */
export function failingSuite(
  cli: RealCli,
  words: Partial<Record<Status, string>> = {}
): void {
  const test = testWith(cli);

  describe('a model that fails', () => {
    for (const [status, says, code] of failures)
      test(`with ${status} is ${code} within 20 s`, async () => {
        const stage = await createStage(cli);
        const prompt = `[[status: ${status} | ${says}]]`;
        const result = await stage.run(prompt, { timeout: 20 });
        expect(result).toMatchObject({
          success: false,
          status: 'failed',
          error_code: code,
          error: expect.stringContaining(words[status] ?? says)
        });
      });

    test('because it is not there is model_not_found', async () => {
      const stage = await createStage(cli);
      const prompt = '[[status: 404 | The model `my-model` does not exist]]';
      const more = { model: 'my-model', timeout: 20 };
      expect(await stage.run(prompt, more)).toMatchObject({
        model: 'my-model',
        status: 'failed',
        error_code: 'model_not_found'
      });
      expect(stage.turns().at(-1)?.model).toBe('my-model');
    });

    test('because nobody answers is network within 20 s', async () => {
      const stage = await createStage(cli, { baseUrl: closedPort });
      const id = await stage.start('hello', { timeout: 20 });
      expect(await stage.result(id)).toMatchObject({
        status: 'failed',
        error_code: 'network'
      });
      // Some would go on; it is the host that ends them.
      expect(processesOf(id)).toEqual([]);
    });

    test('in the midst of its answer is network within 20 s', async () => {
      const stage = await createStage(cli);
      const prompt = '[[say: Half an ans]] [[drop]]';
      const result = await stage.run(prompt, { timeout: 20 });
      expect(result).toMatchObject({
        success: false,
        status: 'failed',
        error_code: 'network'
      });
    });

    test('once is asked again', async () => {
      const stage = await createStage(cli);
      const result = await stage.run('[[status: 500 1]] [[say: At last.]]');
      expect(result).toMatchObject({ success: true, result: 'At last.' });
    });
  });
}
