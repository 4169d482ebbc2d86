import { z } from 'zod';
import type { Answers } from './beside-tools.ts';
import type { Prompts } from './prompts/prompts.ts';
import type { Completion } from './prompts/suggest.ts';
import { invalidParams } from './protocol-error.ts';
import type { Resources } from './resources.ts';

const paramsSchema = z.object({
  ref: z.discriminatedUnion('type', [
    z.object({ type: z.literal('ref/prompt'), name: z.string() }),
    z.object({ type: z.literal('ref/resource'), uri: z.string() })
  ]),
  argument: z.object({ name: z.string(), value: z.string() })
});

const nothing: Completion = { values: [], total: 0, hasMore: false };

/** Completes what a user types for a prompt, or for a resource's template. */
export function completionAnswers(
  offered: () => Promise<{
    prompts: Prompts | undefined;
    resources: Resources | undefined;
  }>
): Answers {
  return {
    'completion/complete': async (params) => {
      const { data } = paramsSchema.safeParse(params);
      if (!data)
        throw invalidParams(
          'The request wants "ref" (ref/prompt with a name, or ref/resource with a uri) and "argument" with name and value.'
        );
      const { ref, argument } = data;
      const { prompts, resources } = await offered();
      const { name, value } = argument;
      const completion =
        ref.type === 'ref/prompt'
          ? await prompts?.complete(ref.name, name, value)
          : await resources?.complete(ref.uri, name, value);
      return { completion: completion ?? nothing };
    }
  };
}
