import { z } from 'zod';
import type { PluginFault } from '../../../core/engines/engine-registry.ts';
import type { Answer, Facts } from '../../../core/runs/fit.ts';
import { linePart, listPart, shortName } from '../../../core/runs/parts.ts';
import { secondsSince } from '../../../core/runs/report.ts';
import type { Run } from '../../../core/runs/run.ts';
import { ofAgent } from '../../../core/runs/words.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool } from '../define-tool.ts';
import { fitAnswer } from '../fit-answer.ts';
import { reading } from './agent-input.ts';

/** Agents of this workspace, whichever server has them. */
export function listTool(host: Host): Tool {
  return defineTool({
    name: 'list',
    title: 'List agents',
    description:
      'Agents of this workspace: running, queued, and the ids that ended last.',
    input: z.strictObject({
      limit: z
        .number()
        .int()
        .min(1)
        .max(100)
        .default(3)
        .describe('How many ended ids')
    }),
    annotations: reading,
    handle: async ({ limit }, { clientName }) => {
      const { active, over } = await host.tracker.standing();
      const all = {
        running: active.filter(({ status }) => status === 'running'),
        queued: active.filter(({ status }) => status === 'queued'),
        completed_ids: host.recent(limit, over),
        faults: host.faults
      };
      return fitAnswer(clientName, [
        { answer: (told) => listAll(all, told), least: 30 },
        { answer: (told) => listSome(all, told), least: 0 }
      ]);
    }
  });
}

interface Listed {
  running: Run[];
  queued: Run[];
  completed_ids: string[];
  faults: readonly PluginFault[];
}

function listAll(
  { running, queued, completed_ids, faults }: Listed,
  told: Parameters<Answer>[0]
): Facts {
  const row = (run: Run) => rowOf(run, told(linePart('task', taskOf(run))));
  const fault = ({ plugin, problem }: PluginFault) => ({
    plugin,
    ...told(linePart('problem', problem))
  });
  return {
    running: running.map(row),
    queued: queued.map(row),
    completed_ids,
    ...(faults.length > 0 ? { faults: faults.map(fault) } : {}),
    tip:
      running.length + queued.length > 0
        ? 'wait_for_agents waits for them and gives their results.'
        : 'Nothing is running. result gives the answer of one that has ended.'
  };
}

/** Of so many agents, those that there is room for. */
function listSome(
  { running, queued, completed_ids, faults }: Listed,
  told: Parameters<Answer>[0]
): Facts {
  const row = (run: Run) => rowOf(run, { task: shortName(taskOf(run), 20) });
  return {
    ...told(listPart('running', running.map(row))),
    ...told(listPart('queued', queued.map(row))),
    ...told(listPart('completed_ids', completed_ids)),
    ...(faults.length > 0 ? told(listPart('faults', [...faults])) : {}),
    tip: 'Not all have room here. wait_for_agents waits for all; see troupe list and troupe doctor for the rest.'
  };
}

function rowOf({ record, status }: Run, task: Facts): Facts {
  const { squad } = record;
  return {
    id: record.agent_id,
    type: record.engine,
    sec: secondsSince(record),
    // Another agent wrote it.
    ...(record.parent === null ? {} : ofAgent),
    ...task,
    status,
    ...(squad ? { squadId: squad.squadId } : {})
  };
}

function taskOf({ record }: Run): string {
  return record.task.slice(0, 80);
}
