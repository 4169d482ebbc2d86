import { z } from 'zod';
import { answeredFacts } from '../../../answers/asks.ts';
import type { Host } from '../../../host/host.ts';
import { acting, defineTool, type Tool } from '../tool/define-tool.ts';

/**
 * Answers an agent that asks for permission or for an answer. It is listed once
 * an agent may ask, so that no other client pays for its description.
 */
export function answerTool(host: Host): Tool {
  return defineTool({
    name: 'answer_agent',
    title: 'Answer an agent that asks',
    description:
      'Answers an ask, once. allow is for this one call; look at it first. A question takes text.',
    input: z.strictObject({
      ask_id: z.string().min(1).max(64),
      decision: z.enum(['allow', 'deny']).optional(),
      text: z.string().min(1).max(20_000).optional()
    }),
    annotations: { ...acting, destructiveHint: true },
    isListed: () => host.asks.isInUse,
    handle: async ({ ask_id, decision, text }, { clientName }) =>
      answeredFacts(
        host.asks.answer(
          { askId: ask_id, decision, text },
          { client: clientName }
        )
      )
  });
}
