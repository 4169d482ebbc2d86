import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { modernParams } from '../../../../test/kit/servers/modern-client.ts';
import { StdioTransport } from '../transport/stdio-transport.ts';
import { ModernStdio } from './modern-stdio.ts';

test('a request that the client cancels before its answer gets none', async () => {
  const output = new PassThrough();
  let written = '';
  output.setEncoding('utf8').on('data', (text) => {
    written += text;
  });
  const modern = new ModernStdio(
    {
      life: {
        ending: new AbortController().signal,
        track: (call) => call
      },
      instructions: '',
      // No request needs what is offered.
      offer: () => new Promise(() => undefined)
    },
    new StdioTransport(new PassThrough(), output)
  );
  const discover = (id: string) =>
    modern.receive({
      jsonrpc: '2.0',
      id,
      method: 'server/discover',
      params: modernParams()
    });
  discover('canceled');
  expect(modern.cancel('canceled')).toBe(true);
  discover('next');
  await until('the next answer', () => written.includes('\n'));
  expect(JSON.parse(written)).toMatchObject({ id: 'next', result: {} });
  expect(modern.cancel('canceled')).toBe(false);
});
