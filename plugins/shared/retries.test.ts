import { describe, expect, test } from 'vitest';
import type { Reply } from '../../src/plugin/plugin.ts';
import codex from '../codex.ts';
import copilot from '../copilot.ts';
import geminiCli from '../gemini-cli.ts';

const nothing: Reply = { text: '', finished: false };

describe('codex counts failures in a row', () => {
  const refused = {
    type: 'error',
    message: 'Reconnecting... 2/5 (stream disconnected: Connection refused)'
  };
  const read = (...events: object[]) =>
    events.reduce<Reply>(codex.read, nothing).retrying;

  test('across warnings', () => {
    const warning = {
      type: 'item.completed',
      item: { type: 'error', message: 'Falling back to HTTPS.' }
    };
    expect(read(refused, warning, refused)).toEqual({
      times: 2,
      why: { code: 'network', message: refused.message }
    });
  });

  test('until something works', () => {
    const item = { type: 'agent_message', text: 'Hi.' };
    const answer = { type: 'item.completed', item };
    expect(read(refused, answer)).toBeUndefined();
  });

  test('without the last failure, which ends the run', () => {
    expect(read({ type: 'error', message: 'We are busy.' })).toBeUndefined();
  });
});

describe('copilot counts failures in a row', () => {
  const event = (type: string, data: object) => ({ type, data });
  const failure = event('model.call_failure', {
    statusCode: 429,
    errorMessage: '{"type":"x","message":"Slow down","param":null}'
  });
  const read = (...events: object[]) =>
    events.reduce<Reply>(copilot.read, nothing).retrying;

  test('across its own notices about retries', () => {
    const retry = event('assistant.turn_retry', { reason: 'rate_limit' });
    expect(read(failure, retry, failure)).toEqual({
      times: 2,
      why: { code: 'rate_limited', message: 'Slow down' }
    });
  });

  test.each([
    event('assistant.message_delta', { deltaContent: 'Hi' }),
    event('assistant.message', { content: 'Hi', toolRequests: [] }),
    event('tool.execution_start', { toolName: 'bash' })
  ])('until something works: $type', (works) => {
    expect(read(failure, works)).toBeUndefined();
  });

  test('not the retries of a nested agent', () => {
    expect(read({ ...failure, agentId: 'a-2' })).toBeUndefined();
  });
});

describe('gemini-cli counts failures in a row on stderr', () => {
  const broken =
    'Attempt 1 failed with status 500. Retrying with backoff... _ApiError: {"error":{"code":500,"message":"Broken","status":"INTERNAL"}}';
  const refused =
    'Attempt 2 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request';
  const once: Reply = geminiCli.readError(nothing, broken);
  const twice: Reply = geminiCli.readError(once, refused);

  test('with the reason of each', () => {
    expect(once).toMatchObject({
      retrying: {
        times: 1,
        why: { code: 'provider_error', message: 'Broken' }
      },
      progress: 'retry 1 after Broken'
    });
    expect(twice.retrying).toMatchObject({
      times: 2,
      why: { code: 'network' }
    });
  });

  test('and the delay that the provider requested', () => {
    const reply: Reply = geminiCli.readError(
      nothing,
      'Attempt 1 failed: You have exhausted your capacity on this model. Your quota will reset after 3h12m5s.. Retrying after 12844484ms...'
    );
    const message =
      'You have exhausted your capacity on this model. Your quota will reset after 3h12m5s';
    expect(reply).toMatchObject({
      retrying: {
        times: 1,
        why: { code: 'quota', message },
        waitSeconds: 12_844.484
      },
      progress: expect.stringContaining('waits 12845 s after You have')
    });
    const again = '* Please retry in 2s. Retrying after 2000ms...';
    expect(geminiCli.readError(reply, again).retrying).toMatchObject({
      times: 1,
      waitSeconds: 2
    });
  });

  test('until something works on stdout', () => {
    const message = { type: 'message', role: 'assistant', content: 'Hi' };
    const reply: Reply = geminiCli.read(twice, message);
    expect(reply.retrying).toBeUndefined();
  });

  test.each(['', '    at run (file:///x.js:1:2)', 'Ripgrep is not available.'])(
    '%j is ignored',
    (line) => {
      expect(geminiCli.readError(nothing, line)).toBe(nothing);
    }
  );
});
