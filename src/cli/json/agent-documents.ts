import { z } from 'zod';

const time = z.iso.datetime();
export const endedStatus = z.enum([
  'completed',
  'failed',
  'timeout',
  'canceled',
  'interrupted'
]);
const agentStatus = z.enum([
  'queued',
  'running',
  'asking',
  ...endedStatus.options
]);

export const usage = z.strictObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number()
});

const member = {
  squadId: z.string().optional(),
  memberId: z.string().optional(),
  roleId: z.string().optional(),
  chatId: z.string().nullable().optional()
};

/** Marks the text of an agent: data, not instructions. */
const source = z.literal('agent');

const files_changed = z
  .array(
    z.strictObject({
      path: z.string(),
      added: z.number().nullable(),
      removed: z.number().nullable(),
      renamed_from: z.string().optional(),
      shared: z
        .literal(true)
        .optional()
        .describe('another agent may have changed it')
    })
  )
  .optional();

const worktree = z
  .strictObject({
    path: z.string(),
    branch: z.string(),
    base: z.string(),
    removed: z.literal(true).optional()
  })
  .optional();

/** An agent that has not ended. */
const activeAgent = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  ...member,
  status: z.enum(['queued', 'running', 'asking']),
  elapsed_seconds: z.number(),
  source: source.optional(),
  progress: z.string().optional(),
  message: z.string()
});

/** The outcome and the answer of an agent that has ended. */
const endedAgent = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  ...member,
  model: z.string(),
  success: z.boolean(),
  status: endedStatus,
  source,
  error: z.string().nullable(),
  error_code: z.string().nullable(),
  full_output: z.string().describe('the file with the whole answer'),
  result: z.string(),
  truncated: z.literal(true).optional(),
  total_chars: z.number().optional(),
  next_offset: z.number().optional(),
  message: z.string().optional().describe('how to read on'),
  offset: z.number().optional(),
  cost_usd: z.number().nullable(),
  usage: usage.nullable(),
  duration_seconds: z.number(),
  started_at: time,
  completed_at: time,
  session_id: z.string().optional(),
  denials: z.array(z.string()).optional(),
  denials_total: z.number().optional(),
  files_changed,
  files_changed_total: z.number().optional(),
  files_changed_note: z.string().optional(),
  diff: z.string().optional(),
  worktree
});

const unknownAgent = z.strictObject({
  agent_id: z.string(),
  status: z.literal('not_found'),
  message: z.string()
});

const agent = z.union([endedAgent, activeAgent]);

/** `run` and `continue`. */
export const runDocument = agent;
/** `run --background` and `continue --background`. */
export const startedDocument = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  model: z.string(),
  status: agentStatus
});
export type StartedDocument = z.output<typeof startedDocument>;

/** `ask`. */
export const askDocument = z.strictObject({
  results: z.array(agent),
  verdicts: z.array(
    z.strictObject({
      agent_id: z.string(),
      engine: z.string(),
      verdict: z
        .string()
        .nullable()
        .describe('the line VERDICT of the answer; null without one')
    })
  ),
  not_started: z
    .array(z.string())
    .optional()
    .describe('why an engine was not asked')
});

/** `diff`. */
export const diffDocument = z.strictObject({
  agent_id: z.string(),
  status: agentStatus,
  files_changed,
  files_changed_total: z.number().optional(),
  files_changed_note: z.string().optional(),
  diff: z.string().optional().describe('the file with the patch'),
  worktree
});

/** `apply`. */
export const applyDocument = z.strictObject({
  agent_id: z.string(),
  status: z.enum([
    'applied',
    'nothing',
    'conflict',
    'overlap',
    'refused',
    'partial'
  ]),
  directory: z.string().nullable().describe('the top of the repository'),
  files: z.array(z.string()).describe('those that the status is about'),
  message: z.string()
});
export type ApplyDocument = z.output<typeof applyDocument>;

/** `result`. */
export const resultDocument = z.union([endedAgent, activeAgent, unknownAgent]);

/** `asks`. */
export const asksDocument = z.array(
  z.strictObject({
    ask_id: z.string(),
    agent_id: z.string(),
    engine: z.string(),
    kind: z.enum(['permission', 'question']),
    tool: z.string(),
    /** Absent: the agents above may answer it, too. */
    for: z.literal('person').optional(),
    source,
    command: z.string().optional(),
    path: z.string().optional(),
    url: z.string().optional(),
    question: z.string().optional(),
    options: z.array(z.string()).optional(),
    reason: z.string().optional(),
    waiting_seconds: z.number(),
    expires_in_seconds: z.number()
  })
);

/** `wait`. */
export const waitDocument = z.strictObject({
  status: z.enum([
    'all_completed',
    'any_completed',
    'needs_answer',
    'agents_lost',
    'timeout',
    'no_agents_running'
  ]),
  elapsed_seconds: z.number(),
  asks: asksDocument.optional().describe('with needs_answer'),
  results: z.array(agent),
  still_running: z.array(z.string()),
  lost: z
    .array(z.strictObject({ agent_id: z.string(), message: z.string() }))
    .optional()
    .describe('agents whose folders were removed while they were at work')
});

/** `cancel`. */
export const cancelDocument = z.strictObject({
  agent_id: z.string(),
  status: agentStatus,
  message: z.string()
});
export type CancelDocument = z.output<typeof cancelDocument>;

const listedAgent = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  model: z.string(),
  status: agentStatus,
  task: z.string(),
  doing: z
    .string()
    .optional()
    .describe('what a running agent said or did last, in its own words'),
  created_at: time,
  completed_at: time.nullable(),
  seconds: z.number(),
  cost_usd: z.number().nullable(),
  error: z.string().nullable(),
  error_code: z.string().nullable()
});

const listedWorker = z.strictObject({
  agent_id: z.string(),
  name: z.string(),
  role: z.string(),
  engine: z.string(),
  status: z.enum([
    'starting',
    'ready',
    'busy',
    'stalled',
    'stopped',
    'crashed'
  ]),
  queue_depth: z.number(),
  running_task_id: z.string().nullable(),
  created_at: time
});

export const pluginFault = z.strictObject({
  plugin: z.string(),
  problem: z.string()
});

/** `list`. */
export const listDocument = z.strictObject({
  running: z.array(listedAgent),
  queued: z.array(listedAgent),
  ended: z.array(listedAgent),
  workers: z.array(listedWorker),
  faults: z.array(pluginFault),
  replaced: z
    .array(z.strictObject({ engine: z.string(), plugin: z.string() }))
    .optional()
    .describe('built-in engines that a plugin replaces')
});
export type ListDocument = z.output<typeof listDocument>;

const watchedAgent = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  model: z.string(),
  status: agentStatus,
  task: z.string(),
  doing: z.string().describe('what it does now, its error, or its task'),
  created_at: z.iso.datetime(),
  completed_at: z.iso.datetime().nullable(),
  seconds: z.number(),
  cost_usd: z.number().nullable(),
  lines_added: z.number().nullable(),
  lines_removed: z.number().nullable(),
  lines_shared: z
    .literal(true)
    .optional()
    .describe('another agent may have changed some of them'),
  client: z
    .string()
    .nullable()
    .describe('who asked for it; null for the command line'),
  squad: z
    .strictObject({
      squadId: z.string(),
      memberId: z.string(),
      roleId: z.string()
    })
    .nullable(),
  quiet_seconds: z
    .number()
    .nullable()
    .describe('since its last output; null unless it runs')
});

/** `watch`. */
export const watchDocument = z.strictObject({
  today: z.strictObject({
    day: z.iso.date().describe('UTC'),
    ended: z.number(),
    not_completed: z.number(),
    cost_usd: z.number().nullable().describe('the sum of the known costs'),
    costs_unknown: z.number()
  }),
  agents: z.array(watchedAgent),
  workers: z.array(listedWorker)
});
export type WatchDocument = z.output<typeof watchDocument>;

export type AsksDocument = z.output<typeof asksDocument>;

export const answerDocument = z.strictObject({
  ask_id: z.string(),
  agent_id: z.string(),
  status: z.literal('answered'),
  waited_seconds: z.number()
});
export type AnswerDocument = z.output<typeof answerDocument>;
