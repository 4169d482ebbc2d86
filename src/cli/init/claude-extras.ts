import { homedir } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../config/overrides.ts';
import { messageOf } from '../../core/errors.ts';
import type { Edit } from '../clients/client-entry.ts';
import { serverName } from '../clients/clients.ts';
import { rootOf } from '../clients/json-format.ts';
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
    if (wanted.length === 0) return undefined;
    return plan({ problem: messageOf(error), entry: byHand(wanted) });
  }
}

/** The text for a user who edits the file. */
function byHand(wanted: Extra[]): string {
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

const places: Record<Extra, string[]> = {
  wake: ['hooks', 'PostToolUse'],
  status: ['statusLine']
};

/** The path and the command of an extra in the settings, if it is ours. */
function foundIn(
  jsonc: Jsonc,
  text: string,
  extra: Extra
): { path: (string | number)[]; whole: (string | number)[] } | undefined {
  const value: unknown = jsonc.getNodeValue(rootOf(jsonc, text));
  if (!isObject(value)) throw new Error('is not a JSON object');
  if (extra === 'status')
    return isOurs(value.statusLine, extra)
      ? { path: ['statusLine', 'command'], whole: places.status }
      : undefined;
  const groups = isObject(value.hooks) ? value.hooks.PostToolUse : undefined;
  if (!Array.isArray(groups)) return undefined;
  for (const [at, group] of groups.entries()) {
    const hooks = isObject(group) ? group.hooks : undefined;
    if (!Array.isArray(hooks)) continue;
    const index = hooks.findIndex((hook) => isOurs(hook, extra));
    if (index < 0) continue;
    const inGroup = [...places.wake, at];
    const inHooks = [...inGroup, 'hooks', index];
    return {
      path: [...inHooks, 'command'],
      whole: hooks.length === 1 ? inGroup : inHooks
    };
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
  const found = foundIn(jsonc, text, extra);
  const root = rootOf(jsonc, text);
  if (found) {
    const node = jsonc.findNodeAtLocation(root, found.path);
    return node && jsonc.getNodeValue(node) === commandOf(extra)
      ? 'ours'
      : 'stale';
  }
  const isTaken =
    extra === 'status' && jsonc.findNodeAtLocation(root, places.status);
  return isTaken ? 'foreign' : 'absent';
}

function added(jsonc: Jsonc, text: string | undefined, extra: Extra): string {
  const now = text === undefined || text.trim() === '' ? '{}\n' : text;
  const found = foundIn(jsonc, now, extra);
  if (found) return modified(jsonc, now, found.path, commandOf(extra));
  if (extra === 'status')
    return modified(jsonc, now, places.status, settingOf(extra));
  const list = jsonc.findNodeAtLocation(rootOf(jsonc, now), places.wake);
  const end = list?.children?.length ?? 0;
  return modified(jsonc, now, [...places.wake, end], settingOf(extra));
}

/** Also removes what is then empty; undefined when nothing else is there. */
function removed(
  jsonc: Jsonc,
  text: string | undefined,
  extra: Extra
): string | undefined {
  if (text === undefined || text.trim() === '') return text;
  const found = foundIn(jsonc, text, extra);
  if (!found) return text;
  let path = found.whole;
  while (path.length > 1) {
    const above = path.slice(0, -1);
    const node = jsonc.findNodeAtLocation(rootOf(jsonc, text), above);
    if (node?.children?.length !== 1) break;
    path = above;
  }
  const rest = modified(jsonc, text, path, undefined);
  const isEmpty = rootOf(jsonc, rest).children?.length === 0;
  return isEmpty && !/\/[/*]/.test(rest) ? undefined : rest;
}

function modified(
  jsonc: Jsonc,
  text: string,
  path: (string | number)[],
  value: unknown
): string {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n'
  };
  return jsonc.applyEdits(
    text,
    jsonc.modify(text, path, value, { formattingOptions })
  );
}
