import { z } from 'zod';
import type { Facts } from '../../../answers/budget.ts';
import { hasToolset } from '../../../config/config.ts';
import { errnoOf, HostError } from '../../../core/errors.ts';
import type { Host } from '../../../host/host.ts';
import { limitsOf, messageField } from '../answers/client-limits.ts';
import {
  eventsAnswer,
  workerFacts,
  workersAnswer
} from '../answers/worker-answers.ts';
import {
  acting,
  defineTool,
  ending,
  type Hints,
  hinted,
  looking,
  reading,
  starting,
  type Tool
} from '../tool/define-tool.ts';
import { agentId, model, taskId } from './shapes.ts';

/** `agent_create` answers this long before the client's time limit. */
const slackSeconds = 3;

const worker = agentId.describe('Id from agent_create');

function roleWords({ config }: Host): string {
  const by = hasToolset(config, 'squad') ? 'Id from list_roles' : 'Role id';
  return `${by}, or the brief itself`;
}

/** The tools of long-lived workers, which run in panes of a terminal. */
export function orchestratorTools(host: Host): Tool[] {
  const { orchestrator } = host;
  return [
    defineTool({
      name: 'agent_create',
      title: 'Create a worker',
      description:
        'Starts a worker: an agent that stays and takes tasks one by one, in a pane of the terminal. Answers when it is ready for them. Several calls at once start side by side.',
      input: z.strictObject({
        name: z
          .string()
          .max(80)
          .regex(/\S/, 'is not one line of text')
          .refine((name) => !/\p{Cc}/u.test(name), 'is not one line of text')
          .describe('For people'),
        role: z
          .string()
          .max(50_000)
          .regex(/\S/, 'is empty')
          .describe(roleWords(host)),
        engine: z
          .string()
          .max(64)
          .optional()
          .describe('claude, codex, copilot, gemini, …'),
        model,
        access: z.enum(['read', 'write', 'full']).optional(),
        cwd: z
          .string()
          .max(4096)
          .optional()
          .describe('Inside the workspace; default: its root'),
        env: z
          .record(
            z.string().regex(/^[A-Za-z_]\w*$/, 'is not a variable name'),
            z
              .string()
              .max(32_000)
              .regex(/^[^\0]*$/, 'holds a NUL character')
          )
          .refine((env) => Object.keys(env).length <= 100, {
            error: 'has more than 100 variables'
          })
          .optional()
          .describe('Variables for its program')
      }),
      annotations: starting,
      handle: async (input, { clientName }) => {
        const { waitSeconds } = limitsOf(clientName);
        const created = await orchestrator.create({
          ...input,
          patienceMs: 1000 * (waitSeconds - slackSeconds)
        });
        const { meta, folder } = created;
        return {
          agent_id: meta.agent_id,
          tmux_pane_id: meta.pane?.pane_id ?? null,
          run_id: meta.run_id,
          paths: folder.paths(),
          status: 'ready',
          ...messageField(...host.configNotices)
        };
      }
    }),
    defineTool({
      name: 'agent_list',
      title: 'List workers',
      description:
        'Workers and how each stands: status, queue_depth, running_task_id, last_event_seq.',
      input: z.strictObject({
        scope: z
          .enum(['run', 'current_window', 'all'])
          .default('run')
          .describe('run: those made together; all: ever made')
      }),
      annotations: looking,
      handle: ({ scope }, { clientName }) =>
        orUnreadable(async () =>
          workersAnswer(await orchestrator.list(scope), clientName)
        )
    }),
    defineTool({
      name: 'agent_get',
      title: 'Look at a worker',
      description: 'One worker, with its tasks that wait and its files.',
      input: z.strictObject({ agent_id: worker }),
      annotations: looking,
      handle: (input) =>
        orUnreadable(async () => {
          const found = orchestrator.store.get(input.agent_id);
          await orchestrator.look(found);
          return { meta: workerFacts(found) };
        })
    }),
    defineTool({
      name: 'agent_delete',
      title: 'End a worker',
      description:
        'Ends a worker when it has done its tasks, and closes its pane; its files stay. force: at once; unfinished tasks are canceled.',
      input: z.strictObject({
        agent_id: worker,
        force: z.boolean().default(false),
        confirm: z
          .boolean()
          .default(false)
          .describe('With force, while a task runs')
      }),
      annotations: ending,
      handle: (input) =>
        orUnreadable(async () => {
          const ended = await orchestrator.delete(input.agent_id, input);
          return { ok: true, status: ended.log.read().status };
        })
    }),
    defineTool({
      name: 'task_enqueue',
      title: 'Give a task',
      description:
        "Puts a task at the end of a worker's queue. position: how many are before it. events_read reports its end.",
      input: z.strictObject({
        agent_id: worker,
        task: z.strictObject({
          task_id: taskId.optional().describe('Default: generated'),
          payload: z
            .unknown()
            .describe('What is to be done: all that the worker needs to know')
        })
      }),
      annotations: acting,
      handle: ({ agent_id, task }) =>
        orUnreadable(async () => {
          const { taskId: task_id, position } = await orchestrator.enqueue(
            agent_id,
            { id: task.task_id, payload: task.payload }
          );
          return { task_id, position };
        })
    }),
    defineTool({
      name: 'task_cancel',
      title: 'Cancel a task',
      description:
        'A waiting task is canceled at once; a running one is asked to end, and its worker ends it at its next safe point.',
      input: z.strictObject({ agent_id: worker, task_id: taskId }),
      annotations: { ...ending, idempotentHint: false },
      handle: async (input): Promise<Facts> => ({
        ok: true,
        state: await orchestrator.cancel(input.agent_id, input.task_id)
      })
    }),
    defineTool({
      name: 'events_read',
      title: 'Read events',
      description:
        'Events of a worker after since_seq (0: all). Call again with last_seq for what is new; more: there is more at once.',
      input: z.strictObject({
        agent_id: worker,
        since_seq: z.number().int().min(0).default(0),
        max_events: z.number().int().min(1).max(1000).default(200)
      }),
      annotations: reading,
      handle: (input, { clientName }) =>
        orUnreadable(async () => {
          const found = orchestrator.store.get(input.agent_id);
          const facts = eventsAnswer(found, input, clientName);
          // Without a new event, no reader can miss one in the copy.
          if (facts.last_seq !== input.since_seq) await found.log.copied();
          return facts;
        })
    })
  ].map((tool) => hinted(tool, workerHints));
}

export const workerHints: Hints = {
  unknown_agent: 'agent_list shows all; agents of spawn tools are not workers.'
};

/** Converts file errors to a HostError: the caller can repair permissions. */
async function orUnreadable(work: () => Promise<Facts>): Promise<Facts> {
  try {
    return await work();
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined || error instanceof HostError) throw error;
    throw new HostError(
      'storage_unwritable',
      `The files of the workers cannot be read (${code}).`,
      'Check owner and permissions of .agents/ in the workspace and of ~/.troupe, and call again.'
    );
  }
}
