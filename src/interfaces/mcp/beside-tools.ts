import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Host } from '../../host.ts';
import { completionAnswers } from './completion.ts';
import type { Life } from './lifecycle.ts';
import { promptAnswers } from './prompts/prompt-answers.ts';
import { Prompts } from './prompts/prompts.ts';
import { told } from './protocol-error.ts';
import { resourceAnswers } from './resources.ts';
import { resourcesOf } from './resources-of.ts';

/** Method of the protocol → its answer to a request's parameters. */
export type Answers = Record<
  string,
  (params: unknown) => Promise<Record<string, unknown>>
>;

/**
 * What a server has beside its tools: prompts, resources, and completion for
 * both. Loaded at the first request for any of it: most clients only start.
 */
export function besideTools(
  server: Server,
  life: Life,
  hostOf: () => Promise<Host | undefined>
): Answers {
  let found: ReturnType<typeof partsOf> | undefined;
  const parts = async () => {
    found ??= partsOf(await hostOf());
    return found;
  };
  const answers: Answers = {
    ...promptAnswers(server, async () => (await parts()).prompts),
    ...resourceAnswers(server, life, async () => (await parts()).resources),
    ...completionAnswers(parts)
  };
  return Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (params: unknown) => told(() => answer(params))
    ])
  );
}

function partsOf(host: Host | undefined) {
  return host
    ? { prompts: new Prompts(host), resources: resourcesOf(host) }
    : { prompts: undefined, resources: undefined };
}
