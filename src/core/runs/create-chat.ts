import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere, writeNew } from '../state/atomic-file.ts';
import { sizeOf, tailOf } from '../state/text-file.ts';
import { checkStillInside } from './containment.ts';
import { environmentOf, type ProgramDependencies } from './program.ts';
import type { RunRecord } from './run.ts';
import {
  emptyExitFile,
  exitCodeOf,
  stopRequestOf,
  touchStarting
} from './run-files.ts';
import type { Waiting } from './run-queue.ts';

/** What may stand for a chat in a tool's input and on a command line. */
export const chatIdForm = /^[A-Za-z0-9_.:][A-Za-z0-9_.:-]{0,255}$/;

/** Making an empty chat is no work. */
const longestSeconds = 60;
const longestBytes = 1024 * 1024;
const lookMs = 100;

/**
 * A run with the chat that it begins with: the command that makes one runs
 * first, under a supervisor of its own, in a folder `chat` of the agent's. It
 * ends with this process, and all that it started before the run begins.
 * @param isWanted false as soon as nobody needs the chat any more
 * @throws Error with the cause when there is no chat
 */
export async function withChat(
  waiting: Waiting,
  directory: string,
  isWanted: () => boolean,
  dependencies: ProgramDependencies & { workspace: string }
): Promise<Waiting> {
  const { record, engine, request, createChat } = waiting;
  if (!createChat || !isWanted()) return waiting;
  const { processes } = dependencies;
  const command = processes.locate(createChat.command);
  if (command === undefined)
    throw new Error(notMade(`there is no program "${createChat.command}"`));
  checkStillInside(dependencies.workspace, record.cwd);
  const place = layOut(directory);
  const { ended } = processes.launch({
    agentId: record.agent_id,
    directory: place,
    command,
    args: createChat.args,
    environment: {
      ...environmentOf(engine, request, record, directory, dependencies),
      TROUPE_AGENT_DIR: place
    },
    cwd: record.cwd,
    timeoutSeconds: secondsFor(record),
    idleTimeoutSeconds: 0,
    outputLimitBytes: longestBytes,
    stopWithUs: true
  });
  const target = { directory: place, place: record.owner.place };
  const look = setInterval(() => {
    touchStarting(directory);
    if (isWanted()) return;
    clearInterval(look);
    // Its supervisor ends with it, and with that our wait.
    processes.stop(target).catch(() => undefined);
  }, lookMs);
  try {
    await ended;
    await processes.stop({ ...target, justEnded: true });
  } finally {
    clearInterval(look);
  }
  const sessionId = chatOf(directory);
  if (sessionId === undefined) throw new Error(problemOf(place, record));
  return { ...waiting, request: { ...request, sessionId } };
}

/** The files that a supervisor expects. */
function layOut(directory: string): string {
  const place = chatDirectory(directory);
  mkdirSync(place, { mode: 0o700 });
  for (const name of ['stdin', 'stdout', 'stderr', 'events.jsonl'])
    writeNew(join(place, name), '');
  writeNew(join(place, 'exit'), emptyExitFile);
  return place;
}

/** Where an agent's chat is made; there is none for most. */
export function chatDirectory(directory: string): string {
  return join(directory, 'chat');
}

/** The chat that was made for an agent, if one was. */
export function chatOf(directory: string): string | undefined {
  const place = chatDirectory(directory);
  if (exitCodeOf(place) !== 0) return undefined;
  const id = (readIfThere(join(place, 'stdout')) ?? '').trim();
  return chatIdForm.test(id) ? id : undefined;
}

/** Never longer than its agent may take. */
function secondsFor({ timeout_seconds: limit }: RunRecord): number {
  return limit === 0 ? longestSeconds : Math.min(limit, longestSeconds);
}

function problemOf(place: string, record: RunRecord): string {
  const code = exitCodeOf(place);
  const how = howItEnded(place, code, record);
  // What should have been an id tells more than what else was said.
  const outputs = ['stderr', 'stdout'].map((name) => join(place, name));
  if (code === 0) outputs.reverse();
  const output = outputs.find((path) => sizeOf(path) > 0);
  const said = output === undefined ? '' : tailOf(output, 2000).trim();
  return notMade(`${how}${said === '' ? '' : `: ${said}`}`);
}

function notMade(why: string): string {
  return `the chat could not be made: ${why}`;
}

function howItEnded(
  place: string,
  code: number | undefined,
  record: RunRecord
): string {
  if (stopRequestOf(place)?.why === 'timeout')
    return `its command was stopped after ${Math.ceil(secondsFor(record))} s`;
  if (code === undefined) return 'its command was ended';
  return code === 0
    ? 'its command printed no chat id'
    : `its command exited with code ${code}`;
}
