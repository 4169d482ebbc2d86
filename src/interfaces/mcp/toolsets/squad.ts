import { z } from 'zod';
import { asksField } from '../../../answers/asks.ts';
import {
  type Answer,
  type Budget,
  type Facts,
  fitInto,
  type Part,
  sizeOf
} from '../../../answers/budget.ts';
import { inlineChars } from '../../../answers/format-run.ts';
import {
  type MemberReport,
  readMembers
} from '../../../answers/squad-members.ts';
import { listPart } from '../../../answers/truncate.ts';
import type { OpenAsk } from '../../../core/asks/answers/asks.ts';
import { whyGone } from '../../../core/runs/damaged-run.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Role } from '../../../core/squads/role-file.ts';
import type { StartedSquad } from '../../../core/squads/squads.ts';
import { shortName } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { fitAnswer, limitsOf, messageField } from '../answers/client-limits.ts';
import { markRead } from '../answers/mark-read.ts';
import { waitWithProgress } from '../answers/wait-with-progress.ts';
import { answerAsks, hasRuns, waysOn } from '../answers/ways-on.ts';
import {
  defineTool,
  looking,
  starting,
  type Tool,
  type ToolContext
} from '../tool/define-tool.ts';
import { ask, askTimeout } from './shapes.ts';

/** The most members of one call. */
const mostMembers = 500;

const member = {
  roleId: z.string().min(1).max(255).describe('Id from list_roles'),
  task: z.string().min(1).describe('The whole task: it sees nothing else'),
  cwd: z.string().max(4096).optional().describe('Inside the workspace'),
  ask,
  ask_timeout: askTimeout
};

/** Only stateful squads have chats. */
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
      description: 'Roles for start_squad_members: id, name, purpose.',
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
    description: `Starts several agents with their own roles and tasks; answers when all have ended: status ("completed": exit code 0) and result of each. Give them separate files. Those not done in time go on${hasRuns(host.config) ? ': wait_for_agents with squadId' : ''}.`,
    input: z.strictObject({
      members: z.array(members[stateMode]()).min(1).max(mostMembers),
      metadata: z.record(z.string(), z.unknown()).optional(),
      background: z.boolean().optional()
    }),
    annotations: starting,
    handle: async ({ members, metadata, background }, context) => {
      const started = await host.squads.start({
        members: members.map(({ ask_timeout, ...member }) => ({
          ...member,
          askTimeoutSeconds: ask_timeout
        })),
        metadata,
        caller: context.caller
      });
      const { runs, asks } = background
        ? { runs: await spawned(host, started), asks: [] }
        : await settled(host, started, context);
      return markRead(
        await answer(host, started, runs, asks, context.clientName),
        host,
        context
      );
    }
  });
}

/**
 * The members' runs once all have ended, one asks for something, or at the
 * client's time limit.
 */
async function settled(
  host: Host,
  { squad, refused }: StartedSquad,
  context: ToolContext
): Promise<{ runs: Run[]; asks: OpenAsk[] }> {
  const agentIds = squad.members
    .map(({ agentId }) => agentId)
    .filter((id) => !refused.has(id));
  const { finished, waiting, asks } = await waitWithProgress(
    host,
    {
      agentIds,
      mode: 'all',
      seconds: Number.POSITIVE_INFINITY,
      name: squad.squadId
    },
    context
  );
  return { runs: [...finished, ...waiting], asks };
}

/** How long the answer waits for members that are being prepared. */
const preparingMs = 1000;

/** The members' runs right after the start; refused ones have ended. */
async function spawned(
  host: Host,
  { squad, begun }: StartedSquad
): Promise<Run[]> {
  const runs = squad.members.map(
    async ({ agentId }) =>
      (await host.prepared(agentId, preparingMs)) ??
      begun.get(agentId) ??
      host.tracker.run(agentId)
  );
  return (await Promise.all(runs)).filter((run) => run !== undefined);
}

async function answer(
  host: Host,
  { squad, refused, warning }: StartedSquad,
  runs: Run[],
  asks: OpenAsk[],
  clientName: string
) {
  const byId = new Map(runs.map((run) => [run.record.agent_id, run]));
  const reports = await readMembers(
    squad.members.map((member) => ({
      squad,
      member,
      run: byId.get(member.agentId),
      directory: host.store.directoryOf(member.agentId),
      refused:
        refused.get(member.agentId) ?? whyGone(member.agentId, host.store)
    }))
  );
  const { squadId } = squad;
  const ways = waysOn(host.config);
  const open = runs.filter(({ outcome }) => !outcome).length;
  const messages = [
    ...(warning === undefined ? [] : [warning]),
    ...host.configNotices,
    ...(asks.length > 0 ? [answerAsks(asks, host.config)] : []),
    ...(open === 0
      ? []
      : [
          `${open} of ${squad.members.length} have not ended. ${ways.waitForSquad(squadId)}; nothing is lost.`
        ])
  ];
  const form =
    (kind: keyof MemberReport, ...brief: string[]): Answer =>
    (put) => {
      const members = reports.map((report) => report[kind](put));
      // While fitInto shares the budget, rows have no texts and count as cut.
      const isWhole = members.every(
        (row) => 'result' in row && !('next_offset' in row)
      );
      const cut = isWhole || kind === 'bare' ? [] : [ways.readOn];
      return {
        squadId,
        ...(asks.length > 0 ? { status: 'needs_answer' } : {}),
        ...asksField(asks, put),
        ...messageField(...messages, ...brief, ...cut),
        ...(kind === 'bare' ? put(listPart('members', members)) : { members })
      };
    };
  return fitAnswer(clientName, [
    { answer: form('full'), minBytes: 1000, minChars: 200 },
    { answer: form('words', outputElsewhere(host)), minBytes: 200 },
    { answer: form('bare', ways.shortNote, notAll(host, squadId)) }
  ]);
}

function notAll({ paths }: Host, squadId: string): string {
  return `With members_total, some rows are left out; ${paths.record}/squads/${squadId}.json has all.`;
}

function outputElsewhere({ paths }: Host): string {
  return `rawStdout and rawStderr do not fit here: they are in ${paths.record}/spawns/<agentId>/stdout and stderr.`;
}

/** All roles, with as much of their descriptions as fits into the answer. */
function listRoles(roles: Role[], clientName: string): Facts {
  const named = roles.map(({ id, name }) => ({ id, name: shortName(name) }));
  const least = { roles: named.map((role) => ({ ...role, description: '' })) };
  const { answerBytes: bytes } = limitsOf(clientName);
  const chars = inlineChars - JSON.stringify(least).length;
  if (chars < 0 || sizeOf(least) >= bytes) return { roles: named };
  return fitInto(
    (put) => ({
      roles: roles.map(({ description }, index) => ({
        ...named[index],
        ...put(descriptionPart(description))
      }))
    }),
    { chars, bytes }
  );
}

/** Counts characters of JSON, in which a quotation mark takes two. */
function descriptionPart(description: string): Part {
  return {
    chars: JSON.stringify(description).length - 2,
    within: (budget) => ({ description: shortened(description, budget) })
  };
}

/** The description, cut with an ellipsis if needed; empty if nothing fits. */
function shortened(description: string, budget: Budget): string {
  const json = JSON.stringify(description);
  const isAll = json.length - 2 <= budget.chars;
  if (isAll && sizeOf({ description }) <= budget.bytes) return description;
  let chars = budget.chars - '…'.length;
  let bytes = budget.bytes - sizeOf({ description: '…' });
  let shown = '';
  for (const letter of description) {
    const written = JSON.stringify(letter).slice(1, -1);
    chars -= written.length;
    bytes -= Buffer.byteLength(written);
    if (chars < 0 || bytes < 0) break;
    shown += letter;
  }
  return shown === '' ? '' : `${shown.trimEnd()}…`;
}
