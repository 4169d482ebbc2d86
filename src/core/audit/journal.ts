import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FailureCode, Usage } from '../../plugin.ts';
import type { EndStatus, Membership, RunRecord } from '../runs/run.ts';
import { ensureDirectory } from '../state/directories.ts';
import { openToAppend, writeOver } from '../state/own-file.ts';
import type { CleanedRecord } from './cleaned-record.ts';
import { JournalFiles } from './journal-files.ts';
import { mostErrorChars, type WithLongError } from './long-error.ts';
import { longestSecret, type Redact } from './redact.ts';

/** A text in the journal: inline when short, else by hash and file. */
export interface JournalText {
  chars: number;
  text?: string;
  sha256?: string;
  /** Relative to the record. */
  path?: string;
}

export interface SpawnedRecord {
  type: 'spawned';
  agent_id: string;
  engine: string;
  label: string;
  kind: 'cli' | 'api';
  model: string | null;
  tools: string | null;
  access: string;
  enforcement: string;
  cwd: string;
  task: string;
  parent: string | null;
  continues: string | null;
  squad?: Membership;
  created_at: string;
  prompt: JournalText;
}

export interface FinishedRecord extends WithLongError {
  type: 'finished';
  agent_id: string;
  status: EndStatus;
  error: string | null;
  error_code: FailureCode | null;
  model: string | null;
  exit_code: number | null;
  cost_usd: number | null;
  usage: Usage | null;
  duration_ms: number;
  completed_at: string;
  result: JournalText;
}

export interface CancelRecord {
  type: 'cancel_requested';
  agent_id: string;
  reason: string | null;
}

export type JournalEvent =
  | SpawnedRecord
  | FinishedRecord
  | CancelRecord
  | CleanedRecord;

export type JournalRecord = JournalEvent & {
  writer: string;
  n: number;
  prev: string;
  at: string;
};

/** A record is one write of at most this many bytes. */
export const maximumRecordBytes = 64 * 1024;
/** Texts up to this many characters of JSON stand in the record itself. */
const inlineChars = 12_000;
export const firstLink = '0'.repeat(64);

/**
 * `iac.jsonl` in the record: what happened, append-only, for all servers of a
 * workspace. No lock: a record is one O_APPEND write, framed by newlines, and
 * each writer chains its own records by hash, so nobody can stall anybody and
 * every edit or deletion shows.
 */
export class Journal {
  readonly path: string;
  /** All of the journal, for who reads it. */
  readonly files: JournalFiles;
  #n = 0;
  #prev = firstLink;
  readonly #headDirectory: string;
  readonly #newName: () => string;
  #writer: string | undefined;
  /** Takes secrets out of what others may read. */
  readonly redact: Redact;

  /**
   * @param headDirectory where the newest link of each chain is noted, apart
   *   from the journal, so that a cut end shows
   */
  constructor(
    path: string,
    headDirectory: string,
    redact: Redact,
    newName = () => randomBytes(4).toString('hex')
  ) {
    this.path = path;
    this.files = new JournalFiles(path);
    this.#headDirectory = headDirectory;
    this.redact = redact;
    this.#newName = newName;
  }

  /** This process's chain, named at its first use, as no other one is. */
  get writer(): string {
    while (this.#writer === undefined) {
      const name = this.#newName();
      if (!existsSync(join(this.#headDirectory, name))) this.#writer = name;
    }
    return this.#writer;
  }

  /**
   * Appends one event. Secrets are taken out here, so none can be forgotten.
   * @throws the system's error when the disk does not take it whole; the
   *   torn line is recognised by `verify` and the chain goes on.
   */
  append(event: JournalEvent, at = new Date()): void {
    const record = {
      writer: this.writer,
      n: this.#n,
      prev: this.#prev,
      at: at.toISOString(),
      ...this.#clean(event)
    };
    const line = JSON.stringify(record);
    ensureDirectory(dirname(this.path));
    appendWhole(this.path, line);
    this.#prev = hashOf(line);
    this.#noteHead();
    this.#n += 1;
  }

  /**
   * Never throws: the record stands, and who was told that it failed would
   * take back what it tells. The next one brings the head up to date.
   */
  #noteHead(): void {
    const head = join(this.#headDirectory, this.writer);
    try {
      ensureDirectory(this.#headDirectory);
      writeOver(head, `${this.#n} ${this.#prev}\n`);
    } catch {
      // A full disk. Until then a cut end of this chain does not show.
    }
  }

  /** A text for a record: short ones inline, long ones by reference. */
  textOf(text: string, path: string): JournalText {
    const clean = this.redact(text);
    const chars = text.length;
    if (JSON.stringify(clean).length <= inlineChars)
      return { chars, text: clean };
    return { chars, sha256: hashOf(text), path };
  }

  #clean(event: JournalEvent): JournalEvent {
    switch (event.type) {
      case 'spawned':
        return {
          ...event,
          model: this.#short(event.model, 200),
          tools: this.#short(event.tools, 400),
          task: this.#short(event.task, 400)
        };
      case 'finished':
        return {
          ...event,
          model: this.#short(event.model, 200),
          error: this.#short(event.error, mostErrorChars)
        };
      case 'cancel_requested':
        return { ...event, reason: this.#short(event.reason, 2000) };
      case 'cleaned':
        return event;
    }
  }

  /** Redacted before it is cut: a cut secret would not be known as one. */
  #short<Text extends string | null>(text: Text, chars: number) {
    if (text === null) return text;
    const known = text.slice(0, chars + longestSecret);
    return this.redact(known, 0, chars);
  }
}

export function spawnedEvent(
  record: RunRecord,
  prompt: JournalText
): SpawnedRecord {
  const { agent_id, engine, label, kind, model, tools, access } = record;
  const { enforcement, cwd, task, parent, continues, created_at } = record;
  return {
    type: 'spawned',
    agent_id,
    engine,
    label,
    kind,
    model,
    tools,
    access,
    enforcement,
    cwd,
    task,
    parent,
    continues,
    ...(record.squad ? { squad: record.squad } : {}),
    created_at,
    prompt
  };
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** One write: a newline in front isolates whatever a killed writer left torn. */
function appendWhole(path: string, line: string): void {
  const bytes = Buffer.from(`\n${line}\n`);
  if (bytes.length > maximumRecordBytes)
    throw new RangeError(`A journal record of ${bytes.length} bytes`);
  const descriptor = openToAppend(path);
  try {
    const written = writeSync(descriptor, bytes);
    // Without its last newline the record is whole: the next brings one.
    if (written < bytes.length - 1)
      throw Object.assign(new Error('ENOSPC: short write to the journal'), {
        code: 'ENOSPC'
      });
  } finally {
    closeSync(descriptor);
  }
}
