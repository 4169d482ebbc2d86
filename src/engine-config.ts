import { z } from 'zod';

const seconds = z.number().min(0).max(604_800);

/** `engines.<name>` of the configuration. */
export const engineSchema = z
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
      .optional()
      .describe('The model when a call names none.'),
    timeoutSeconds: seconds
      .optional()
      .describe('Time limit when a call names none. `0`: none.'),
    idleTimeoutSeconds: seconds
      .optional()
      .describe(
        'An agent without output for so long is stopped. `0`: never. Default: 600; of APIs, never.'
      ),
    retrySeconds: seconds
      .optional()
      .describe(
        'After so long of failures in a row, one more ends the run. `0`: none does.'
      ),
    baseUrl: z
      .url({ protocol: /^https?$/ })
      // It shows in errors and in arguments, where no secret may be.
      .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), {
        error: 'An address holds no user name or password'
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
          .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no name of a variable')
          .refine((name) => !name.startsWith('TROUPE_'), {
            error: 'is a variable of troupe itself'
          })
      )
      .optional()
      .describe(
        "Names of variables handed on from the server's environment, such as a gateway's key."
      ),
    maxConcurrent: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        'Agents of this engine at work at once in the workspace. Default: no limit of its own.'
      )
  })
  .describe('Settings of one engine. Naming one switches it on.');

export type EngineSettings = z.output<typeof engineSchema>;
