import { z } from 'zod';
import { toldIfCleaned } from '../../../core/runs/cleaned-agent.ts';
import { unknownAgent } from '../../../core/runs/continue-run.ts';
import type { Form } from '../../../core/runs/fit.ts';
import {
  inlineChars,
  type Report,
  readReport
} from '../../../core/runs/report.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { fitAnswer, said } from '../fit-answer.ts';
import { given } from '../given.ts';
import { agentId, reading } from './agent-input.ts';
import { listTool } from './list.ts';
import { waitTool } from './wait.ts';

/** Tools that follow agents of this workspace, whichever server has them. */
export function runTools(host: Host): Tool[] {
  return [listTool(host), resultTool(host), waitTool(host), cancelTool(host)];
}

function resultTool(host: Host): Tool {
  return defineTool({
    name: 'result',
    title: 'Result of an agent',
    description:
      'The answer of one agent, or how far it is, at once. A long one is truncated: offset reads on; full_output is the file with all of it.',
    input: z.strictObject({
      agent_id: agentId,
      offset: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('next_offset; 0: from the start')
    }),
    annotations: reading,
    _meta: { 'anthropic/maxResultSizeChars': 200_000 },
    handle: async ({ agent_id, offset }, context) => {
      const { store, tracker } = host;
      const run = await tracker.run(agent_id);
      if (!run)
        return {
          agent_id,
          status: 'not_found',
          message:
            toldIfCleaned(agent_id, store) ??
            'No agent has this id in this workspace. Call list.'
        };
      const report = await readReport(run, store, tracker, {
        offset,
        reach: inlineChars
      });
      const answer = fitAnswer(context.clientName, resultForms(report));
      return given(answer, host, context);
    }
  });
}

/** Paths can be so long that a client has no room for anything else. */
function resultForms({ full, words }: Report): Form[] {
  return [
    { answer: full, least: 600 },
    {
      answer: (told) => ({
        ...said(
          'Told shortly: its paths are too long for this client. Call result with offset next_offset to read on.'
        ),
        ...words(told)
      }),
      least: 0
    }
  ];
}

function cancelTool(host: Host): Tool {
  return defineTool({
    name: 'cancel_agent',
    title: 'Cancel an agent',
    description: 'Stops an agent and all that it started; its output is kept.',
    input: z.strictObject({
      agent_id: agentId,
      reason: z.string().max(500).optional()
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false
    },
    handle: async ({ agent_id, reason }) => {
      const before = await host.tracker.run(agent_id);
      const run = before?.outcome
        ? before
        : await host.cancel(agent_id, reason);
      if (!run) throw unknownAgent(agent_id, host.store);
      return {
        agent_id,
        status: run.status,
        message: before?.outcome
          ? `It had ended before (${run.status}); nothing was changed.`
          : `It is ${run.status}; result {"agent_id":"${agent_id}"} gives what it had said.`
      };
    }
  });
}
