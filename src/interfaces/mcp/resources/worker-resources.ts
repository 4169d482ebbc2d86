import { statSync } from 'node:fs';
import type { Facts } from '../../../answers/budget.ts';
import { inlineChars } from '../../../answers/format-run.ts';
import { HostError } from '../../../core/errors.ts';
import type { Orchestrator } from '../../../core/orchestrator/orchestrator.ts';
import type { Broadcast } from '../../../core/orchestrator/queue/broadcast.ts';
import type { WorkerEvent } from '../../../core/orchestrator/queue/records.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import type { SeqLog } from '../../../core/state/integrity/seq-log.ts';
import { limitsOf } from '../answers/client-limits.ts';
import {
  cutEvent,
  eventFacts,
  workerFacts
} from '../answers/worker-answers.ts';
import { type Completion, suggest } from '../prompts/suggest.ts';
import { workerHints } from '../toolsets/orchestrator.ts';
import { type ResourceRef, unknownResource } from './resource-uri.ts';
import type {
  Content,
  Listed,
  ReadRequest,
  Source,
  Template
} from './source.ts';

const json = 'application/json';

const about = {
  outbox: 'Events of a worker',
  broadcast: 'Results and states of all workers of a run',
  meta: 'A worker as agent_get returns it'
};

export class WorkerResources implements Source {
  readonly templates: Template[] = [
    template('agent', 'outbox', about.outbox),
    template('agent', 'outbox{?tail}', about.outbox),
    template('agent', 'meta', about.meta),
    template('run', 'broadcast', about.broadcast),
    template('run', 'broadcast{?tail}', about.broadcast)
  ];
  readonly #orchestrator: Orchestrator;
  /** Ids of workers that have ended. */
  readonly #over = new Set<string>();

  constructor(orchestrator: Orchestrator) {
    this.#orchestrator = orchestrator;
  }

  /** Live workers first; within each group, the newest first. */
  list(room: number): Listed[] {
    const workers = this.#newest();
    const [first] = workers;
    if (!first) return [];
    const listed = [broadcastListed(first.meta.run_id)];
    for (const worker of workers) {
      const both = workerListed(worker, this.#isOver(worker));
      const size = Buffer.byteLength(JSON.stringify([...listed, ...both]));
      if (size > room) break;
      listed.push(...both);
    }
    return listed;
  }

  listStamp(): string {
    const { store } = this.#orchestrator;
    const seen = store.ids().flatMap((id) => {
      if (this.#over.has(id)) return `${id} over`;
      const worker = store.find(id);
      if (!worker) return [];
      return this.#isOver(worker) ? `${id} over` : id;
    });
    return seen.join();
  }

  async read(request: ReadRequest): Promise<Content[]> {
    const { ref, uri } = request;
    const { store } = this.#orchestrator;
    if (ref.kind === 'broadcast') {
      const { log } = this.#broadcast(ref);
      const directoryOf = ({ agent_id }: { agent_id: string }) =>
        store.folderOf(agent_id).public;
      return eventContents({ log, directoryOf }, request);
    }
    const worker = this.#worker(ref);
    const { log, folder } = worker;
    if (ref.kind === 'outbox')
      return eventContents(
        { log: log.outbox, directoryOf: () => folder.public },
        request
      );
    await this.#orchestrator.attend();
    const text = JSON.stringify(workerFacts(worker));
    return [{ uri, mimeType: json, text }];
  }

  stampOf(ref: ResourceRef): () => string {
    if (ref.kind === 'broadcast') {
      const { log } = this.#broadcast(ref);
      return () => log.stamp();
    }
    const { log, folder } = this.#worker(ref);
    if (ref.kind === 'outbox') return () => log.outbox.stamp();
    return () => `${log.stamp()} ${changedAt(folder.meta)}`;
  }

  /** Completes ids, with live workers first. */
  complete(template: string, variable: string, typed: string): Completion {
    const workers = this.#newest().map(({ meta }) => meta);
    if (variable === 'run_id' && template.startsWith('run://'))
      return suggest(typed, [...new Set(workers.map(({ run_id }) => run_id))]);
    if (variable !== 'agent_id' || !template.startsWith('agent://'))
      return suggest(typed, []);
    return suggest(
      typed,
      workers.map(({ agent_id }) => agent_id)
    );
  }

  #newest(): Worker[] {
    const newest = this.#orchestrator.store.all().reverse();
    return [
      ...newest.filter((worker) => !this.#isOver(worker)),
      ...newest.filter((worker) => this.#isOver(worker))
    ];
  }

  #isOver({ meta, log }: Worker): boolean {
    const { agent_id: id } = meta;
    try {
      if (!this.#over.has(id) && log.read().isOver) this.#over.add(id);
    } catch {
      // A client gets this error when it reads the worker.
    }
    return this.#over.has(id);
  }

  /** @throws ProtocolError */
  #worker({ id, uri }: ResourceRef): Worker {
    try {
      return this.#orchestrator.store.get(id);
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      const hint = workerHints[error.code] ?? error.hint;
      throw unknownResource(uri, `${error.message} ${hint}`);
    }
  }

  /** @throws ProtocolError */
  #broadcast({ id, uri }: ResourceRef): Broadcast {
    const found = this.#orchestrator.store.findBroadcast(id);
    if (found) return found;
    throw unknownResource(
      uri,
      `There is no run "${id.slice(0, 60)}" of workers in this workspace. agent_create and agent_list return the run_id of each worker.`
    );
  }
}

function template(scheme: string, rest: string, what: string): Template {
  const id = scheme === 'agent' ? '{agent_id}' : '{run_id}';
  const [name = rest] = rest.split('{');
  const hasTail = rest !== name;
  const tail = hasTail ? ', the newest tail (1 to 1000)' : ', the newest 200';
  return {
    uriTemplate: `${scheme}://${id}/${rest}`,
    name: hasTail ? `${name}-tail` : name,
    description: `${what}${name === 'meta' ? '' : tail}.`,
    mimeType: name === 'meta' ? json : jsonLines
  };
}

function broadcastListed(runId: string): Listed {
  return {
    uri: `run://${runId}/broadcast`,
    name: `broadcast of run ${runId}`,
    description: `${about.broadcast}, the newest 200.`,
    mimeType: jsonLines
  };
}

function workerListed({ meta }: Worker, isOver: boolean): Listed[] {
  const { agent_id: id, name } = meta;
  const ended = isOver ? ' It has ended.' : '';
  return [
    {
      uri: `agent://${id}/outbox`,
      name: `outbox of ${name}`,
      description: `${about.outbox}, the newest 200.${ended}`,
      mimeType: jsonLines
    },
    {
      uri: `agent://${id}/meta`,
      name: `meta of ${name}`,
      description: `${about.meta}.${ended}`,
      mimeType: json
    }
  ];
}

function changedAt(path: string): bigint | undefined {
  return statSync(path, { throwIfNoEntry: false, bigint: true })?.mtimeNs;
}

/** JSON Lines has no registered media type; this one is common. */
const jsonLines = 'application/x-ndjson';

/** Characters reserved for the JSON around events and for the second text. */
const frameChars = 1000;

interface EventFile<Event extends WorkerEvent> {
  log: SeqLog<Event>;
  /** The folder of the worker that wrote an event. */
  directoryOf: (event: Event) => string;
}

/**
 * As many of the newest events of a file as fit, one per line. If events are
 * missing, a second text says how to read them, so that the first one contains
 * only events.
 */
export function eventContents<Event extends WorkerEvent>(
  { log, directoryOf }: EventFile<Event>,
  { ref, uri, clientName }: ReadRequest
): Content[] {
  const events = log
    .tail(ref.tail, inlineChars)
    .map((event) => eventFacts(event, directoryOf(event)));
  const { lines, isCut } = newest(events, clientName, log.path);
  const text = lines.map((line) => `${line}\n`).join('');
  const contents = [{ uri, mimeType: jsonLines, text }];
  if (!isCut) return contents;
  const note = `It does not fit here. events_read returns all events of a worker, page by page; the file is ${log.path}`;
  return [...contents, { uri: ref.uri, mimeType: 'text/plain', text: note }];
}

function newest(
  events: Facts[],
  clientName: string,
  path: string
): { lines: string[]; isCut: boolean } {
  let chars = inlineChars - frameChars;
  let bytes = limitsOf(clientName).answerBytes - frameChars;
  // JSON escapes are escaped again, which at most doubles the length.
  const room = Math.min(chars, Math.floor(bytes / 2));
  const hasRoom = (line: string) => {
    chars -= line.length + 1;
    // The answer contains the line as a JSON string.
    bytes -= Buffer.byteLength(JSON.stringify(line));
    return chars >= 0 && bytes >= 0;
  };
  const lines: string[] = [];
  for (const event of events.toReversed()) {
    const line = JSON.stringify(event);
    if (hasRoom(line)) {
      lines.unshift(line);
      continue;
    }
    if (lines.length === 0)
      lines.push(JSON.stringify(cutEvent(event, path, room)));
    return { lines, isCut: true };
  }
  return { lines, isCut: false };
}
