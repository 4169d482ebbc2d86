import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import { HostError } from '../../../core/errors.ts';
import { defineTool } from './define-tool.ts';

const context = callContext({ isThere: () => false });

afterEach(() => vi.restoreAllMocks());

function toolThat(
  handle: (input: {
    name: string;
    count: number;
  }) => Promise<Record<string, unknown>>
) {
  return defineTool({
    name: 'greet',
    title: 'Greet',
    description: 'Greets.',
    input: z.strictObject({
      name: z.string().min(1).describe('A person'),
      count: z.number().int().max(3).default(1)
    }),
    annotations: {
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false
    },
    handle
  });
}

const greet = toolThat(async ({ name, count }) => ({
  said: `${'hi '.repeat(count)}${name}`
}));

test('the schema lists each parameter and allows no other one', () => {
  expect(greet.inputSchema).toEqual({
    type: 'object',
    properties: {
      name: { type: 'string', description: 'A person' },
      count: {
        type: 'integer',
        minimum: expect.any(Number),
        maximum: 3,
        default: 1
      }
    },
    required: ['name'],
    additionalProperties: false
  });
});

test('text and structuredContent both have the whole answer', async () => {
  const answer = await greet.call({ name: 'you "all"\n' }, context);
  expect(answer.isError).toBeUndefined();
  expect(answer.structuredContent).toEqual({ said: 'hi you "all"\n' });
  expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(
    answer.structuredContent
  );
});

test.each([
  [{ name: 'x', nmae: 'y' }, /unknown parameter "nmae"/],
  [{ name: 'x', a: 1, b: 2 }, /unknown parameter "a", "b"/],
  [{}, /"name": /],
  [undefined, /"name": /],
  [null, /"name": /],
  [{ name: '' }, /"name": /],
  [{ name: 5 }, /"name": /],
  [{ name: 'x', count: 4 }, /"count": /],
  [{ name: 'x', count: '2' }, /"count": /],
  ['text', /greet: /],
  [[1], /greet: /],
  [JSON.parse('{"name":"x","__proto__":{"count":2}}'), /"__proto__"/]
])(
  '%j is refused, and the error lists the parameters',
  async (input, reason) => {
    const answer = await greet.call(input, context);
    expect(answer.isError).toBe(true);
    expect(answer.structuredContent).toMatchObject({
      error_code: 'invalid_input',
      error: expect.stringMatching(reason),
      hint: 'Parameters of greet: name, count.'
    });
  }
);

test('a HostError becomes an error answer with its code and hint', async () => {
  const tool = toolThat(async () => {
    throw new HostError('unknown_agent', 'There is no agent "x".', 'List.');
  });
  const answer = await tool.call({ name: 'x' }, context);
  expect(answer).toMatchObject({
    isError: true,
    structuredContent: {
      error_code: 'unknown_agent',
      error: 'There is no agent "x".',
      hint: 'List.'
    }
  });
  expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(
    answer.structuredContent
  );
});

test.each([
  ['ENOSPC', 'storage_full', 'full', 'Free some space'],
  ['EDQUOT', 'storage_full', 'full', 'Free some space'],
  ['EROFS', 'storage_unwritable', 'read-only', 'Mount it writable']
])(
  'a disk that refuses files (%s) is no bug',
  async (code, error_code, how, next) => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const refusal = Object.assign(new Error(`${code}: open 'x'`), { code });
    const answer = await toolThat(() => Promise.reject(refusal)).call(
      { name: 'x' },
      context
    );
    expect(answer).toMatchObject({
      isError: true,
      structuredContent: {
        error_code,
        error: `The disk was ${how} when greet had to write (${code}: open 'x').`,
        hint: `${next} and call again; running agents continue.`
      }
    });
    expect(stderr).not.toHaveBeenCalled();
  }
);

test.each([
  ['an error', () => new TypeError('a secret inside')],
  ['a text', () => 'a secret inside'],
  ['nothing', () => undefined]
])('%s thrown by a bug is logged to stderr only', async (_, thrown) => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const tool = toolThat(() => Promise.reject(thrown()));
  const answer = await tool.call({ name: 'x' }, context);
  expect(answer.isError).toBe(true);
  expect(answer.structuredContent?.error_code).toBe('internal');
  expect(JSON.stringify(answer)).not.toContain('secret');
  expect(String(stderr.mock.calls[0]?.[0])).toContain('greet failed');
});
