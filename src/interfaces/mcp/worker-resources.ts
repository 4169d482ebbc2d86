import { statSync } from 'node:fs';
import { HostError } from '../../core/errors.ts';
import type { Broadcast } from '../../core/orchestrator/broadcast.ts';
import type { Orchestrator } from '../../core/orchestrator/orchestrator.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import { type Completion, suggest } from './prompts/suggest.ts';
import { eventContents, jsonLines } from './resource-text.ts';
import { type Place, unknownResource } from './resource-uri.ts';
import type { Asked, Content, Listed, Source, Template } from './resources.ts';
import { workerFacts } from './worker-facts.ts';

const json = 'application/json';

const about = {
  outbox: 'What a worker has told and what befell it',
  broadcast: 'What all workers of a run came to',
  meta: 'A worker as agent_get tells it'
};

/** Workers and what they tell, as resources. */
export class WorkerResources implements Source {
  readonly templates: Template[] = [
    template('agent', 'outbox', about.outbox),
    template('agent', 'outbox{?tail}', about.outbox),
    template('agent', 'meta', about.meta),
    template('run', 'broadcast', about.broadcast),
    template('run', 'broadcast{?tail}', about.broadcast)
  ];
  readonly #orchestrator: Orchestrator;
  /** Nothing will ever happen to these again. */
  readonly #over = new Set<string>();

  constructor(orchestrator: Orchestrator) {
    this.#orchestrator = orchestrator;
  }

  /**
   * Those that live first, and of each kind the newest first.
   * @param room bytes of JSON
   */
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

  async read(asked: Asked): Promise<Content[]> {
    const { place, uri } = asked;
    const { store } = this.#orchestrator;
    if (place.kind === 'broadcast') {
      const { log } = this.#broadcast(place);
      const directoryOf = ({ agent_id }: { agent_id: string }) =>
        store.folderOf(agent_id).public;
      return eventContents({ log, directoryOf }, asked);
    }
    const worker = this.#worker(place);
    const { log, folder } = worker;
    if (place.kind === 'outbox')
      return eventContents(
        { log: log.outbox, directoryOf: () => folder.public },
        asked
      );
    await this.#orchestrator.attend();
    const text = JSON.stringify(workerFacts(worker));
    return [{ uri, mimeType: json, text }];
  }

  stampOf(place: Place): () => string {
    if (place.kind === 'broadcast') {
      const { log } = this.#broadcast(place);
      return () => log.stamp();
    }
    const { log, folder } = this.#worker(place);
    if (place.kind === 'outbox') return () => log.outbox.stamp();
    return () => `${log.stamp()} ${changedAt(folder.meta)}`;
  }

  /** Ids, of those that live first. */
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
      // Files that cannot be read: who wants to is told why.
    }
    return this.#over.has(id);
  }

  /** @throws ProtocolError */
  #worker({ id, uri }: Place): Worker {
    try {
      return this.#orchestrator.store.get(id);
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      throw unknownResource(uri, `${error.message} ${error.hint}`);
    }
  }

  /** @throws ProtocolError */
  #broadcast({ id, uri }: Place): Broadcast {
    const found = this.#orchestrator.store.findBroadcast(id);
    if (found) return found;
    throw unknownResource(
      uri,
      `There is no run "${id.slice(0, 60)}" of workers in this workspace. agent_create and agent_list tell the run_id of each worker.`
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
