import { withAbsolutePath } from '../../core/engines/environment.ts';
import { terminalLine } from '../../core/text.ts';
import type { Client, Entry } from '../clients/clients.ts';
import { wordsOf } from '../clients/troupe-launch.ts';
import { shellQuoted } from '../output/text.ts';
import { SessionFault, StdioSession } from './stdio-session.ts';

/** The result of starting a server as a client starts it. */
export type ServerCheck =
  | { ok: true; milliseconds: number; tools: string[] }
  | ({ ok: false } & Reason);

interface Reason {
  problem: string;
  next: string;
  /** npx cannot fetch the package, so the other clients fail as well. */
  isNpms?: true;
}

export interface Start {
  client: Client;
  entry: Entry;
  workspace: string;
  /** The limit for each answer. The first answer may wait for a download. */
  limitMs?: number;
  /** Added to the environment that the client passes. */
  extraEnv?: Record<string, string>;
}

/** Longer than npx takes to fetch the package over a slow connection. */
const usualLimitMs = 60_000;

/** Starts the server of an entry, requests its tools and closes it. */
export async function checkServer(start: Start): Promise<ServerCheck> {
  const startedAt = performance.now();
  const session = startServer(start);
  const limitMs = start.limitMs ?? usualLimitMs;
  try {
    await session.initialize(limitMs);
    const milliseconds = Math.round(performance.now() - startedAt);
    const { tools } = await session.request('tools/list', {}, limitMs);
    const names = Array.isArray(tools) ? tools.map(({ name }) => name) : [];
    return { ok: true, milliseconds, tools: names.map(String) };
  } catch (error) {
    if (!(error instanceof SessionFault)) throw error;
    return { ok: false, ...reasonOf(error, session.stderr, start) };
  } finally {
    await session.close();
  }
}

export function startServer(start: Start): StdioSession {
  const { client, entry, workspace, extraEnv } = start;
  const env = environmentOf(client, entry, workspace);
  const [command = '', ...args] = wordsOf(entry);
  const launch = { command, args };
  return new StdioSession(launch, { ...env, ...extraEnv }, workspace);
}

function reasonOf(
  fault: SessionFault,
  stderr: string,
  { client, entry, limitMs = usualLimitMs }: Start
): Reason {
  const [command] = wordsOf(entry);
  const lines = stderr.split('\n').map(terminalLine).filter(Boolean);
  if (command === 'npx') {
    const reason = npmReason(stderr);
    if (reason) return reason;
  }
  if (fault.why === 'not there')
    return {
      problem: `The program "${command}" is not on the PATH that ${client.label} hands on.`,
      next: 'Write its full path into the entry as "command", or put it on PATH.'
    };
  const seconds = Math.round(limitMs / 1000);
  if (fault.why === 'silent' && command === 'npx')
    return {
      problem: `npx said nothing for ${seconds} s: it may be fetching the package yet, or not reach its registry.`,
      next: `See what it does, and call this again: ${shellWords(entry)}`,
      isNpms: true
    };
  if (fault.why === 'silent')
    return {
      problem: `It said nothing for ${seconds} s.`,
      next: `Start it yourself to see why: ${shellWords(entry)}`
    };
  const own = lines.findLast((line) => line.startsWith('troupe:'));
  const last = (own ?? lines.at(-1) ?? '').replace(/^troupe: /, '');
  return {
    problem: `It does not start: ${last || fault.message}`,
    next: `Fix that, or start it yourself to see more: ${shellWords(entry)}`
  };
}

const withoutNpm =
  'Call init from a clone of troupe: its entry starts that, and needs no npm.';

function npmReason(stderr: string): Reason | undefined {
  if (/\bE404\b/.test(stderr))
    return {
      isNpms: true,
      problem: 'npm does not find the package in its registry.',
      next: `See which registry npm asks: npm config get registry. ${withoutNpm}`
    };
  const network =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED|ENETUNREACH)\b/.exec(
      stderr
    );
  if (!network) return undefined;
  return {
    isNpms: true,
    problem: `npm cannot reach its registry (${network[1]}).`,
    next: `Check the network and call this again. ${withoutNpm}`
  };
}

function shellWords(entry: Entry): string {
  return wordsOf(entry)
    .map((word) => (/^[\w./@:=-]+$/.test(word) ? word : shellQuoted(word)))
    .join(' ');
}

type Environment = Record<string, string | undefined>;

/** Variables that npx or npm add to the environment. */
const npmVariables = /^npm_|^(INIT_CWD|NODE)$/;
const secret = /(KEY|TOKEN|SECRET|PASSWORD)/i;
const always = ['HOME', 'LANG', 'PATH', 'TERM'];

/**
 * The environment that a client gives the server of an entry: the variables
 * that the client passes on and the variables that the entry sets.
 * @param own the environment of the client
 */
export function environmentOf(
  { name, passes }: Client,
  entry: Entry,
  workspace: string,
  own: Environment = process.env
): Record<string, string> {
  const shell = plain(own);
  const named = listOf(entry.env_vars);
  const isPassed = (variable: string) =>
    passes === 'all' ||
    named.includes(variable) ||
    (passes === 'little' ? always.includes(variable) : !secret.test(variable));
  const passed = Object.entries(shell).filter(([key]) => isPassed(key));
  const set = Object.entries(Object(entry.env)).map(([key, value]) => [
    key,
    expanded(String(value), shell, workspace)
  ]);
  return withAbsolutePath({
    ...Object.fromEntries(passed),
    ...(name === 'claude' ? { CLAUDE_PROJECT_DIR: workspace } : {}),
    ...Object.fromEntries(set)
  });
}

/** Removes the variables that npm sets and the folders that it adds to PATH. */
function plain(own: Environment): Record<string, string> {
  const kept = Object.entries(own).flatMap(([key, value]) =>
    value === undefined || npmVariables.test(key) ? [] : [[key, value]]
  );
  const shell: Record<string, string> = Object.fromEntries(kept);
  const { PATH: path = '' } = shell;
  const delimiter = process.platform === 'win32' ? ';' : ':';
  // If npm did not start this process, the user has put the folder on PATH.
  const isNpms = (folder: string) =>
    own.npm_execpath !== undefined &&
    /node_modules[\\/]\.bin$|node-gyp-bin$/.test(folder);
  const folders = path.split(delimiter).filter((folder) => !isNpms(folder));
  return { ...shell, PATH: folders.join(delimiter) };
}

/**
 * Expands `$NAME`, `${NAME}`, `${NAME:-default}`, `${env:NAME}` and
 * `${workspaceFolder}`.
 */
function expanded(
  text: string,
  shell: Record<string, string>,
  workspace: string
): string {
  return text
    .replaceAll('${workspaceFolder}', workspace)
    .replace(
      /\$(?:(\w+)|\{(?:env:)?(\w+)(?::-([^}]*))?\})/g,
      (_, bare, braced, other) => shell[bare ?? braced] ?? other ?? ''
    );
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
