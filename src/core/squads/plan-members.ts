import { realpathSync } from 'node:fs';
import { relative, sep } from 'node:path';
import type { EngineRequest, Failure } from '../../plugin.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import { resolveDirectory } from '../runs/containment.ts';
import { chatIdForm } from '../runs/create-chat.ts';
import { checkForNul, checkTexts } from '../runs/new-record.ts';
import { shortName } from '../runs/parts.ts';
import type { RunStore } from '../runs/run-store.ts';
import { holdersOf } from '../runs/session-turns.ts';
import {
  type ChosenEngine,
  chooseEngine,
  readTemplates,
  type Templates
} from './choose-engine.ts';
import { buildPrompt } from './prompt-builder.ts';
import type { Role } from './role-file.ts';
import {
  describeFault,
  type RoleList,
  type RoleRepository,
  whyWide
} from './role-repository.ts';
import type { SquadSettings } from './settings.ts';
import type { MemberRequest } from './squad-request.ts';

export interface PlanningTools {
  roles: RoleRepository;
  registry: EngineRegistry;
  store: RunStore;
  workspace: string;
  settings: SquadSettings;
}

/** A member that may start: all that was asked for is there. */
export interface PlannedMember extends ChosenEngine {
  agentId: string;
  role: Role;
  task: string;
  prompt: string;
  /** Absolute. */
  cwd: string;
  /** Relative to the workspace, `.` for its root. */
  shownCwd: string;
  /** The chat that goes on, and the agent that had its last turn. */
  chat?: { id: string; lastAgent: string | null };
  /** Known beforehand to be unable to run. */
  failure?: Failure;
}

interface Fault {
  place: string;
  roleId: string;
  error: HostError;
}

/**
 * Checks all members before any of them starts.
 * @throws HostError that names every member at fault, with the first one's
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
      faults.push({ place: `members.${index}`, roleId, error });
    }
  if (faults.length > 0) throw refusal(faults);
  return planned;
}

/** Told with their faults; of the others only the places. */
const mostTold = 5;

function refusal(faults: Fault[]): HostError {
  const told = faults.slice(0, mostTold);
  const places = faults.slice(mostTold).map(({ place }) => place);
  const rest =
    places.length === 0 ? [] : [`Also at fault: ${places.join(', ')}.`];
  const [first] = told;
  return new HostError(
    first?.error.code ?? 'invalid_input',
    [
      'Nothing was started.',
      ...told.map(
        ({ place, roleId, error }) =>
          `${place} ("${shortName(roleId, 60)}"): ${error.message}`
      ),
      ...rest
    ].join(' '),
    [...new Set(told.map(({ error }) => error.hint))].join(' ')
  );
}

function plan(
  { roleId, task, cwd: asked, chatId }: MemberRequest,
  list: RoleList,
  templates: Templates,
  { registry, settings, store, workspace }: PlanningTools
): PlannedMember {
  const role = find(roleId, list);
  checkForNul({ task, cwd: asked });
  const cwd = resolveDirectory(workspace, asked);
  const sessionId = chatId || undefined;
  checkTask(task);
  checkChat(sessionId);
  const isStateful = settings.stateMode === 'stateful';
  const state = !isStateful ? 'none' : sessionId ? 'existing' : 'new';
  const prompt = buildPrompt(role.body, task, state);
  const request: EngineRequest = {
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
    { ...request, task, workspace },
    settings,
    templates,
    registry
  );
  const failure = isStateful ? failureOf(chosen) : undefined;
  return {
    ...chosen,
    agentId: store.newId(null),
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

function find(roleId: string, { roles, faults, untrusted }: RoleList): Role {
  const fault = faults.find(({ id }) => id === roleId);
  if (fault)
    throw new HostError(
      'unknown_role',
      describeFault(fault),
      'The user has to mend that file; a change counts at the next call.'
    );
  const role = roles.find(({ id }) => id === roleId);
  if (role) return role;
  const leftOut = untrusted.find(({ id }) => id === roleId);
  if (leftOut)
    throw new HostError(
      'unknown_role',
      `The role ${leftOut.path} ${whyWide(leftOut)}: ${leftOut.problem}.`,
      'Use another role, or ask the user.'
    );
  throw new HostError(
    'unknown_role',
    `There is no role "${roleId.slice(0, 100)}".`,
    'Call list_roles for the ids there are.'
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
    'The chatId has not the form of one: 1 to 256 of A-Z a-z 0-9 . _ : -, and no "-" first.',
    'Give a chatId as an earlier answer told it, or leave it out for a new chat.'
  );
}

function failureOf({ noChats }: ChosenEngine): Failure | undefined {
  if (noChats === undefined) return undefined;
  return {
    code: 'spawn_failed',
    message: `The chat cannot be made: ${noChats}. The user can set STATE_MODE to stateless, or choose another engine.`
  };
}

/** @throws HostError `no_session` for a chat that only we could know */
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
 * An API remembers nothing: its chats are the turns on our disk, each named
 * after its first agent. One that was no member, or failed, knows no role.
 */
function checkOwnChat(id: string, engine: string, store: RunStore): void {
  const record = store.recordOf(id);
  const its = record?.engine === engine ? record.session_id : null;
  const beginner = its === null ? undefined : store.recordOf(its);
  const begun = its === null ? undefined : store.outcomeOf(its);
  const isChat =
    beginner?.in_chat && (begun?.status ?? 'completed') === 'completed';
  if (its === id && isChat) return;
  throw new HostError(
    'no_session',
    `There is no chat "${id}" with ${engine} in this workspace.`,
    isChat
      ? `That agent had a later turn: give the chat's own chatId, "${its}".`
      : 'Leave chatId out for a new chat.'
  );
}

function shown(workspace: string, cwd: string): string {
  const between = relative(realpathSync(workspace), cwd);
  return between === '' ? '.' : between.split(sep).join('/');
}
