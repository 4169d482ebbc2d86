import { expect, test } from 'vitest';
import { HostError } from '../../../core/errors.ts';
import { NotRegular } from '../../../core/state/files/regular-file.ts';
import {
  answeredBy,
  invalidParams,
  ProtocolError,
  refuseCursor,
  shortened,
  withProtocolErrors
} from './protocol.ts';

const failed = (error: unknown) =>
  expect(withProtocolErrors(() => Promise.reject(error))).rejects;

test('an error of the protocol is passed on as it is', async () => {
  const error = invalidParams('Wrong.');
  expect(error.code).toBe(-32602);
  await failed(error).toBe(error);
});

test('an error that the caller can repair keeps its text and its hint', async () => {
  const error = new HostError('invalid_input', 'It is wrong.', 'Do it right.');
  await failed(error).toMatchObject({
    code: -32603,
    message: 'It is wrong. Do it right.'
  });
  await failed(new NotRegular('x')).toMatchObject({
    code: -32603,
    message: expect.stringMatching(/Move it away\.$/)
  });
});

test('any other error gives no details, except the code of a file error', async () => {
  await failed(new Error('a secret')).toMatchObject({
    code: -32603,
    message:
      'Something went wrong inside troupe. Look at the server log (stderr).'
  });
  const denied = Object.assign(new Error('a secret'), { code: 'EACCES' });
  await failed(denied).toMatchObject({
    code: -32603,
    message: expect.stringMatching(/^A file cannot be read \(EACCES\)\./)
  });
});

test('a result is passed on', async () => {
  expect(await withProtocolErrors(async () => 1)).toBe(1);
});

test('an error names a URI of up to 1000 characters', () => {
  const dataFor = (uri?: string) => new ProtocolError(1, 'x', uri).data;
  expect(dataFor('u'.repeat(1000))).toEqual({ uri: 'u'.repeat(1000) });
  expect(dataFor('u'.repeat(1001))).toBeUndefined();
  expect(dataFor()).toBeUndefined();
});

test('a list takes no cursor', () => {
  for (const params of [undefined, null, {}, { cursor: undefined }])
    expect(() => refuseCursor(params)).not.toThrow();
  const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  for (const cursor of ['', '1', 0, null, deep])
    expect(() => refuseCursor({ cursor })).toThrow('Unknown cursor');
  expect(() => refuseCursor({ cursor: 'x'.repeat(61) })).toThrow(
    `"${'x'.repeat(60)}…"`
  );
});

test('a word of up to 60 characters is not cut', () => {
  expect(shortened('x'.repeat(60))).toBe('x'.repeat(60));
  expect(shortened('x'.repeat(61))).toBe(`${'x'.repeat(60)}…`);
});

test.each([
  [{ id: 1, result: {} }, 1],
  [{ id: 'a', error: {} }, 'a'],
  [{ id: 0, result: {} }, 0],
  [{ id: null, error: {} }, undefined],
  [{ id: 1, method: 'ping' }, undefined],
  [{ method: 'note' }, undefined]
])('%o answers the request %s', (message, id) => {
  expect(answeredBy(message)).toBe(id);
});
