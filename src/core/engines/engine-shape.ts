import { z } from 'zod';
import { makeAnswers } from './answer-shapes.ts';
import { compareReleases } from './compare-releases.ts';

type Shapes = ReturnType<typeof makeShapes>;
let shapes: Shapes | undefined;

/** Made for the first plugin: a start without any is 4 ms sooner. */
export function pluginShapes(): Shapes {
  shapes ??= makeShapes();
  return shapes;
}

/** `models.aliases.fast: expected string`, for each that is wrong. */
export function told({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => {
      const where = path
        .map((key) =>
          typeof key === 'number' ? `[${key}]` : `.${String(key)}`
        )
        .join('')
        .replace(/^\./, '');
      const what = message.replace(/^Invalid input: /, '');
      return where === '' ? what : `${where}: ${what}`;
    })
    .join('; ');
}

function makeShapes() {
  const words = makeWords();
  return { engine: makeEngine(words), answers: makeAnswers(words) };
}

export type Words = ReturnType<typeof makeWords>;

function makeWords() {
  const callable = z.custom<(...args: never[]) => unknown>(
    (value) => typeof value === 'function',
    'must be a function'
  );

  /** No program can be given a NUL character. */
  const word = z
    .string()
    .refine((text) => !text.includes('\0'), 'holds a NUL character');
  const filled = word.min(1);
  const line = filled.regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must be one line');
  const seconds = z.number().min(0).max(604_800);

  return { callable, word, filled, line, seconds };
}

function makeEngine({ callable, word, filled, line, seconds }: Words) {
  const basics = {
    name: z
      .string()
      .regex(
        /^[a-z][a-z0-9-]{0,25}$/,
        'lower-case letters, digits and dashes, at most 26, a letter first'
      ),
    label: line.max(60).optional(),
    description: filled.max(500),
    models: z
      .looseObject({
        default: filled.optional(),
        aliases: z.record(z.string(), filled).optional(),
        retired: z.record(z.string(), filled).optional()
      })
      .optional(),
    timeoutSeconds: z
      .union([seconds, callable], {
        error: 'must be seconds from 0 to 604800, or a function'
      })
      .optional(),
    failure: callable.optional()
  };

  const release = filled.regex(/^\d+(\.\d+)+$/, 'must be like 1.2.3');
  const verified = z
    .object({ oldest: release, newest: release })
    .refine(({ oldest, newest }) => compareReleases(oldest, newest) <= 0, {
      path: ['oldest'],
      error: 'is newer than "newest"'
    });
  const flag = word.regex(
    /^--?[a-z][\w.-]*$/i,
    'must be a flag without its value, like --mode'
  );
  const enforcement = z.enum(['enforced', 'asked']);

  // Every member of the contract; others are the plugin's own.
  return z.discriminatedUnion(
    'kind',
    [
      z
        .looseObject({
          ...basics,
          kind: z.literal('cli'),
          command: filled,
          install: line.optional(),
          access: z
            .strictObject({
              read: enforcement,
              write: enforcement,
              full: enforcement
            })
            .optional(),
          tools: callable.optional(),
          idleTimeoutSeconds: seconds.optional(),
          retrySeconds: seconds.optional(),
          args: callable,
          stdin: callable.optional(),
          env: z
            .looseObject({
              keep: z.array(filled).optional(),
              keepIf: z.record(filled, z.array(filled)).optional(),
              drop: z.array(filled).optional(),
              set: callable.optional()
            })
            .optional(),
          read: callable.optional(),
          readError: callable.optional(),
          resumes: z.boolean().optional(),
          takesSessionId: z.boolean().optional(),
          createChat: z.array(word).min(1).optional(),
          oneAtATime: z.boolean().optional(),
          connect: callable.optional(),
          interactive: z
            .looseObject({
              args: callable,
              env: callable.optional(),
              typesPrompt: z.boolean().optional()
            })
            .optional(),
          probe: z
            .looseObject({
              version: z.array(word).optional(),
              verified: verified.optional(),
              help: z.array(z.array(word)).optional(),
              unlisted: z.array(flag).optional(),
              login: z
                .looseObject({ args: z.array(word), read: callable })
                .optional(),
              loginHint: line.optional()
            })
            .optional()
        })
        .refine(({ read, readError }) => read || !readError, {
          path: ['readError'],
          error: 'needs "read", which tells that a run goes on'
        })
        .refine(({ resumes, takesSessionId }) => resumes || !takesSessionId, {
          path: ['takesSessionId'],
          error: 'needs "resumes": nothing else continues a session'
        })
        .refine(({ resumes, createChat }) => resumes || !createChat, {
          path: ['createChat'],
          error: 'needs "resumes": nothing else continues a session'
        }),
      z.looseObject({
        ...basics,
        kind: z.literal('api'),
        keyNames: z.array(filled),
        keyUrl: line.optional(),
        prices: filled.optional(),
        generate: callable
      })
    ],
    {
      error: ({ code }) =>
        code === 'invalid_union' ? 'must be "cli" or "api"' : undefined
    }
  );
}
