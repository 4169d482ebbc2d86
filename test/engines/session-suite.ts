import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { until } from '../kit/judges/until.ts';
import { type RealCli, testWith } from './clis.ts';
import { createStage } from './stage.ts';

/** What the model server counts for one answer. */
const counted = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15
};

/** Turns that follow each other in one session of a real CLI. */
export function sessionSuite(cli: RealCli): void {
  const test = testWith(cli);

  describe('a session', () => {
    test('goes on with continue_agent, and the model sees what was said', async () => {
      const stage = await createStage(cli);
      const first = await stage.start('Remember 4711. [[say: I will.]]');
      const before = await stage.result(first);
      const second = await stage.resume(first, 'And? [[say: It was 4711.]]');
      const after = await stage.result(second);
      expect(after).toMatchObject({
        success: true,
        result: 'It was 4711.',
        session_id: before.session_id,
        usage: counted
      });
      expect(second).not.toBe(first);
      const told = stage.bodies().at(-1);
      for (const part of ['Remember 4711.', 'I will.', 'And?'])
        expect(told).toContain(part);
    });

    test('goes on in the next server, with its directory and access', async () => {
      const stage = await createStage(cli);
      stage.workspace.write('inner/.keep', '');
      const first = await stage.start('Remember 4711. [[say: I will.]]', {
        cwd: 'inner',
        access: 'read'
      });
      const before = await stage.result(first);
      await stage.server.close();
      await stage.serve();
      const told = '[[shell: echo no > no.txt]] [[say: I may not.]]';
      const second = await stage.resume(first, told);
      expect(await stage.result(second)).toMatchObject({
        success: true,
        session_id: before.session_id
      });
      const file = join(stage.workspace.path, 'inner', 'no.txt');
      expect(existsSync(file)).toBe(false);
      const body = stage.bodies().at(-1);
      for (const part of ['Remember 4711.', 'I will.', 'inner'])
        expect(body).toContain(part);
    });

    test('has one turn at a time', async () => {
      const stage = await createStage(cli);
      const first = await stage.start('[[say: One.]]');
      await stage.result(first);
      const second = await stage.resume(first, '[[sleep: 1500]] [[say: Two.]]');
      for (const agent_id of [first, second]) {
        const input = { agent_id, prompt: '[[say: Too early.]]' };
        const { data } = await stage.server.call('continue_agent', input);
        expect(data).toMatchObject({
          status: 'failed',
          error_code: 'session_busy'
        });
      }
      expect(await stage.result(second)).toMatchObject({ result: 'Two.' });
      const third = await stage.resume(second, '[[say: Three.]]');
      expect(await stage.result(third)).toMatchObject({ result: 'Three.' });
      expect(stage.bodies().at(-1)).toContain('Two.');
      expect(stage.bodies().join('')).not.toContain('Too early.');
    });

    test('goes on from its last turn, whichever agent is named', async () => {
      const stage = await createStage(cli);
      const first = await stage.start('[[say: One.]]');
      const { session_id } = await stage.result(first);
      await stage.result(await stage.resume(first, '[[say: Two.]]'));
      const third = await stage.resume(first, '[[say: Three.]]');
      expect(await stage.result(third)).toMatchObject({
        success: true,
        session_id,
        usage: counted
      });
      expect(stage.bodies().at(-1)).toContain('Two.');
    });

    test('can be continued after a turn was canceled', async () => {
      const stage = await createStage(cli);
      const first = await stage.start('[[say: One.]]');
      await stage.result(first);
      const second = await stage.resume(first, 'Wait. [[hang]]');
      await until('its request', () => stage.isAsked('Wait. [[hang]]'));
      await stage.server.call('cancel_agent', { agent_id: second });
      const third = await stage.resume(second, '[[say: Three.]]');
      expect(await stage.result(third)).toMatchObject({
        success: true,
        result: 'Three.',
        usage: counted
      });
      expect(stage.bodies().at(-1)).toContain('One.');
    });

    test('can be continued though its first turn was canceled', async () => {
      const stage = await createStage(cli);
      const first = await stage.start('Remember 4711. [[hang]]');
      await until('the request', () => stage.isAsked('Remember 4711.'));
      await stage.server.call('cancel_agent', { agent_id: first });
      const { session_id } = await stage.result(first);
      const second = await stage.resume(first, '[[say: It was 4711.]]');
      expect(await stage.result(second)).toMatchObject({
        success: true,
        result: 'It was 4711.',
        session_id
      });
      expect(session_id).toEqual(expect.any(String));
      expect(stage.bodies().at(-1)).toContain('Remember 4711.');
    });
  });
}
