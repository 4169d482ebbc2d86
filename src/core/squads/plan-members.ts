import { realpathSync } from 'node:fs';
import { relative, sep } from 'node:path';
import type { Access, EngineRequest, Failure } from '../../plugin/plugin.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import { resolveDirectory } from '../runs/admission/containment.ts';
import type { RunStore } from '../runs/run-store.ts';
import { chatIdForm, chatIdWords } from '../runs/sessions/create-chat.ts';
import { holdersOf } from '../runs/sessions/session-turns.ts';
import { checkAsks } from '../runs/start/connect-asks.ts';
import { capped, checkForNul, checkTexts } from '../runs/start/new-record.ts';
import { shortName } from '../text.ts';
import {
  type ChosenEngine,
  chooseEngine,
  readTemplates,
  type Templates
} from './choose-engine.ts';
import type { Role } from './role-file.ts';
import {
  describeFault,
  type RoleList,
  type RoleRepository,
  whyWide
} from './role-repository.ts';
import type { SquadSettings } from './settings.ts';

/** A member as its caller requests it. */
export interface MemberRequest {
  roleId: string;
  task: string;
  cwd?: string | undefined;
  /** Default: that of its role. */
  ask?: Role['ask'] | undefined;
  askTimeoutSeconds?: number | undefined;
  /** In stateful mode: the chat to continue; null or empty for a new one. */
  chatId?: string | null | undefined;
}

export interface PlanningTools {
  roles: RoleRepository;
  registry: EngineRegistry;
  store: RunStore;
  workspace: string;
  maxAccess: Access;
  settings: SquadSettings;
  /** The next step for a caller that names an unknown role. */
  unknownRoleHint: string;
}

/** A member that has been checked and may start. */
export interface PlannedMember extends ChosenEngine {
  agentId: string;
  ask: Role['ask'];
  askTimeoutSeconds: number | undefined;
  role: Role;
  task: string;
  prompt: string;
  /** Absolute. */
  cwd: string;
  /** Relative to the workspace, `.` for its root. */
  shownCwd: string;
  /** The chat to continue, and the agent that had its last turn. */
  chat?: { id: string; lastAgent: string | null };
  /** Set if the member is known to be unable to run. */
  failure?: Failure;
}

interface Fault {
  /** The path of the member in the request. */
  path: string;
  roleId: string;
  error: HostError;
}

/**
 * Checks all members before any of them starts.
 * @throws HostError that names every invalid member, with the first one's
 *   code: `invalid_input`, `unknown_role`, `cwd_outside`, `cwd_missing`,
 *   `unknown_engine`, `template_invalid`, `no_session`
 */
export async function planMembers(
  requests: MemberRequest[],
  tools: PlanningTools
): Promise<PlannedMember[]> {
  const list = await tools.roles.all();
  const templates = await readTemplates(tools.settings);
  const planned: PlannedMember[] = [];
  const faults: Fault[] = [];
  for (const [index, request] of requests.entries())
    try {
      planned.push(plan(request, list, templates, tools));
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      const { roleId } = request;
      faults.push({ path: `members.${index}`, roleId, error });
    }
  if (faults.length > 0) throw refusal(faults);
  return planned;
}

/** The error describes this many faults and names the paths of the rest. */
const mostDescribed = 5;

function refusal(faults: Fault[]): HostError {
  const described = faults.slice(0, mostDescribed);
  const paths = faults.slice(mostDescribed).map(({ path }) => path);
  const rest = paths.length === 0 ? [] : [`Also wrong: ${paths.join(', ')}.`];
  const [first] = described;
  return new HostError(
    first?.error.code ?? 'invalid_input',
    [
      'Nothing was started.',
      ...described.map(
        ({ path, roleId, error }) =>
          `${path} ("${shortName(roleId, 60)}"): ${error.message}`
      ),
      ...rest
    ].join(' '),
    [...new Set(described.map(({ error }) => error.hint))].join(' ')
  );
}

function plan(
  request: MemberRequest,
  list: RoleList,
  templates: Templates,
  {
    registry,
    settings,
    store,
    workspace,
    maxAccess,
    unknownRoleHint
  }: PlanningTools
): PlannedMember {
  const { roleId, task, cwd: requestedCwd, chatId } = request;
  const role = find(roleId, list, unknownRoleHint);
  checkForNul({ task, cwd: requestedCwd });
  const cwd = resolveDirectory(workspace, requestedCwd);
  const sessionId = chatId || undefined;
  checkTask(task);
  checkChat(sessionId);
  const isStateful = settings.stateMode === 'stateful';
  const state = !isStateful ? 'none' : sessionId ? 'existing' : 'new';
  const prompt = buildPrompt(role.body, task, state);
  const engineRequest: EngineRequest = {
    prompt,
    cwd,
    access: role.access ?? 'full',
    asRoot: process.getuid?.() === 0,
    ...(role.model === undefined ? {} : { model: role.model }),
    ...(sessionId === undefined ? {} : { sessionId })
  };
  checkTexts({ prompt, model: role.model });
  const chosen = chooseEngine(
    role,
    { ...engineRequest, task, workspace },
    settings,
    templates,
    registry
  );
  const ask = request.ask ?? role.ask;
  if (ask === 'coordinator' || ask === 'person')
    checkAsks(
      chosen.as ?? chosen.engine,
      capped(engineRequest.access, maxAccess),
      registry.all()
    );
  const failure = isStateful ? failureOf(chosen) : undefined;
  return {
    ...chosen,
    agentId: store.newId(null),
    ask,
    askTimeoutSeconds: request.askTimeoutSeconds ?? role.askTimeoutSeconds,
    role,
    task,
    prompt,
    cwd,
    shownCwd: shown(workspace, cwd),
    ...(sessionId === undefined
      ? {}
      : { chat: chat(sessionId, chosen, store) }),
    ...(failure ? { failure } : {})
  };
}

function find(
  roleId: string,
  { roles, faults, untrusted }: RoleList,
  unknownRoleHint: string
): Role {
  const fault = faults.find(({ id }) => id === roleId);
  if (fault)
    throw new HostError(
      'unknown_role',
      describeFault(fault),
      'The user has to correct that file; a change counts at the next call.'
    );
  const role = roles.find(({ id }) => id === roleId);
  if (role) return role;
  const excluded = untrusted.find(({ id }) => id === roleId);
  if (excluded)
    throw new HostError(
      'unknown_role',
      `The role ${excluded.path} ${whyWide(excluded)}: ${excluded.problem}.`,
      'Use another role, or ask the user.'
    );
  throw new HostError(
    'unknown_role',
    `There is no role "${roleId.slice(0, 100)}".`,
    unknownRoleHint
  );
}

function checkTask(task: string): void {
  if (task.trim() === '')
    throw new HostError(
      'invalid_input',
      'The task is empty.',
      'Say in "task" what the member should do.'
    );
}

function checkChat(chatId: string | undefined): void {
  if (chatId === undefined || chatIdForm.test(chatId)) return;
  throw new HostError(
    'invalid_input',
    `${JSON.stringify(shortName(chatId, 60))} is not a chatId: it has to be ${chatIdWords}.`,
    'Give a chatId from an earlier answer, or leave it out for a new chat.'
  );
}

function failureOf({ noChats }: ChosenEngine): Failure | undefined {
  if (noChats === undefined) return undefined;
  return {
    code: 'spawn_failed',
    message: `The chat cannot be made: ${noChats}. The user can set STATE_MODE to stateless, or choose another engine.`
  };
}

/** @throws HostError `no_session` for an unknown chat with an API */
function chat(
  id: string,
  { engine }: ChosenEngine,
  store: RunStore
): NonNullable<PlannedMember['chat']> {
  const first = store.recordOf(id)?.engine === engine.name ? id : null;
  const holders = holdersOf(engine.name, id, store);
  const last = holders.findLast((holder) => store.has(holder)) ?? first;
  if (engine.kind === 'api') checkOwnChat(id, engine.name, store);
  return { id, lastAgent: last };
}

/**
 * APIs keep no chats: a chat is the recorded turns, named after the first
 * agent. It contains the role only if that agent is a squad member that has not
 * failed.
 * @throws HostError `no_session` for any other id
 */
function checkOwnChat(id: string, engine: string, store: RunStore): void {
  const record = store.recordOf(id);
  const chatId = record?.engine === engine ? record.session_id : null;
  const firstRecord = chatId === null ? undefined : store.recordOf(chatId);
  const firstOutcome = chatId === null ? undefined : store.outcomeOf(chatId);
  const isChat =
    firstRecord?.in_chat &&
    (firstOutcome?.status ?? 'completed') === 'completed';
  if (chatId === id && isChat) return;
  throw new HostError(
    'no_session',
    `There is no chat "${id}" with ${engine} in this workspace.`,
    isChat
      ? `That agent had a later turn: give the chat's own chatId, "${chatId}".`
      : 'Leave chatId out for a new chat.'
  );
}

function shown(workspace: string, cwd: string): string {
  const path = relative(realpathSync(workspace), cwd);
  return path === '' ? '.' : path.split(sep).join('/');
}

/** Whether a member has a chat. An existing chat contains its role. */
type ChatState = 'none' | 'new' | 'existing';

const footer = `---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded if the environment blocks you.`;

/**
 * The prompt of a member: its role, its task and how to report, byte for byte
 * as in docs/guides/squads.md. An existing chat contains the role already.
 */
export function buildPrompt(
  roleBody: string,
  task: string,
  chat: ChatState
): string {
  const role = ['# Role', roleBody, '---'];
  const heading = chat === 'new' ? '# Initial Task' : '# Task';
  return [...(chat === 'existing' ? [] : role), heading, task, footer].join(
    '\n\n'
  );
}
