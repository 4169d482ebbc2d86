import { z } from 'zod';
import { mostAskSeconds } from '../core/asks/ask.ts';
import { lazy } from '../core/lazy.ts';
import { councilSchema } from './council.ts';
import { defaultConfig } from './defaults.ts';
import { httpSchema } from './http.ts';
import { orchestratorSchema } from './orchestrator.ts';
import { retentionSchema } from './retention.ts';
import { squadSchema } from './squads.ts';

/** `engines.<name>` of the configuration. */
const engineSchema = lazy(() => {
  const seconds = z.number().min(0).max(604_800);
  return z
    .strictObject({
      enabled: z
        .boolean()
        .optional()
        .describe('`false` takes the engine and its tool away.'),
      command: z
        .string()
        .min(1)
        .optional()
        .describe("A program's name or path, in place of the engine's own."),
      args: z
        .array(z.string())
        .optional()
        .describe('Arguments put before those of the engine.'),
      model: z
        .string()
        .min(1)
        .refine((model) => !model.startsWith('-'), {
          error: 'begins with "-", which a program would take for a flag'
        })
        .optional()
        .describe('The model when a call names none.'),
      timeoutSeconds: seconds
        .optional()
        .describe('Time limit when a call names none. `0`: none.'),
      idleTimeoutSeconds: seconds
        .optional()
        .describe(
          'An agent without output for this long is stopped. `0`: never. Default: 600; for APIs: never.'
        ),
      retrySeconds: seconds
        .optional()
        .describe(
          'After failures in a row for this long, the next one ends the run. `0`: never.'
        ),
      baseUrl: z
        .url({ protocol: /^https?$/ })
        // The address appears in errors and arguments, which show no secrets.
        .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), {
          error: 'An address must not contain a user name or password'
        })
        .optional()
        .describe('Another address of the provider.'),
      stream: z
        .boolean()
        .optional()
        .describe(
          'APIs only: `false` where the address cannot stream. Default: `true`.'
        ),
      env: z
        .record(z.string(), z.string())
        .optional()
        .describe("Variables added to the agent's environment."),
      passEnv: z
        .array(
          z
            .string()
            .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a variable name')
            .refine((name) => !name.startsWith('TROUPE_'), {
              error: 'is a variable of troupe itself'
            })
        )
        .optional()
        .describe(
          "Names of variables passed on from the server's environment, such as a gateway's key."
        ),
      maxConcurrent: z
        .number()
        .int()
        .min(1)
        .optional()
        .describe(
          'How many agents of this engine may run at once in the workspace. Default: no separate limit.'
        )
    })
    .describe('Settings of one engine. Naming one switches it on.');
});

/** The configuration's `onEnd`. */
const onEndSchema = lazy(() => {
  const defaults = defaultConfig().onEnd;
  return z
    .strictObject({
      command: z
        .array(z.string())
        .min(1)
        .refine(([program = '']) => program.trim() !== '', {
          error: 'names no program'
        })
        .optional()
        .describe(
          'A program and its arguments, run once for each end without a shell; it reads JSON on stdin and has 10 seconds.'
        ),
      bell: z
        .boolean()
        .default(defaults.bell)
        .describe(
          '`true` rings the bell of the terminals in which `troupe watch`, `wait` or `run` follows the agent.'
        ),
      osc: z
        .union([z.literal(9), z.literal(777)])
        .optional()
        .describe(
          'The sequence that shows a notification in these terminals: `9` (such as iTerm2, kitty, WezTerm) or `777` (such as Ghostty, foot).'
        ),
      minSeconds: z
        .number()
        .min(0)
        .max(604_800)
        .default(defaults.minSeconds)
        .describe('Shorter runs are not reported.')
    })
    .describe('How an ended agent is reported to you.');
});

/** The configuration's `asks`. */
const asksSchema = lazy(() => {
  const defaults = defaultConfig().asks;
  const filled = z.string().min(1);

  const askRule = z
    .strictObject({
      engine: filled.optional().describe('The name of an engine.'),
      tool: filled.optional().describe('The tool, as the engine names it.'),
      command: filled
        .optional()
        .describe(
          'The first words of the command. A line that is more than one plain command is never allowed by it.'
        ),
      path: filled
        .optional()
        .describe(
          'A pattern for the file, relative to the workspace: `docs/**`.'
        ),
      url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe('The origin of the address: `https://example.org`.')
    })
    .refine((given) => Object.keys(given).length > 0, {
      error: 'needs at least one field'
    })
    .describe('All fields that are given have to match.');

  return z
    .strictObject({
      allow: z
        .array(askRule)
        .default([])
        .describe('Permissions that are granted.'),
      deny: z
        .array(askRule)
        .default([])
        .describe('Permissions that are refused. They override `allow`.'),
      parkAfter: z
        .number()
        .min(0)
        .max(mostAskSeconds)
        .default(defaults.parkAfter)
        .describe(
          'Seconds after which an agent that waits for an answer is ended, to go on in its session once that comes. Not where an ask has less than 1.25 times as long. 0: never.'
        )
    })
    .describe('Permissions and questions that agents ask for.');
});

/** The configuration file. Every key is optional. */
export const configSchema = lazy(() => {
  const defaults = defaultConfig();
  const dollars = z.number().min(0);
  const count = z.number().int().min(1);
  return z.strictObject({
    $schema: z.string().optional().describe('For editors; not read.'),
    engines: z
      .record(z.string(), z.union([z.literal(true), engineSchema()]))
      .default({})
      .describe(
        'Settings of engines, by name. `true` switches one on as it is.'
      ),
    plugins: z
      .array(z.union([z.string().min(1), z.looseObject({})]))
      .default([])
      .describe(
        'Engines of your own: paths that start with `.` or `/`, relative to this file, package names, or, in a module, the engines themselves.'
      ),
    toolsets: z
      .array(
        z.enum([
          'spawn',
          'runs',
          'squad',
          'council',
          'orchestrator',
          'worker',
          'all'
        ])
      )
      .refine((names) => !names.includes('worker') || names.length === 1, {
        error: '"worker" is only ever served alone'
      })
      .optional()
      .describe(
        'Groups of tools to serve. Default: `spawn`, `runs`, `squad` and `council`. `worker` is for the servers of workers.'
      ),
    maxAccess: z
      .enum(['read', 'write', 'full'])
      .default(defaults.maxAccess)
      .describe(
        'The most that any agent may do; a call that asks for more gets this.'
      ),
    maxConcurrent: count
      .default(defaults.maxConcurrent)
      .describe(
        'How many agents that are programs may run at once in the workspace; more are queued.'
      ),
    maxConcurrentApi: count
      .default(defaults.maxConcurrentApi)
      .describe(
        'How many agents of APIs may run at once in the workspace; more are queued.'
      ),
    maxSpawnsPerMinute: z
      .number()
      .int()
      .min(0)
      .default(defaults.maxSpawnsPerMinute)
      .describe(
        'How many agents may be started per minute in the workspace, a tenth of them by agents. `0`: no limit.'
      ),
    prices: z
      .record(
        z.string(),
        z.strictObject({
          input: dollars.describe('Of what the model reads.'),
          output: dollars.describe('Of what it writes.'),
          cached: dollars
            .optional()
            .describe('Of cached input, where it has a price of its own.')
        })
      )
      .default({})
      .describe(
        'US dollars per million tokens, by model. They override the published prices.'
      ),
    maxDepth: count
      .default(defaults.maxDepth)
      .describe(
        'How deep agents may start agents. `1`: only your client starts them.'
      ),
    onDisconnect: z
      .enum(['keep', 'stop'])
      .default(defaults.onDisconnect)
      .describe(
        'Running agents when their server ends: `keep` lets them finish, `stop` ends them.'
      ),
    outputLimitMegabytes: z
      .number()
      .positive()
      .default(defaults.outputLimitMegabytes)
      .describe('An agent with more output is stopped.'),
    diskLimitMegabytes: z
      .number()
      .min(0)
      .default(defaults.diskLimitMegabytes)
      .describe(
        'No agent is started while the folders of all agents hold more. `0`: no limit.'
      ),
    retention: retentionSchema().prefault({}),
    rolesDirectory: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Where role files of your own lie, relative to the workspace. Default: `agents`.'
      ),
    squad: squadSchema().prefault({}),
    council: councilSchema().prefault({}),
    orchestrator: orchestratorSchema().prefault({}),
    asks: asksSchema().prefault({}),
    http: httpSchema().prefault({}),
    onEnd: onEndSchema().prefault({}),
    iac: z
      .strictObject({
        entries: count
          .max(200)
          .default(defaults.iac.entries)
          .describe('Entries; older ones go to `logs/archive/`.'),
        megabytes: z
          .number()
          .positive()
          .max(4)
          .default(defaults.iac.megabytes)
          .describe('Size of the entries; older ones go to `logs/archive/`.')
      })
      .describe('How long `logs/IAC.md` gets.')
      .prefault({}),
    journal: z
      .strictObject({
        megabytes: z
          .number()
          .positive()
          .default(defaults.journal.megabytes)
          .describe(
            'Above this size it becomes a segment, and a new one begins.'
          )
      })
      .describe('How long the journal `iac.jsonl` gets.')
      .prefault({})
  });
});

export type FileConfig = z.output<ReturnType<typeof configSchema>>;
export type EngineSettings = z.output<ReturnType<typeof engineSchema>>;
export type OnEnd = FileConfig['onEnd'];
