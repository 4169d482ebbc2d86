import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Node } from 'jsonc-parser';
import { isObject } from '../../config/overrides.ts';
import { messageOf } from '../../core/errors.ts';
import { readRegular } from '../../core/state/files/regular-file.ts';
import type { Edit } from '../clients/client-entry.ts';
import { serverName } from '../clients/clients.ts';
import {
  namesOf,
  newText,
  replaceNode,
  rootOf,
  withElement,
  withoutMember,
  withProperty
} from '../clients/json-format.ts';
import { isReadOnly, settingsIn } from '../clients/settings-file.ts';
import { program, troupeLaunch } from '../clients/troupe-launch.ts';
import type { Plan } from './plan.ts';

type Jsonc = typeof import('jsonc-parser');

/** What `init` can add to Claude Code's settings in addition to the server. */
export type Extra = 'wake' | 'status';

export const extraLabels: Record<Extra, string> = {
  wake: 'continue an idle session when an agent ends (a hook)',
  status: 'show agents, unread results and cost in its status line'
};

/** The state of an extra in a settings file. `foreign`: another program's. */
type State = 'absent' | 'ours' | 'stale' | 'foreign';

interface ExtraRequest {
  workspace: string;
  /** For all projects of the user. */
  isForUser: boolean;
}

/**
 * The extras that may be offered: those that are not in the settings yet. A
 * status line of the user is never replaced.
 */
export async function missingExtras(request: ExtraRequest): Promise<Extra[]> {
  const jsonc = await import('jsonc-parser');
  const files = [fileFor(request), userFile()];
  const missing = (extra: Extra) => {
    try {
      return files.every((file) => {
        const text = settingsIn(file, request.workspace);
        return stateOf(jsonc, text, extra) === 'absent';
      });
    } catch {
      // `planExtras` says why the file cannot be edited.
      return true;
    }
  };
  return (['wake', 'status'] as const).filter(missing);
}

/**
 * Plans to add extras, and to update those that start another copy of troupe.
 * Returns undefined when nothing changes.
 */
export async function planExtras(
  wanted: Extra[],
  request: ExtraRequest
): Promise<Plan | undefined> {
  return planned(request, wanted, (jsonc, text) =>
    (['wake', 'status'] as const).reduce<string | undefined>((now, extra) => {
      const state = stateOf(jsonc, now, extra);
      const isDue = state === 'absent' && wanted.includes(extra);
      return isDue || state === 'stale' ? added(jsonc, now, extra) : now;
    }, text)
  );
}

/** Plans to remove the extras. Returns undefined when none is there. */
export async function planExtrasRemoval(
  request: ExtraRequest
): Promise<Plan | undefined> {
  return planned(request, [], (jsonc, text) =>
    text === undefined
      ? text
      : (['status', 'wake'] as const).reduce<string | undefined>(
          (now, extra) => removed(jsonc, now, extra),
          text
        )
  );
}

async function planned(
  request: ExtraRequest,
  wanted: Extra[],
  edit: (jsonc: Jsonc, text: string | undefined) => string | undefined
): Promise<Plan | undefined> {
  const label = 'Claude Code, hook and status line';
  const file = fileFor(request);
  const plan = (change: Edit, before?: string): Plan => ({
    label,
    file,
    before,
    edit: change
  });
  try {
    const before = settingsIn(file, request.workspace);
    const text = edit(await import('jsonc-parser'), before);
    if (text === before) return undefined;
    if (isReadOnly(file)) throw new Error('is read-only');
    return text === undefined
      ? plan({ change: 'remove', text }, before)
      : plan({ change: before === undefined ? 'add' : 'update', text }, before);
  } catch (error) {
    if (!isConcerned(file, wanted)) return undefined;
    return plan({ problem: messageOf(error), entry: byHand(wanted) });
  }
}

/** Whether the file is to get one of ours, or has one. */
function isConcerned(file: string, wanted: Extra[]): boolean {
  if (wanted.length > 0) return true;
  try {
    const text = readRegular(file).toString();
    return Object.values(commands).some((command) =>
      text.includes(` ${command}"`)
    );
  } catch {
    return false;
  }
}

/** The text for a user who edits the file. */
function byHand(wanted: Extra[]): string {
  if (wanted.length === 0) return '';
  const hooks = { PostToolUse: [settingOf('wake')] };
  const settings = {
    ...(wanted.includes('wake') ? { hooks } : {}),
    ...(wanted.includes('status') ? { statusLine: settingOf('status') } : {})
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** The settings that a project does not share: the commands hold a path. */
function fileFor({ workspace, isForUser }: ExtraRequest): string {
  return isForUser
    ? userFile()
    : join(workspace, '.claude', 'settings.local.json');
}

function userFile(): string {
  const { CLAUDE_CONFIG_DIR: directory } = process.env;
  return join(directory || join(homedir(), '.claude'), 'settings.json');
}

const commands: Record<Extra, string> = {
  wake: 'notify --hook claude',
  status: 'statusline'
};

/** The shell command of an extra, for this copy of troupe. */
function commandOf(extra: Extra): string {
  const { command, args } = troupeLaunch();
  const words = [command, ...args.slice(0, -1)].map(quoted);
  return [...words, commands[extra]].join(' ');
}

function quoted(word: string): string {
  return /^[\w./:@=+-]+$/.test(word)
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A day, which exceeds the time limit of every agent that is not endless. */
const hookSeconds = 86_400;

function settingOf(extra: Extra): object {
  const hook = { type: 'command', command: commandOf(extra) };
  return extra === 'status'
    ? hook
    : {
        matcher: `mcp__${serverName}__(spawn_.*|continue_agent|start_squad_members)`,
        hooks: [{ ...hook, asyncRewake: true, timeout: hookSeconds }]
      };
}

type Path = (string | number)[];

/** The settings, in the form that Claude Code reads and this file edits. */
function settingsOf(jsonc: Jsonc, text: string): Node {
  const root = rootOf(jsonc, text);
  const nodeAt = (path: Path) => jsonc.findNodeAtLocation(root, path);
  if (root.type !== 'object') throw new Error('is not a JSON object');
  const hooks = nodeAt(['hooks']);
  if (hooks && hooks.type !== 'object')
    throw new Error('has no object "hooks"');
  const list = nodeAt(['hooks', 'PostToolUse']);
  if (list && list.type !== 'array')
    throw new Error('has no list "hooks.PostToolUse"');
  // Claude Code reads the last one, and an edit would change the first.
  for (const [object, name] of [
    [root, 'hooks'],
    [root, 'statusLine'],
    [hooks, 'PostToolUse']
  ] as const)
    if (object && namesOf(object).filter((one) => one === name).length > 1)
      throw new Error(`has "${name}" more than once`);
  return root;
}

/** One of ours in the settings: its path, and that of its command. */
function foundIn(
  jsonc: Jsonc,
  root: Node,
  extra: Extra
): { path: Path; command: Path } | undefined {
  const value = jsonc.getNodeValue(root);
  if (extra === 'status')
    return isOurs(value.statusLine, extra)
      ? { path: ['statusLine'], command: ['statusLine', 'command'] }
      : undefined;
  const groups: unknown[] = value.hooks?.PostToolUse ?? [];
  for (const [at, group] of groups.entries()) {
    const hooks = isObject(group) ? group.hooks : undefined;
    if (!Array.isArray(hooks)) continue;
    const index = hooks.findIndex((hook) => isOurs(hook, extra));
    if (index < 0) continue;
    const inGroup = ['hooks', 'PostToolUse', at];
    const inHooks = [...inGroup, 'hooks', index];
    const path = hooks.length === 1 ? inGroup : inHooks;
    return { path, command: [...inHooks, 'command'] };
  }
  return undefined;
}

function isOurs(hook: unknown, extra: Extra): boolean {
  const command = isObject(hook) ? hook.command : undefined;
  return (
    typeof command === 'string' &&
    command.endsWith(` ${commands[extra]}`) &&
    command.split(' ').some((word) => program.test(word.replaceAll("'", '')))
  );
}

function stateOf(jsonc: Jsonc, text: string | undefined, extra: Extra): State {
  if (text === undefined || text.trim() === '') return 'absent';
  const root = settingsOf(jsonc, text);
  const found = foundIn(jsonc, root, extra);
  if (!found) {
    const isTaken =
      extra === 'status' && jsonc.findNodeAtLocation(root, ['statusLine']);
    return isTaken ? 'foreign' : 'absent';
  }
  const node = jsonc.findNodeAtLocation(root, found.command);
  return node?.value === commandOf(extra) ? 'ours' : 'stale';
}

/** Adds a setting; one of another copy of troupe gets the command of this one. */
function added(
  jsonc: Jsonc,
  text: string | undefined,
  extra: Extra,
  value: unknown = settingOf(extra)
): string {
  const property =
    extra === 'status'
      ? { name: 'statusLine', value }
      : { name: 'hooks', value: { PostToolUse: [value] } };
  if (text === undefined || text.trim() === '')
    return newText(text, { [property.name]: property.value });
  const root = settingsOf(jsonc, text);
  const nodeAt = (path: Path) => jsonc.findNodeAtLocation(root, path);
  const stale = foundIn(jsonc, root, extra);
  const command = stale && nodeAt(stale.command);
  if (command)
    return replaceNode(text, command, JSON.stringify(commandOf(extra)));
  const parent = nodeAt([property.name]);
  if (!parent) return withProperty(text, root, property);
  const list = nodeAt(['hooks', 'PostToolUse']);
  return list
    ? withElement(text, list, value)
    : withProperty(text, parent, { name: 'PostToolUse', value: [value] });
}

/**
 * Restores the text to which the setting was added, or else removes only the
 * setting and keeps all comments. Undefined when there was no file.
 */
function removed(
  jsonc: Jsonc,
  text: string | undefined,
  extra: Extra
): string | undefined {
  if (text === undefined || text.trim() === '') return text;
  const root = settingsOf(jsonc, text);
  const found = foundIn(jsonc, root, extra);
  if (!found) return text;
  const entry = jsonc.findNodeAtLocation(root, found.path);
  const value = entry && jsonc.getNodeValue(entry);
  const levels = levelsOf(jsonc, root, text, found.path);
  const isOriginal = (before: string | undefined) => {
    try {
      return added(jsonc, before, extra, value) === text;
    } catch {
      return false;
    }
  };
  const end = root.offset + root.length;
  const blank = `${text.slice(0, root.offset)}${text.slice(end)}`;
  const candidates = [...levels.flat(), undefined, blank];
  const exact = candidates.findIndex(isOriginal);
  if (exact >= 0) return candidates[exact];
  const rest = levels[0]?.find((before) => {
    try {
      return !foundIn(jsonc, settingsOf(jsonc, before), extra);
    } catch {
      return false;
    }
  });
  if (rest !== undefined) return rest;
  throw new Error('has a setting of ours in a form that is not edited here');
}

/**
 * The text without the member at a path, and without the members around it that
 * have nothing else, the innermost first; for each, candidates.
 */
function levelsOf(
  jsonc: Jsonc,
  root: Node,
  text: string,
  path: Path
): string[][] {
  const node = jsonc.findNodeAtLocation(root, path);
  const member = typeof path.at(-1) === 'number' ? node : node?.parent;
  const container = member?.parent;
  if (!member || !container) return [];
  const around =
    container.children?.length === 1 && path.length > 1
      ? levelsOf(jsonc, root, text, path.slice(0, -1))
      : [];
  return [withoutMember(text, container, member), ...around];
}
