import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import type { Outcome, RunRecord } from '../../../src/core/runs/run.ts';
import { agentId } from '../servers/logged-agents.ts';
import { outcomeWith, recordWith } from '../servers/run-facts.ts';

const dayMs = 86_400_000;

/** Says that it is this test's own process that has it. */
export const { self: ownProcess } = createProcesses('dist');

export interface MadeUp extends Partial<RunRecord> {
  agent_id: string;
  /** When it ended; null for one in this process's queue. */
  daysAgo: number | null;
  read?: boolean;
  /** In its result; the folder has a little more. */
  bytes?: number;
  /** Its result, instead of so many bytes. */
  text?: string;
  /** How it ended, where that differs from the rest. */
  outcome?: Partial<Outcome>;
  /** Its end is not in the journal. */
  isOpen?: boolean;
  /** The session that it reported at its end. */
  toldSession?: string;
  patch?: string;
}

/** Puts an agent's folder on disk, as if it had been spawned and had ended. */
export function makeUp(record: string, made: MadeUp, now = Date.now()): string {
  const {
    daysAgo,
    read,
    bytes = 0,
    isOpen,
    toldSession,
    patch,
    ...rest
  } = made;
  const { text = 'r'.repeat(bytes), outcome, ...asked } = rest;
  const { agent_id: id } = asked;
  const directory = join(record, 'spawns', id);
  for (const path of [directory, join(record, 'open')])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const write = (name: string, value: string | object) =>
    writeFileSync(
      join(directory, name),
      typeof value === 'string' ? value : JSON.stringify(value)
    );
  write(
    'record.json',
    recordWith({ engine: 'rehearsal', owner: ownProcess, ...asked })
  );
  write('prompt.txt', asked.task ?? 'x');
  write('events.jsonl', '');
  if (daysAgo === null || isOpen) writeFileSync(join(record, 'open', id), '');
  if (daysAgo === null) return directory;
  write('claim', 'never\n');
  write('result.txt', text);
  if (read) write('read', '');
  if (patch !== undefined) {
    write('changes.diff', patch);
    write('changes.json', { v: 1, patch: 'changes.diff', files: [], total: 1 });
  }
  write(
    'outcome.json',
    outcomeWith({
      result_chars: bytes,
      completed_at: new Date(now - daysAgo * dayMs).toISOString(),
      session_id: toldSession ?? null,
      ...outcome
    })
  );
  return directory;
}

/** An id made of a number. */
export const idOf = agentId;
