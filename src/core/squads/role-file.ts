import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Access } from '../../plugin/plugin.ts';
import { mostAskSeconds } from '../asks/ask.ts';
import { errnoOf, HostError, messageOf } from '../errors.ts';
import { leadsOut } from '../runs/admission/containment.ts';
import { collapseWhitespace } from '../text.ts';

/** A brief that precedes a task in a prompt. */
export interface Role {
  /** The file's name without `.md`. */
  id: string;
  /** The display name; the id if the file has none. */
  name: string;
  /** One line that helps to choose a role; empty if the file has none. */
  description: string;
  /** The text for the agent, trimmed at both ends. */
  body: string;
  model?: string;
  engine?: string;
  access?: Access;
  /** Who answers what its agents ask for. */
  ask?: Ask;
  askTimeoutSeconds?: number;
}

type Ask = 'coordinator' | 'person' | 'none';

/** Parses the YAML of a role's head, or throws an error that describes it. */
export type ParseYaml = (text: string) => unknown;

/** In characters; the parser takes quadratic time in the number of keys. */
const longestHead = 20_000;

/**
 * Parses a role file: an optional YAML head between two lines `---`, and the
 * body. Unknown keys are ignored.
 * @throws Error that describes the problem
 */
export function parseRole(id: string, text: string, parse: ParseYaml): Role {
  if (id.startsWith('-')) throw new Error('its name begins with "-"');
  if (text.includes('\0')) throw new Error('it holds a NUL character');
  const { head, body } = split(text.replace(/^\uFEFF/, ''));
  const keys = head === undefined ? {} : keysOf(head, parse);
  const name = collapseWhitespace(textOf(keys, 'name') ?? '');
  const model = textOf(keys, 'model');
  const engine = textOf(keys, 'engine');
  const access = accessOf(keys);
  return {
    id,
    name: name === '' ? id : name,
    description: collapseWhitespace(textOf(keys, 'description') ?? ''),
    body: body.trim(),
    // Briefs for other programs write "inherit" for the session's model.
    ...(model === undefined || model === 'inherit' ? {} : { model }),
    ...(engine === undefined ? {} : { engine }),
    ...(access === undefined ? {} : { access }),
    ...askOf(keys)
  };
}

/**
 * Imported for the first role, because the import would slow down each start.
 * All values are strings as written: a model named 4.10 is not 4.1.
 */
export async function loadYaml(): Promise<ParseYaml> {
  const { parse } = await import('yaml');
  return (text) =>
    parse(text, {
      schema: 'failsafe',
      customTags: ['null'],
      logLevel: 'error'
    });
}

function split(text: string): { head?: string; body: string } {
  const opening = /^---[ \t]*\r?\n/.exec(text);
  if (!opening) return { body: text };
  const rest = text.slice(opening[0].length);
  const closing = /(?:^|\n)---[ \t]*(?:\r?\n|$)/.exec(rest);
  if (!closing) throw new Error('its head has no closing line "---"');
  return {
    head: rest.slice(0, closing.index),
    body: rest.slice(closing.index + closing[0].length)
  };
}

function keysOf(head: string, parse: ParseYaml): Record<string, unknown> {
  if (head.length > longestHead)
    throw new Error(`its head is longer than ${longestHead} characters`);
  // The line break replaces "---", so that line numbers match an editor's.
  const found = parsed(`\n${head}`, parse);
  if (found === null || found === undefined) return {};
  if (typeof found !== 'object' || Array.isArray(found))
    throw new Error('its head is not a list of keys and values');
  return { ...found };
}

function parsed(head: string, parse: ParseYaml): unknown {
  try {
    return parse(head);
  } catch (error) {
    const [message = ''] = messageOf(error).split('\n');
    // Many briefs have a colon in the description, which other programs accept.
    const hint = /nested mappings/i.test(message)
      ? '; a text with ": " in it has to be in quotes'
      : '';
    throw new Error(`${message.replace(/:$/, '')}${hint}`);
  }
}

/** @throws Error for a list, an object or binary data */
function textOf(
  keys: Record<string, unknown>,
  key: string
): string | undefined {
  const value = keys[key];
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw new Error(`its "${key}" is not text`);
  const text = value.trim();
  return text === '' ? undefined : text;
}

function askOf(
  keys: Record<string, unknown>
): Pick<Role, 'ask' | 'askTimeoutSeconds'> {
  const requested = textOf(keys, 'ask');
  const ask = asks.find((known) => known === requested);
  if (requested !== undefined && !ask)
    throw new Error(`its "ask" must be one of ${asks.join(', ')}`);
  const limit = textOf(keys, 'ask_timeout');
  const seconds = Number(limit);
  if (limit !== undefined && !(seconds >= 1 && seconds <= mostAskSeconds))
    throw new Error(
      `its "ask_timeout" must be seconds from 1 to ${mostAskSeconds}`
    );
  return {
    ...(ask ? { ask } : {}),
    ...(limit === undefined ? {} : { askTimeoutSeconds: seconds })
  };
}

const asks: Ask[] = ['coordinator', 'person', 'none'];

/** An invalid access is never ignored, because it limits the agent. */
function accessOf(keys: Record<string, unknown>): Access | undefined {
  const requested = textOf(keys, 'access');
  if (requested === undefined) return undefined;
  const access = accesses.find((known) => known === requested);
  if (access) return access;
  throw new Error(`its "access" must be one of ${accesses.join(', ')}`);
}

const accesses: Access[] = ['read', 'write', 'full'];

export interface RoleLocation {
  id: string;
  path: string;
  from: 'built-in' | 'workspace';
  /** True if it overrides a built-in role of the same id. */
  replacesBuiltIn: boolean;
}

export interface RoleDirectories {
  /** The package's directory. */
  builtin: string;
  /** The workspace's directory: adds roles and overrides built-in ones. */
  own: string;
  /** Links in `own` must stay inside this directory. Default: `own` itself. */
  within?: string;
}

/** In bytes. A larger file is no brief, and would be read on each change. */
const largestFile = 1_000_000;

/** The coarsest timestamps of a file system: changes in it look the same. */
const clockMs = 2000;

/** The files in effect, sorted by id. A missing directory has none. */
export function locationsIn(directories: RoleDirectories): RoleLocation[] {
  const { builtin, own } = directories;
  checkDirectory(directories);
  const found = new Map<string, RoleLocation>();
  for (const [from, directory] of [
    ['built-in', builtin],
    ['workspace', own]
  ] as const)
    for (const id of idsIn(directory)) {
      const path = join(directory, `${id}.md`);
      const before = found.get(id);
      // In the package's own project, both are the same directory.
      if (before?.path === path) continue;
      found.set(id, { id, path, from, replacesBuiltIn: before !== undefined });
    }
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** @throws HostError `config_invalid` for a link that leads out of `within` */
export function checkDirectory({ own, within = own }: RoleDirectories): void {
  if (!leadsOut(within, own)) return;
  throw new HostError(
    'config_invalid',
    `The roles in ${own} are not read: it is a link that leads outside the workspace.`,
    'The user has to put the files into the workspace, or to name the directory itself with AGENTS_DIRECTORY_PATH.'
  );
}

/** Why a directory cannot hold roles; undefined if it can or is missing. */
export function directoryProblem(directory: string): string | undefined {
  try {
    if (statSync(directory).isDirectory()) return undefined;
    return 'it is not a directory';
  } catch (error) {
    if (errnoOf(error) === 'ELOOP')
      return 'it is a link that leads in a circle';
    return undefined;
  }
}

/** The location of a role of the workspace. */
export function locationOf(
  id: string,
  { own }: RoleDirectories,
  replacesBuiltIn: boolean
): RoleLocation {
  const path = join(own, `${id}.md`);
  return { id, path, from: 'workspace', replacesBuiltIn };
}

export function idsIn(directory: string): string[] {
  return namesIn(directory)
    .filter((name) => /^[^.].*\.md$/.test(name) && !/^readme\.md$/i.test(name))
    .map((name) => name.slice(0, -'.md'.length));
}

/** The built-in role that a role of the workspace overrides. */
export function builtInOf(
  { id, replacesBuiltIn }: RoleLocation,
  { builtin }: RoleDirectories
): RoleLocation | undefined {
  if (!replacesBuiltIn) return undefined;
  const path = join(builtin, `${id}.md`);
  return { id, path, from: 'built-in', replacesBuiltIn: false };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    const code = errnoOf(error);
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code ?? '')) return [];
    // It may override any built-in role, so none of them can be used.
    throw new HostError(
      'config_invalid',
      `The roles in ${directory} cannot be read (${code ?? messageOf(error)}).`,
      'The user has to make that directory readable, or to name another with AGENTS_DIRECTORY_PATH.'
    );
  }
}

/**
 * A value that changes with the file; undefined if the file changed too
 * recently for its timestamps to show the next change.
 * @throws Error if a role cannot be read from the path
 */
export function fileMark(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file) throw new Error('it is a link that leads nowhere');
  // Reading a pipe, for example, would never end.
  if (!file.isFile()) throw new Error('it is not a regular file');
  if (file.size > largestFile)
    throw new Error(`it is larger than ${largestFile} bytes`);
  const { ino, size, mtimeMs, ctimeMs } = file;
  const isFresh = Date.now() - Math.max(mtimeMs, ctimeMs) < clockMs;
  return isFresh ? undefined : [ino, size, mtimeMs, ctimeMs].join(' ');
}
