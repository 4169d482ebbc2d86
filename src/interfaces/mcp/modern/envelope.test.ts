import { expect, test } from 'vitest';
import {
  type ModernOptions,
  metaWithout,
  modernParams
} from '../../../../test/kit/servers/modern-client.ts';
import { envelopeOf } from './envelope.ts';
import { ModernError, supportedRevisions } from './revision.ts';

function refused(params: unknown): ModernError {
  try {
    envelopeOf(params);
  } catch (error) {
    if (error instanceof ModernError) return error;
  }
  throw new Error('it was taken');
}

const read = (options: ModernOptions = {}) =>
  envelopeOf(modernParams({}, options));

test('a request names its client, and keeps what is not for the server alone', () => {
  const meta = { progressToken: 7, traceparent: '00-1' };
  expect(read({ client: 'one', meta })).toEqual({
    client: { name: 'one', version: '1' },
    capabilities: {},
    meta
  });
});

test('a client may stay unnamed', () => {
  const { client } = read({ meta: metaWithout('clientInfo') });
  expect(client).toEqual({ name: '', version: '' });
});

test.each([
  [undefined, 'protocolVersion'],
  [{}, 'protocolVersion'],
  [{ _meta: null }, 'protocolVersion'],
  [
    modernParams({}, { meta: metaWithout('protocolVersion') }),
    'protocolVersion'
  ],
  [
    modernParams({}, { meta: metaWithout('clientCapabilities') }),
    'clientCapabilities'
  ],
  [
    modernParams(
      {},
      { meta: { 'io.modelcontextprotocol/clientInfo': { name: 'x' } } }
    ),
    'clientInfo.version'
  ]
])('%j is refused for its %s', (params, field) => {
  const { code, status, message } = refused(params);
  expect({ code, status }).toEqual({ code: -32602, status: 400 });
  expect(message).toContain(field);
});

test('an unsupported revision is refused with the supported ones', () => {
  const { code, status, data } = refused(
    modernParams({}, { version: '2027-01-01' })
  );
  expect({ code, status, data }).toEqual({
    code: -32022,
    status: 400,
    data: { supported: supportedRevisions, requested: '2027-01-01' }
  });
  expect(supportedRevisions).toEqual([...new Set(supportedRevisions)]);
  expect(supportedRevisions).toEqual([...supportedRevisions].sort().reverse());
});
