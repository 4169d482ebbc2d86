import type { Client, Launch } from '../clients.ts';
import { oneLine } from '../text.ts';
import { environmentOf } from './client-environment.ts';
import type { Entry } from './entry-format.ts';
import { SessionFault, StdioSession } from './stdio-session.ts';

/** What became of a server that was started as a client starts it. */
export type ServerCheck =
  | { ok: true; milliseconds: number; tools: string[] }
  | Failure;

interface Failure extends Reason {
  ok: false;
}

interface Reason {
  problem: string;
  next: string;
  /** npx did not bring the program: it will not for other clients either. */
  isNpms?: true;
}

export interface Start {
  client: Client;
  entry: Entry;
  workspace: string;
  /** For each answer; the first may have to wait for a download. */
  limitMs?: number;
  /** Variables that the client's server would not have. */
  besides?: Record<string, string>;
}

/** Longer than npx takes to fetch the package on a slow line. */
const usualLimitMs = 60_000;

/** Starts the server of an entry, asks for its tools and ends it. */
export async function checkServer(start: Start): Promise<ServerCheck> {
  const began = performance.now();
  const session = startServer(start);
  const limitMs = start.limitMs ?? usualLimitMs;
  try {
    await session.initialize(limitMs);
    const milliseconds = Math.round(performance.now() - began);
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
  const { client, entry, workspace, besides } = start;
  const env = environmentOf(client, entry, workspace);
  const launch = launchOf(entry);
  return new StdioSession(launch, { ...env, ...besides }, workspace);
}

function launchOf({ command, args }: Entry): Launch {
  return {
    command: String(command),
    args: Array.isArray(args) ? args.map(String) : []
  };
}

function reasonOf(
  fault: SessionFault,
  stderr: string,
  { client, entry, limitMs = usualLimitMs }: Start
): Reason {
  const { command } = launchOf(entry);
  const lines = stderr.split('\n').map(oneLine).filter(Boolean);
  if (command === 'npx') {
    const ofNpm = npmReason(stderr);
    if (ofNpm) return ofNpm;
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
  const said = lines.findLast((line) => line.startsWith('troupe:'));
  const last = (said ?? lines.at(-1) ?? '').replace(/^troupe: /, '');
  return {
    problem: `It does not start: ${last || fault.message}`,
    next: `Mend that, or start it yourself to see more: ${shellWords(entry)}`
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
  const { command, args } = launchOf(entry);
  return [command, ...args]
    .map((word) => (/^[\w./@:=-]+$/.test(word) ? word : `'${word}'`))
    .join(' ');
}
