import { z } from 'zod';
import type { Host } from '../../../host.ts';
import { defineTool, type TextOf, type Tool } from '../define-tool.ts';
import { said } from '../fit-answer.ts';

/** A name in the council: one that shows, of any script. */
export function councilName() {
  return z.string().trim().min(1).max(200);
}

/** Has one of our engines take part, once. */
export function summonTool(host: Host, textOf: TextOf | undefined): Tool {
  const { agentName } = host.config.councilDoor ?? {};
  const named: { agent_name?: z.ZodOptional<z.ZodString> } =
    agentName === undefined
      ? {
          agent_name: councilName().optional().describe('Default: the engine')
        }
      : {};
  return defineTool({
    name: 'summon_agent',
    title: 'Summon an agent',
    description:
      'Has an engine answer the request of the council in the background, read-only. Its final text becomes its response; if it fails, "summons" in your next answers says so.',
    input: z.strictObject({
      engine: z.string().min(1).max(64).describe('Such as "claude"'),
      ...named,
      model: z.string().min(1).max(200).optional()
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true
    },
    textOf,
    handle: async ({ engine, agent_name, model }) => {
      const { agentId, agentName, session, status, failure } =
        await host.summon({
          engine,
          agentName: agent_name === undefined ? undefined : String(agent_name),
          model
        });
      return {
        agent_id: agentId,
        agent_name: agentName,
        session_id: session.id,
        status,
        ...(failure
          ? { error: failure.message, error_code: failure.code }
          : said('Its response comes to all: go on, or wait_for_responses.'))
      };
    }
  });
}
