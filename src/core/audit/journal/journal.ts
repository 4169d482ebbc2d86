import { randomBytes } from 'node:crypto';
import { existsSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileChange } from '../../changes/ports.ts';
import type { RunRecord } from '../../runs/run.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { KeptFile } from '../../state/files/own-file.ts';
import { digestOf } from '../../state/integrity/digests.ts';
import { longestSecret, type Redact } from '../redaction/redact.ts';
import { JournalFiles } from './journal-files.ts';
import {
  type FinishedRecord,
  firstLink,
  type JournalEvent,
  type JournalText,
  maximumRecordBytes,
  type SpawnedRecord
} from './journal-record.ts';

/** Texts above this length in JSON are stored by reference. */
const inlineChars = 12_000;
/** Limits of the list of changed files, in entries and bytes of JSON. */
const mostFiles = 20;
const filesBytes = 3000;
const mostPathChars = 200;
/** The maximum length of the name of a client. */
const mostNameChars = 200;
/** The maximum length of an error in a record. */
const mostErrorChars = 4000;
/** The maximum length of what was asked, and of an answer. */
const mostAskChars = 8000;

/**
 * `iac.jsonl` in the record: the append-only events of all servers of a
 * workspace. It needs no lock, so no server can block another one: a record is
 * one O_APPEND write between newlines. Each writer chains its own records by
 * hash, so `verify` detects edits and deletions.
 */
export class Journal {
  readonly path: string;
  /** The current file and its archived segments, for readers. */
  readonly files: JournalFiles;
  #n = 0;
  #prev = firstLink;
  readonly #file: KeptFile;
  readonly #headDirectory: string;
  #head: KeptFile | undefined;
  readonly #newName: () => string;
  #writer: string | undefined;
  /** Removes secrets from texts before they are written. */
  readonly redact: Redact;

  /**
   * @param headDirectory holds the last hash of each chain outside the
   *   journal, so that `verify` detects a truncated chain
   */
  constructor(
    path: string,
    headDirectory: string,
    redact: Redact,
    newName = () => randomBytes(4).toString('hex')
  ) {
    this.path = path;
    this.files = new JournalFiles(path);
    this.#file = new KeptFile(path);
    this.#headDirectory = headDirectory;
    this.redact = redact;
    this.#newName = newName;
  }

  /** The unique name of this writer's chain, generated at first use. */
  get writer(): string {
    while (this.#writer === undefined) {
      const name = this.#newName();
      if (!existsSync(join(this.#headDirectory, name))) this.#writer = name;
    }
    return this.#writer;
  }

  /**
   * Appends one event after removing secrets from it.
   * @throws the system's error when the record is not written completely;
   *   `verify` recognizes the torn line, and the chain continues
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
    appendWhole(this.#file.open(), line);
    this.#prev = digestOf(line);
    this.#writeHead();
    this.#n += 1;
  }

  /**
   * Ignores errors: the record is written, and an error would make the caller
   * undo its work. The next record writes the head again.
   */
  #writeHead(): void {
    const head = join(this.#headDirectory, this.writer);
    try {
      ensureDirectory(this.#headDirectory);
      this.#head ??= new KeptFile(head, false);
      const bytes = Buffer.from(`${this.#n} ${this.#prev}\n`);
      writeSync(this.#head.open(), bytes, 0, bytes.length, 0);
    } catch {
      // Until the next record, a truncation of this chain may go undetected.
    }
  }

  /** A text for a record: inline when short, otherwise by reference. */
  textOf(text: string, path: string): JournalText {
    const clean = this.redact(text);
    const chars = text.length;
    if (JSON.stringify(clean).length <= inlineChars)
      return { chars, text: clean };
    return { chars, sha256: digestOf(text), path };
  }

  /** The name of a client for a record. */
  nameOf(name: string): string {
    return this.#short(name, mostNameChars);
  }

  #clean(event: JournalEvent): JournalEvent {
    switch (event.type) {
      case 'spawned':
        return {
          ...event,
          model: this.#short(event.model, 200),
          tools: this.#short(event.tools, 400),
          task: this.#short(event.task, 400),
          ...(event.client && { client: this.nameOf(event.client) })
        };
      case 'finished':
        return {
          ...event,
          model: this.#short(event.model, 200),
          error: this.#short(event.error, mostErrorChars),
          ...(event.files_changed && {
            files_changed: this.#files(event.files_changed)
          })
        };
      case 'cancel_requested':
        return { ...event, reason: this.#short(event.reason, 2000) };
      case 'asked':
        return {
          ...event,
          tool: this.#short(event.tool, 200),
          subject: this.#short(event.subject, mostAskChars)
        };
      case 'answered':
        return {
          ...event,
          ...(event.who && { who: this.nameOf(event.who) }),
          text: this.#short(event.text, mostAskChars)
        };
      case 'acted':
        return { ...event, what: this.#short(event.what, mostAskChars) };
      case 'cleaned':
        return event;
    }
  }

  /** The first changed files that fit into a record. */
  #files(changes: FileChange[]): FileChange[] {
    let room = filesBytes;
    return changes
      .slice(0, mostFiles)
      .map(({ path, added, removed, shared }) => ({
        path: this.#short(path, mostPathChars),
        added,
        removed,
        ...(shared && { shared })
      }))
      .filter((file) => {
        room -= Buffer.byteLength(JSON.stringify(file));
        return room >= 0;
      });
  }

  /** Redacts before it truncates: a truncated secret is not recognized. */
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
  const { command, template, caller } = record;
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
    ...(command === undefined ? {} : { command }),
    ...(template === undefined ? {} : { template }),
    task,
    ...(caller?.client ? { client: caller.client } : {}),
    parent,
    continues,
    ...(record.squad ? { squad: record.squad } : {}),
    created_at,
    prompt
  };
}

/** The reference to a long error; empty when the record contains all of it. */
export function longErrorOf(
  error: string | null,
  path: string
): Pick<FinishedRecord, 'whole_error'> {
  if (error === null || error.length <= mostErrorChars) return {};
  const sha256 = digestOf(error);
  return { whole_error: { chars: error.length, sha256, path } };
}

/** A single write; the leading newline ends a torn line of a killed writer. */
function appendWhole(descriptor: number, line: string): void {
  const bytes = Buffer.from(`\n${line}\n`);
  if (bytes.length > maximumRecordBytes)
    throw new RangeError(`A journal record of ${bytes.length} bytes`);
  const written = writeSync(descriptor, bytes);
  // A missing last newline is harmless: the next record starts with one.
  if (written < bytes.length - 1)
    throw Object.assign(new Error('ENOSPC: short write to the journal'), {
      code: 'ENOSPC'
    });
}
