import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { askFile, askSettingsFile } from '../../core/asks/ask-files.ts';
import type { AskSettings } from '../../core/asks/asker.ts';
import {
  holdAll,
  isCleared,
  noteCleared,
  park,
  parkedOf,
  type ResumeFacts,
  release,
  resumeFactsOf
} from '../../core/asks/parking.ts';
import { hasExited, stopRequestOf } from '../../core/runs/run-files.ts';
import { LineReader } from '../../core/state/files/line-reader.ts';
import { whileLocked } from '../../core/state/locks/file-lock.ts';
import { processLiveness } from '../child-process/processes.ts';
import { endProgram, programOf } from './end-program.ts';

const mostLineBytes = 4 * 1024 * 1024;

/**
 * Parks a run that waits for answers: ends its program, so that the process
 * that its shell runs next waits instead. Does nothing while the run may not be
 * parked, such as when one of its asks has just been made or answered. After a
 * failure, the next call completes what was begun.
 * @param waiting the process that has taken the program's place already
 */
export async function parkRun(
  directory: string,
  waiting: number | undefined
): Promise<void> {
  const processes = processLiveness();
  await whileLocked(askFile(directory, 'parking'), processes, async () => {
    // Read first: the parking may end meanwhile, and the program go on.
    const wasCleared = isCleared(directory);
    const isBegun = parkedOf(directory) !== undefined;
    if (isBegun && wasCleared) return;
    const programs = await programOf(directory);
    if (waiting !== undefined) programs.delete(waiting);
    if (!isBegun && programs.size === 0) return;
    if (!isBegun && !(await hold(directory, processes.self))) return;
    const wasThere = await endProgram(directory, programs);
    noteCleared(directory, isBegun || wasThere);
  });
}

async function hold(
  directory: string,
  parker: ReturnType<typeof processLiveness>['self']
): Promise<boolean> {
  // Of a process that was killed before it parked the run.
  release(directory);
  if (hasExited(directory) || stopRequestOf(directory)) return false;
  const { agentId, parkAfterSeconds = 0 }: AskSettings = JSON.parse(
    readFileSync(askFile(directory, askSettingsFile), 'utf8')
  );
  const quietMs = 1000 * parkAfterSeconds;
  if (isBusy(directory, quietMs / 2)) return false;
  const facts = resumeFactsOf(directory);
  const session = facts && (await sessionOf(directory, facts));
  if (!session) return false;
  try {
    const asks = holdAll(directory, agentId, quietMs);
    if (!asks) return false;
    const ids = asks.map(({ ask_id: id }) => id);
    park(directory, { session, asks: ids, parker });
    return true;
  } catch (error) {
    // The disk is full: the bridges go on.
    release(directory);
    throw error;
  }
}

/** Whether the program has printed something lately: other work goes on. */
function isBusy(directory: string, quietMs: number): boolean {
  const { mtimeMs } = statSync(join(directory, 'stdout'));
  return Math.abs(Date.now() - mtimeMs) < quietMs;
}

/** The session of the program: the last one that its output names. */
async function sessionOf(
  directory: string,
  { session: { type, field }, sessionId }: ResumeFacts
): Promise<string | null> {
  let found = sessionId;
  const lines = new LineReader(join(directory, 'stdout'), mostLineBytes);
  await lines.read((line) => {
    if (!line.includes(type)) return;
    const event = eventIn(line);
    const id = event.type === type ? event[field] : undefined;
    if (typeof id === 'string' && id !== '') found = id;
  });
  return found;
}

function eventIn(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line));
  } catch {
    return {};
  }
}
