import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine, Reply } from '../../../plugin/plugin.ts';
import { tailOf } from '../../state/files/text-file.ts';
import { visibleText } from '../../text.ts';
import type { RunRecord } from '../run.ts';
import type { RunStore } from '../run-store.ts';
import { EventReducer, type Readable } from './event-reducer.ts';
import { ReplyReader, readableOf } from './reply-reader.ts';

/** Bytes that are read from the end of an output, until a line is found. */
const tailBytes = [4 * 1024, 64 * 1024, 512 * 1024];
/** Characters at the end of a text that are searched for its last line. */
const lineChars = 4 * 1024;
const mostChars = 120;

/** A run's reply so far, and the number of its failure streaks. */
export interface ReplySoFar {
  reply: Reply;
  streak: number;
}

interface Words {
  /** Sizes of the output files when they were read. */
  sizes: string;
  words: string | undefined;
}

interface Output {
  path: string;
  name: 'stdout' | 'stderr';
  stats: Stats | undefined;
}

interface OutputDependencies {
  store: RunStore;
  /** The engine that reads a run's output; undefined if it is not known. */
  engineOf: (record: RunRecord) => Engine | undefined;
}

/** Reads the output of running agents. */
export class LiveOutput {
  readonly #with: OutputDependencies;
  readonly #readers = new Map<string, ReplyReader>();
  readonly #words = new Map<string, Words>();

  constructor(dependencies: OutputDependencies) {
    this.#with = dependencies;
  }

  /** The reply so far; undefined if the engine is not known. */
  async reply(record: RunRecord): Promise<ReplySoFar | undefined> {
    const { agent_id: id } = record;
    const readable = this.#readableOf(record);
    if (!readable) return undefined;
    const reader =
      this.#readers.get(id) ??
      new ReplyReader(readable, this.#with.store.directoryOf(id));
    this.#readers.set(id, reader);
    return { reply: await reader.read(), streak: reader.streak };
  }

  /**
   * The latest text or progress of an agent, as one line for people. Reads only
   * the end of an output, and only after it has grown, so that hundreds of
   * agents can be listed at once.
   */
  lastWords(record: RunRecord): string | undefined {
    const { agent_id: id } = record;
    const readable = this.#readableOf(record);
    if (!readable) return undefined;
    const outputs = outputsOf(readable, this.#with.store.directoryOf(id));
    const sizes = outputs.map(({ stats }) => stats?.size ?? 0).join();
    const known = this.#words.get(id);
    if (known?.sizes === sizes) return known.words;
    const words = wordsIn(outputs, readable) ?? known?.words;
    this.#words.set(id, { sizes, words });
    return words;
  }

  /** Ids of the agents with cached output. */
  known(): string[] {
    return [...this.#readers.keys(), ...this.#words.keys()];
  }

  forget(agentId: string): void {
    this.#readers.delete(agentId);
    this.#words.delete(agentId);
  }

  #readableOf(record: RunRecord): Readable | undefined {
    return readableOf(record.kind, this.#with.engineOf(record));
  }
}

/** The output files, sorted by the time of their last write. */
function outputsOf(engine: Readable, directory: string): Output[] {
  const names: Output['name'][] = engine.readError
    ? ['stdout', 'stderr']
    : ['stdout'];
  return names
    .map((name) => {
      const path = join(directory, name);
      return { path, name, stats: statSync(path, { throwIfNoEntry: false }) };
    })
    .sort((a, b) => (a.stats?.mtimeMs ?? 0) - (b.stats?.mtimeMs ?? 0));
}

function wordsIn(outputs: Output[], engine: Readable): string | undefined {
  for (const bytes of tailBytes) {
    const words = wordsInLast(bytes, outputs, engine);
    const isAll = outputs.every(({ stats }) => (stats?.size ?? 0) <= bytes);
    if (words !== undefined || isAll) return words;
  }
  return undefined;
}

function wordsInLast(
  bytes: number,
  outputs: Output[],
  engine: Readable
): string | undefined {
  const reducer = new EventReducer(engine);
  for (const { path, name, stats } of outputs) {
    const text = tailOf(path, bytes);
    if (!engine.read) return lastLine(text);
    // The first line may be cut, and the last one may be incomplete.
    const lines = text.split('\n').slice(0, -1);
    if (stats && stats.size > bytes) lines.shift();
    for (const line of lines)
      if (name === 'stdout') reducer.add(line);
      else reducer.addError(line);
  }
  return reducer.lastWords === undefined
    ? undefined
    : lastLine(reducer.lastWords);
}

/** The last line that is not blank, safe to print. */
function lastLine(text: string): string | undefined {
  const line = text
    .slice(-lineChars)
    .split(/[\r\n]+/)
    .map((one) => visibleText(withoutControls(one)))
    .findLast((one) => one !== '');
  if (line === undefined || line.length <= mostChars) return line;
  return `${line.slice(0, mostChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const colours = /\u001b\[[0-9;]*m/g;

function withoutControls(line: string): string {
  return line
    .replace(colours, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}
