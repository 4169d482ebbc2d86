import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readIfExists, writeNew } from '../../state/files/atomic-file.ts';
import { sizeOf, tailOf } from '../../state/files/text-file.ts';
import { checkStillInside } from '../admission/containment.ts';
import { NotClaimed } from '../damaged-run.ts';
import { environmentOf, type ProgramDependencies } from '../program.ts';
import type { RunRecord } from '../run.ts';
import { createFolder, exitCodeOf, stopRequestOf } from '../run-files.ts';
import type { Waiting } from '../spawn-request.ts';
import { touchStarting } from '../start-marks.ts';

/** A chat id that is safe in a tool's input and on a command line. */
export const chatIdForm = /^[A-Za-z0-9_.:][A-Za-z0-9_.:-]{0,255}$/;

/** `chatIdForm` in words. */
export const chatIdWords = '1 to 256 of A-Z a-z 0-9 . _ : -, and no "-" first';

/** Limits of the command, because creating an empty chat is quick. */
const longestSeconds = 60;
const longestBytes = 1024 * 1024;
const pollMs = 100;

/**
 * Creates the chat that a run begins with. The command runs under its own
 * supervisor, in the subfolder `chat` of the agent's folder. It is stopped when
 * this process ends. Processes that it leaves behind are stopped before the run
 * begins.
 * @param isWanted returns false once the run no longer needs the chat
 * @throws Error with the cause when no chat was created
 */
export async function withChat(
  waiting: Waiting,
  directory: string,
  isWanted: () => boolean,
  dependencies: ProgramDependencies & { workspace: string }
): Promise<Waiting> {
  const { record, engine, request, createChat } = waiting;
  if (!createChat) return waiting;
  if (!isWanted()) throw new Error(notMade('its agent is no longer wanted'));
  const { processes } = dependencies;
  const command = processes.locate(createChat.command);
  if (command === undefined)
    throw new Error(notMade(`there is no program "${createChat.command}"`));
  checkStillInside(dependencies.workspace, record.cwd);
  const folder = chatDirectory(directory);
  // An attempt that the disk refused leaves some files.
  if (waiting.isPutBack) rmSync(folder, { recursive: true, force: true });
  createFolder(folder);
  writeNew(join(folder, 'stdin'), '');
  const { ended } = processes.launch({
    agentId: record.agent_id,
    directory: folder,
    command,
    args: createChat.args,
    environment: {
      ...environmentOf(engine, request, record, directory, dependencies),
      TROUPE_AGENT_DIR: folder
    },
    cwd: record.cwd,
    timeoutSeconds: secondsFor(record),
    idleTimeoutSeconds: 0,
    outputLimitBytes: longestBytes,
    stopWithUs: true
  });
  const target = { directory: folder, place: record.owner.place };
  const poll = setInterval(() => {
    touchStarting(directory);
    if (isWanted()) return;
    clearInterval(poll);
    // The supervisor ends with its command, which resolves `ended`.
    processes.stop(target).catch(() => undefined);
  }, pollMs);
  try {
    if (!(await ended)) throw new NotClaimed();
    await processes.stop({ ...target, justEnded: true });
  } finally {
    clearInterval(poll);
  }
  const sessionId = chatOf(directory);
  if (sessionId === undefined) throw new Error(problemOf(folder, record));
  const inChat = { ...request, sessionId };
  return { ...waiting, request: inChat, createChat: undefined };
}

/** The folder of the command that creates an agent's chat. */
export function chatDirectory(directory: string): string {
  return join(directory, 'chat');
}

/** The chat that was created for an agent, if any. */
export function chatOf(directory: string): string | undefined {
  const folder = chatDirectory(directory);
  if (exitCodeOf(folder) !== 0) return undefined;
  const id = (readIfExists(join(folder, 'stdout')) ?? '').trim();
  return chatIdForm.test(id) ? id : undefined;
}

/** The timeout of the command, at most the agent's timeout. */
function secondsFor({ timeout_seconds: limit }: RunRecord): number {
  return limit === 0 ? longestSeconds : Math.min(limit, longestSeconds);
}

function problemOf(folder: string, record: RunRecord): string {
  const code = exitCodeOf(folder);
  const how = howItEnded(folder, code, record);
  // If the command succeeded, its invalid id explains more than its stderr.
  const outputs = ['stderr', 'stdout'].map((name) => join(folder, name));
  if (code === 0) outputs.reverse();
  const output = outputs.find((path) => sizeOf(path) > 0);
  const said = output === undefined ? '' : tailOf(output, 2000).trim();
  return notMade(`${how}${said === '' ? '' : `: ${said}`}`);
}

function notMade(why: string): string {
  return `the chat could not be made: ${why}`;
}

function howItEnded(
  folder: string,
  code: number | undefined,
  record: RunRecord
): string {
  if (stopRequestOf(folder)?.why === 'timeout')
    return `its command was stopped after ${Math.ceil(secondsFor(record))} s`;
  if (code === undefined) return 'its command was ended';
  if (code !== 0) return `its command exited with code ${code}`;
  return tailOf(join(folder, 'stdout'), 2000).trim() === ''
    ? 'its command printed no chat id'
    : `what its command printed is not a chat id (${chatIdWords})`;
}
