import { describe, expect, test } from 'vitest';
import type { Reply } from '../src/plugin.ts';
import codex from './codex.ts';
import copilot from './copilot.ts';
import geminiCli from './gemini-cli.ts';

const nothing: Reply = { text: '', finished: false };

describe('codex counts what fails in a row', () => {
  const refused = {
    type: 'error',
    message: 'Reconnecting... 2/5 (stream disconnected: Connection refused)'
  };
  const read = (...events: object[]) =>
    events.reduce<Reply>(codex.read, nothing).retrying;

  test('through warnings', () => {
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

  test('without the last failure, which it ends with', () => {
    expect(read({ type: 'error', message: 'We are busy.' })).toBeUndefined();
  });
});

describe('copilot counts what fails in a row', () => {
  const event = (type: string, data: object) => ({ type, data });
  const failure = event('model.call_failure', {
    statusCode: 429,
    errorMessage: '{"type":"x","message":"Slow down","param":null}'
  });
  const read = (...events: object[]) =>
    events.reduce<Reply>(copilot.read, nothing).retrying;

  test('through its own words about it', () => {
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

  test('not those of an agent of the agent', () => {
    expect(read({ ...failure, agentId: 'a-2' })).toBeUndefined();
  });
});

describe('gemini-cli counts what fails in a row, on stderr', () => {
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

  test('until something works on stdout', () => {
    const message = { type: 'message', role: 'assistant', content: 'Hi' };
    const reply: Reply = geminiCli.read(twice, message);
    expect(reply.retrying).toBeUndefined();
  });

  test.each(['', '    at run (file:///x.js:1:2)', 'Ripgrep is not available.'])(
    '%j says nothing',
    (line) => {
      expect(geminiCli.readError(nothing, line)).toBe(nothing);
    }
  );
});
