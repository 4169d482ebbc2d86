import { isAbsolute } from 'node:path';
import { config, z } from 'zod';
import { nearest } from '../nearest.ts';
import { failureCodes } from './failures.ts';
import { compareReleases } from './releases.ts';
import { makeTurns } from './turn-shape.ts';

type Shapes = ReturnType<typeof makeShapes>;
let shapes: Shapes | undefined;

/** The schemas of the plugin contract, created at first use. */
export function pluginShapes(): Shapes {
  shapes ??= makeShapes();
  return shapes;
}

/**
 * A copy of an engine that has the members of the contract.
 * @throws ZodError, which names misspelt members in place of missing ones
 */
export function parseEngine(value: unknown): unknown {
  const { data, error } = pluginShapes().engine.safeParse(value);
  if (!error) return data;
  throw new z.ZodError(
    error.issues.map((issue) => ({
      ...issue,
      message: issue.message + suggestionAt(value, issue.path)
    }))
  );
}

/** `; nme: did you mean "name"?` for a missing member; else empty. */
function suggestionAt(value: unknown, path: PropertyKey[]): string {
  const name = String(path.at(-1));
  let holder = value;
  for (const key of path.slice(0, -1))
    holder = Reflect.get(Object(holder), key);
  const members = Object(holder);
  if (path.length === 0 || Reflect.get(members, name) !== undefined) return '';
  const typed = Object.keys(members).find(
    (key) => nearest(key, [name]).length > 0
  );
  return typed === undefined ? '' : `; ${typed}: did you mean "${name}"?`;
}

/** All issues on one line, like `models.aliases.fast: expected string`. */
export function describeIssues({ issues }: z.ZodError): string {
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

type Words = ReturnType<typeof makeWords>;

function makeWords() {
  const callable = z.custom<(...args: never[]) => unknown>(
    (value) => typeof value === 'function',
    'must be a function'
  );

  /** The operating system does not accept NUL in an argument or a variable. */
  const word = z
    .string()
    .refine((text) => !text.includes('\0'), 'holds a NUL character');
  const filled = word.min(1);
  const line = filled.regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must be one line');
  const seconds = z.number().min(0).max(604_800);

  return { callable, word, filled, line, seconds };
}

function makeEngine({ callable, word, filled, line, seconds }: Words) {
  const name = z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,25}$/,
      'lower-case letters, digits and dashes, at most 26, a letter first'
    );
  const basics = {
    name,
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

  // Loose objects: a plugin may keep its own data in the object.
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
              named: callable.optional(),
              set: callable.optional()
            })
            .optional(),
          read: callable.optional(),
          readError: callable.optional(),
          turns: callable.optional(),
          usageLog: z
            .looseObject({ path: callable, read: callable })
            .optional(),
          resumes: z.boolean().optional(),
          takesSessionId: z.boolean().optional(),
          createChat: z.array(word).min(1).optional(),
          oneAtATime: z.boolean().optional(),
          connect: callable.optional(),
          asks: z
            .looseObject({
              access: z.array(z.enum(['read', 'write', 'full'])).min(1),
              edits: z.array(filled),
              reads: z.array(filled),
              session: z.looseObject({ type: filled, field: filled }).optional()
            })
            .optional(),
          interactive: z
            .looseObject({
              args: callable,
              env: callable.optional(),
              typesPrompt: z.boolean().optional()
            })
            .optional(),
          workerAliases: z.array(name).optional(),
          probe: z
            .looseObject({
              version: z.array(word).optional(),
              verified: verified.optional(),
              help: z.array(z.array(word)).optional(),
              unlisted: z.array(flag).optional(),
              login: z
                .looseObject({ args: z.array(word), read: callable })
                .optional(),
              provider: callable.optional(),
              loginHint: line.optional(),
              env: z.record(z.string(), z.string()).optional()
            })
            .optional()
        })
        .refine(({ read, readError }) => read || !readError, {
          path: ['readError'],
          error: 'needs "read", which shows that a run goes on'
        })
        .refine(({ connect, asks }) => connect || !asks, {
          path: ['asks'],
          error: 'needs "connect", which gives the agent its server'
        })
        .refine(({ resumes, asks }) => resumes || !asks?.session, {
          path: ['asks', 'session'],
          error: 'needs "resumes", with which a parked run goes on'
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

/** The schemas for the results of an engine's functions. */
function makeAnswers({ word, filled, line, seconds }: Words) {
  const reply = compiled(makeReply);
  const args = z.array(word);
  const variables = z.record(filled.regex(/^[^=]+$/, 'holds "="'), word);

  return {
    args,
    stdin: z.string(),
    'env.set': variables,
    'env.named': args,
    'probe.provider': nullToUndefined(
      z.object({ name: line, keyName: nullToUndefined(line) })
    ),
    connect: z.object({
      args,
      env: nullToUndefined(variables),
      files: nullToUndefined(z.record(z.string(), z.string())).check(
        namesInside
      ),
      links: nullToUndefined(
        z.record(
          z.string(),
          word.refine(isAbsolute, 'must be an absolute path')
        )
      ).check(namesInside)
    }),
    'interactive.args': args,
    'interactive.env': variables,
    tools: line.max(500),
    timeoutSeconds: seconds,
    read: reply,
    readError: reply,
    turns: makeTurns(),
    'usageLog.path': nullToUndefined(word),
    'usageLog.read': reply,
    failure: nullToUndefined(z.enum(failureCodes)),
    // Not loose: the reply is stored, so unknown members are stripped.
    generate: z.object({
      ...z.object(reply.shape).omit({ sessionId: true }).shape,
      finished: nullToUndefined(z.boolean())
    })
  };
}

function makeReply() {
  const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
  const failure = z.object({ code: z.enum(failureCodes), message: z.string() });
  return z.looseObject({
    text: z.string(),
    finished: z.boolean(),
    failure: nullToUndefined(failure),
    sessionId: nullToUndefined(z.string()),
    model: nullToUndefined(z.string()),
    usage: nullToUndefined(
      z.object({
        prompt_tokens: count,
        completion_tokens: count,
        total_tokens: count
      })
    ),
    usageScope: nullToUndefined(z.enum(['run', 'session'])),
    cachedTokens: nullToUndefined(count),
    costUsd: nullToUndefined(count),
    progress: nullToUndefined(z.string()),
    retrying: nullToUndefined(
      z.object({
        times: z.int().min(0),
        why: failure,
        waitSeconds: nullToUndefined(z.number().min(0))
      })
    ),
    denials: nullToUndefined(z.array(z.string())),
    edits: nullToUndefined(
      z.object({ paths: z.array(z.string()), isAll: z.boolean() })
    )
  });
}

/** Enables zod's JIT for the schema that parses each line of output. */
function compiled<Shape>(make: () => Shape): Shape {
  const { jitless = false } = config();
  config({ jitless: false });
  try {
    return make();
  } finally {
    config({ jitless });
  }
}

/** Rejects file names that lead outside the directory. */
function namesInside({
  value,
  issues
}: z.core.ParsePayload<object | undefined>) {
  for (const name of Object.keys(value ?? {}))
    if (
      !/^[^\p{Cc}:]+$/u.test(name) ||
      name.split(/[/\\]/).some((part) => ['', '.', '..'].includes(part))
    )
      issues.push({
        code: 'custom',
        input: name,
        path: [name],
        message: 'must be a name inside the directory'
      });
}

/** Accepts null as undefined, because JSON has no undefined. */
function nullToUndefined<Shape extends z.ZodType>(shape: Shape) {
  return shape.nullish().transform((value) => value ?? undefined);
}
