import { isAbsolute } from 'node:path';
import { config, z } from 'zod';
import type { Words } from './engine-shape.ts';
import { failureCodes } from './failure-codes.ts';

/** What the functions of an engine may give back. */
export function makeAnswers({ word, filled, line, seconds }: Words) {
  const reply = compiled(makeReply);
  const args = z.array(word);
  const variables = z.record(filled.regex(/^[^=]+$/, 'holds "="'), word);

  return {
    args,
    stdin: z.string(),
    'env.set': variables,
    connect: z.object({
      args,
      env: orNothing(variables),
      files: orNothing(z.record(z.string(), z.string())).check(namesPlaces),
      links: orNothing(
        z.record(
          z.string(),
          word.refine(isAbsolute, 'must be an absolute path')
        )
      ).check(namesPlaces)
    }),
    'interactive.args': args,
    'interactive.env': variables,
    tools: line.max(500),
    timeoutSeconds: seconds,
    read: reply,
    readError: reply,
    failure: orNothing(z.enum(failureCodes)),
    // Only what is listed: it is written down as it is.
    generate: z.object({
      ...z.object(reply.shape).omit({ sessionId: true }).shape,
      finished: orNothing(z.boolean())
    })
  };
}

function makeReply() {
  const tokens = z.number();
  const failure = z.object({ code: z.enum(failureCodes), message: z.string() });
  return z.looseObject({
    text: z.string(),
    finished: z.boolean(),
    failure: orNothing(failure),
    sessionId: orNothing(z.string()),
    model: orNothing(z.string()),
    usage: orNothing(
      z.object({
        prompt_tokens: tokens,
        completion_tokens: tokens,
        total_tokens: tokens
      })
    ),
    usageScope: orNothing(z.enum(['run', 'session'])),
    cachedTokens: orNothing(z.number()),
    costUsd: orNothing(z.number()),
    progress: orNothing(z.string()),
    retrying: orNothing(z.object({ times: z.int().min(0), why: failure })),
    denials: orNothing(z.array(z.string()))
  });
}

/**
 * Where other schemas stay as they are written: this one is asked at every
 * line that an agent puts out.
 */
function compiled<Shape>(make: () => Shape): Shape {
  const { jitless = false } = config();
  config({ jitless: false });
  try {
    return make();
  } finally {
    config({ jitless });
  }
}

/** Names of files and folders that lie in the directory they are put in. */
function namesPlaces({
  value,
  issues
}: z.core.ParsePayload<object | undefined>) {
  for (const name of Object.keys(value ?? {}))
    if (!/^[^\p{Cc}:]+$/u.test(name) || name.split(/[/\\]/).some(isNoName))
      issues.push({
        code: 'custom',
        input: name,
        path: [name],
        message: 'must be a name inside the directory'
      });
}

function isNoName(part: string): boolean {
  return part === '' || part === '.' || part === '..';
}

/** Events are JSON, where nothing is null. */
function orNothing<Shape extends z.ZodType>(shape: Shape) {
  return shape.nullish().transform((value) => value ?? undefined);
}
