import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { z } from 'zod';
import type { Answers } from '../beside-tools.ts';
import { invalidParams } from '../protocol-error.ts';
import type { Prompts } from './prompts.ts';

const getParams = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.string()).default({})
});

/** The methods of the protocol that are about prompts. */
export function promptAnswers(
  server: Server,
  offered: () => Promise<Prompts | undefined>
): Answers {
  return {
    'prompts/list': async () => ({
      prompts: (await (await offered())?.list()) ?? []
    }),
    'prompts/get': async (params) => {
      const { data } = getParams.safeParse(params);
      if (!data)
        throw invalidParams(
          'The request wants "name", and "arguments" with a text for each.'
        );
      const prompts = await offered();
      if (!prompts) throw invalidParams('This server has no prompts.');
      const clientName = server.getClientVersion()?.name ?? '';
      const { name, arguments: given } = data;
      const { description, text } = await prompts.get(name, given, clientName);
      const content = { type: 'text', text };
      return { description, messages: [{ role: 'user', content }] };
    }
  };
}
