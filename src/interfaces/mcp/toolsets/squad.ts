import { z } from 'zod';
import type { Form } from '../../../core/runs/fit.ts';
import { listPart } from '../../../core/runs/parts.ts';
import type { Run } from '../../../core/runs/run.ts';
import {
  type MemberReport,
  readMember
} from '../../../core/squads/read-member.ts';
import type { StartedSquad } from '../../../core/squads/squads.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool, type ToolContext } from '../define-tool.ts';
import { fitAnswer, said, toldShortly } from '../fit-answer.ts';
import { waitWithProgress } from '../wait-with-progress.ts';
import { looking } from './agent-input.ts';
import { listRoles } from './list-roles.ts';

/** More than a call can wait for at once. */
const mostMembers = 500;

const member = {
  roleId: z.string().min(1).max(255).describe('Id from list_roles'),
  task: z
    .string()
    .min(1)
    .describe('The whole task: it sees nothing of this conversation'),
  cwd: z
    .string()
    .max(4096)
    .optional()
    .describe('Inside the workspace; default: its root')
};

const chatId = z
  .string()
  .max(256)
  .nullish()
  .describe(
    'From an earlier answer: that chat goes on, with the task; default: a new one'
  );

/** The schema shows chats only where there are chats. */
const members = {
  stateless: z.strictObject(member),
  stateful: z.strictObject({ ...member, chatId })
};

export function squadTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'list_roles',
      title: 'List roles',
      description:
        'Roles for start_squad_members: id, name, and what each is good for.',
      input: z.strictObject({}),
      output: z.looseObject({
        roles: z.array(z.looseObject({ id: z.string() }))
      }),
      annotations: looking,
      handle: async (_, { clientName }) =>
        listRoles((await host.squads.roles()).roles, clientName)
    }),
    startTool(host)
  ];
}

function startTool(host: Host): Tool {
  const { stateMode } = host.config.squad;
  return defineTool({
    name: 'start_squad_members',
    title: 'Start squad members',
    description:
      'Starts several agents, each with a role from list_roles and a task of its own, and answers when all have ended: status ("completed": exit code 0), result, rawStdout and rawStderr of each. Give them separate files to edit. Those that take longer than your client waits go on: wait_for_agents with the squadId gives the rest.',
    input: z.strictObject({
      members: z.array(members[stateMode]).min(1).max(mostMembers),
      metadata: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('Kept with the squad'),
      background: z.boolean().optional().describe('Do not wait for them')
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true
    },
    handle: async ({ members, metadata, background }, context) => {
      const started = await host.squads.start({ members, metadata });
      const runs = await settled(host, started, background === true, context);
      return answer(host, started, runs, context.clientName);
    }
  });
}

/** The members' agents as they stand when they are over, or time is. */
async function settled(
  host: Host,
  { squad, refused }: StartedSquad,
  isBackground: boolean,
  context: ToolContext
): Promise<Map<string, Run>> {
  const agentIds = squad.members
    .map(({ agentId }) => agentId)
    .filter((id) => !refused.has(id));
  const { finished, waiting } = await waitWithProgress(
    host,
    {
      agentIds,
      mode: 'all',
      seconds: isBackground ? 0 : Number.POSITIVE_INFINITY,
      name: squad.squadId
    },
    context
  );
  return new Map(
    [...finished, ...waiting].map((run) => [run.record.agent_id, run])
  );
}

async function answer(
  host: Host,
  { squad, refused, warning }: StartedSquad,
  runs: Map<string, Run>,
  clientName: string
) {
  const reports = await Promise.all(
    squad.members.map((member) =>
      readMember({
        squad,
        member,
        run: runs.get(member.agentId),
        directory: host.store.directoryOf(member.agentId),
        refused: refused.get(member.agentId)
      })
    )
  );
  const { squadId } = squad;
  const open = [...runs.values()].filter(({ outcome }) => !outcome).length;
  const messages = [
    ...(warning === undefined ? [] : [warning]),
    ...(open === 0
      ? []
      : [
          `${open} of ${squad.members.length} have not ended. Next: wait_for_agents {"squadId":"${squadId}"}; nothing is lost.`
        ])
  ];
  const form = (
    kind: keyof MemberReport,
    least: number,
    ...brief: string[]
  ): Form => ({
    least,
    answer: (told) => {
      const members = reports.map((report) => report[kind](told));
      return {
        squadId,
        ...said(...messages, ...brief),
        ...(kind === 'bare' ? told(listPart('members', members)) : { members })
      };
    }
  });
  return fitAnswer(clientName, [
    { ...form('full', 1000), leastChars: 200 },
    form('words', 200, outputElsewhere),
    form('bare', 0, toldShortly, notAll(squadId))
  ]);
}

function notAll(squadId: string): string {
  return `Where members_total is told, not all have a row here; .agents/squads/${squadId}.json has one for each.`;
}

const outputElsewhere =
  'Told without rawStdout and rawStderr, as there is no room: they lie in .agents/spawns/<agentId>/stdout and stderr.';
