import { z } from 'zod';
import { hasToolset } from '../../../config.ts';
import type { Form } from '../../../core/runs/fit.ts';
import { listPart } from '../../../core/runs/parts.ts';
import type { Run } from '../../../core/runs/run.ts';
import {
  type MemberReport,
  readMembers
} from '../../../core/squads/read-member.ts';
import type { StartedSquad } from '../../../core/squads/squads.ts';
import type { Host } from '../../../host.ts';
import { defineTool, type Tool, type ToolContext } from '../define-tool.ts';
import { fitAnswer, said, toldShortly } from '../fit-answer.ts';
import { given } from '../given.ts';
import { waitWithProgress } from '../wait-with-progress.ts';
import { looking } from './agent-input.ts';
import { listRoles } from './list-roles.ts';

/** More than a call can wait for at once. */
const mostMembers = 500;

const member = {
  roleId: z.string().min(1).max(255).describe('Id from list_roles'),
  task: z.string().min(1).describe('The whole task: it sees nothing else'),
  cwd: z.string().max(4096).optional().describe('Inside the workspace')
};

/** The schema shows chats only where there are chats. */
const members = {
  stateless: () => z.strictObject(member),
  stateful: () => z.strictObject({ ...member, chatId: chatId() })
};

function chatId() {
  return z
    .string()
    .max(256)
    .nullish()
    .describe(
      'From an earlier answer: that chat goes on, with the task; default: a new one'
    );
}

export function squadTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'list_roles',
      title: 'List roles',
      description:
        'Roles for start_squad_members: id, name, and what each is good for.',
      input: z.strictObject({}),
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
    description: `Starts several agents, each with a role and a task of its own, and answers when all have ended: status ("completed" is exit code 0) and result of each. Give them separate files to edit. Those not done in time go on${hasToolset(host.config, 'runs') ? ': wait_for_agents with squadId gives the rest' : ''}.`,
    input: z.strictObject({
      members: z.array(members[stateMode]()).min(1).max(mostMembers),
      metadata: z.record(z.string(), z.unknown()).optional(),
      background: z.boolean().optional()
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true
    },
    handle: async ({ members, metadata, background }, context) => {
      const started = await host.squads.start({ members, metadata });
      const runs = background
        ? await spawned(host, started)
        : await settled(host, started, context);
      return given(
        await answer(host, started, runs, context.clientName),
        host,
        context
      );
    }
  });
}

/** The members' agents as they stand when they are over, or time is. */
async function settled(
  host: Host,
  { squad, refused }: StartedSquad,
  context: ToolContext
): Promise<Run[]> {
  const agentIds = squad.members
    .map(({ agentId }) => agentId)
    .filter((id) => !refused.has(id));
  const { finished, waiting } = await waitWithProgress(
    host,
    {
      agentIds,
      mode: 'all',
      seconds: Number.POSITIVE_INFINITY,
      name: squad.squadId
    },
    context
  );
  return [...finished, ...waiting];
}

/** As they were spawned: those that could not be have ended. */
async function spawned(
  host: Host,
  { squad, begun }: StartedSquad
): Promise<Run[]> {
  const runs = squad.members.map(
    ({ agentId }) => begun.get(agentId) ?? host.tracker.run(agentId)
  );
  return (await Promise.all(runs)).filter((run) => run !== undefined);
}

async function answer(
  host: Host,
  { squad, refused, warning }: StartedSquad,
  runs: Run[],
  clientName: string
) {
  const byId = new Map(runs.map((run) => [run.record.agent_id, run]));
  const reports = await readMembers(
    squad.members.map((member) => ({
      squad,
      member,
      run: byId.get(member.agentId),
      directory: host.store.directoryOf(member.agentId),
      refused: refused.get(member.agentId)
    }))
  );
  const { squadId } = squad;
  const open = runs.filter(({ outcome }) => !outcome).length;
  const messages = [
    ...(warning === undefined ? [] : [warning]),
    ...(open === 0
      ? []
      : [
          `${open} of ${squad.members.length} have not ended. ${next(host, squadId)}`
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
      // While the rest is measured there are no texts: counted as cut.
      const isWhole = members.every(
        (row) => 'result' in row && !('next_offset' in row)
      );
      const cut = isWhole || kind === 'bare' ? [] : [readOn];
      return {
        squadId,
        ...said(...messages, ...brief, ...cut),
        ...(kind === 'bare' ? told(listPart('members', members)) : { members })
      };
    }
  });
  return fitAnswer(clientName, [
    { ...form('full', 1000), leastChars: 200 },
    form('words', 200, outputElsewhere(host)),
    form('bare', 0, toldShortly, notAll(host, squadId))
  ]);
}

/** What has no tool here has a command. */
function next({ config }: Host, squadId: string): string {
  return hasToolset(config, 'runs')
    ? `Next: wait_for_agents {"squadId":"${squadId}"}; nothing is lost.`
    : 'They go on; the toolset "runs", which has wait_for_agents, is not served here, so the user has to ask "troupe list" and "troupe result".';
}

function notAll({ paths }: Host, squadId: string): string {
  return `With members_total, some rows are left out; ${paths.record}/squads/${squadId}.json has all.`;
}

const readOn =
  'A result with next_offset is cut: call result with its agentId and that as offset to read on.';

function outputElsewhere({ paths }: Host): string {
  return `rawStdout and rawStderr are left out for want of room: they are in ${paths.record}/spawns/<agentId>/stdout and stderr.`;
}
