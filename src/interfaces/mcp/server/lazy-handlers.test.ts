import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { expect, test } from 'vitest';
import { lazyHandlers } from './lazy-handlers.ts';

test.each(['prompts/list', 'resources/list', 'resources/templates/list'])(
  '%s has one page: it is refused with a cursor',
  async (method) => {
    const handle = lazyHandlers(
      {
        server: new Server({ name: 'test', version: '1' }),
        ending: new AbortController().signal,
        canNotify: () => false
      },
      async () => undefined
    )[method];
    await expect(handle?.({ cursor: 'x' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown cursor "x"')
    });
    expect(Object.values((await handle?.({})) ?? {})).toEqual([[]]);
  }
);
