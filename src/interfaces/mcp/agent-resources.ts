import { statSync } from 'node:fs';
import { join } from 'node:path';
import { toldIfCleaned } from '../../core/runs/cleaned-agent.ts';
import { shortName } from '../../core/runs/parts.ts';
import { inlineChars, reportRun } from '../../core/runs/report.ts';
import type { Outcome, Run } from '../../core/runs/run.ts';
import { readWords } from '../../core/runs/words.ts';
import type { Host } from '../../host.ts';
import { agentRecord } from './agent-record.ts';
import { type Completion, suggest } from './prompts/suggest.ts';
import { type Place, unknownResource } from './resource-uri.ts';
import type { Asked, Content, Listed, Source, Template } from './resources.ts';
import { textContents } from './text-contents.ts';

/** Agents that a list names. */
const listedAgents = 20;
/** Those among which ids are completed. */
const knownAgents = 100;

/** Of a task, in a list that people choose from; the record has all of it. */
const taskChars = 80;

/** Of an error; the record has more of it. */
const errorChars = 400;

const plain = 'text/plain';
const json = 'application/json';

const base = 'troupe://agents/{agent_id}';

/** What agents were asked, and what they said. */
export class AgentResources implements Source {
  readonly templates: Template[] = [
    {
      uriTemplate: `${base}/output`,
      name: 'output',
      description: 'The answer of an agent; a long one as its two ends.',
      mimeType: plain
    },
    {
      uriTemplate: `${base}/output{?offset}`,
      name: 'output-on',
      description: 'The answer of an agent from a character on.',
      mimeType: plain
    },
    {
      uriTemplate: `${base}/record`,
      name: 'record',
      description: 'What an agent was asked, and how it ended.',
      mimeType: json
    }
  ];
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Those at work first, then those that ended last; the newest first. */
  async list(room: number): Promise<Listed[]> {
    const listed: Listed[] = [];
    for (const run of await this.#newest(listedAgents)) {
      const next = [...listed, listedOf(run)];
      if (Buffer.byteLength(JSON.stringify(next)) > room) break;
      listed.push(listedOf(run));
    }
    return listed;
  }

  listStamp(): string {
    // An agent may begin and end between two looks at those at work.
    const { store } = this.#host;
    return `${store.openIds().join()} ${store.stamp()}`;
  }

  async read(asked: Asked): Promise<Content[]> {
    const { place, uri } = asked;
    const { store, tracker } = this.#host;
    const run = await this.#run(place);
    if (place.kind === 'record') {
      const text = JSON.stringify(await agentRecord(run, this.#host, asked));
      return [{ uri, mimeType: json, text }];
    }
    const { record, outcome } = run;
    if (!outcome) {
      const { message } = await reportRun(run, store, tracker);
      return [{ uri, mimeType: plain, text: String(message) }];
    }
    const directory = store.directoryOf(record.agent_id);
    const { offset } = place;
    await tracker.paged(record.agent_id);
    const shownAs = store.answerFile(record.agent_id, outcome);
    const reading = { offset, reach: inlineChars, shownAs };
    const words = await readWords(directory, outcome, reading);
    const contents = textContents(
      words.filed('text'),
      plain,
      words.path,
      asked
    );
    const problem = problemOf(outcome);
    return problem === undefined
      ? contents
      : [...contents, { uri: place.uri, mimeType: plain, text: problem }];
  }

  stampOf(place: Place): () => string {
    const { store } = this.#host;
    if (!store.recordOf(place.id)) throw this.#unknown(place);
    const path = join(store.directoryOf(place.id), 'outcome.json');
    return () =>
      String(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? '');
  }

  async complete(
    _template: string,
    variable: string,
    typed: string
  ): Promise<Completion> {
    if (variable !== 'agent_id') return suggest(typed, []);
    const runs = await this.#newest(knownAgents);
    return suggest(
      typed,
      runs.map(({ record }) => record.agent_id)
    );
  }

  async #newest(most: number): Promise<Run[]> {
    const { tracker, store } = this.#host;
    const active = (await tracker.active()).sort((one, other) =>
      one.record.created_at < other.record.created_at ? 1 : -1
    );
    const ended = this.#host
      .recent(most)
      .reverse()
      .flatMap((id): Run[] => {
        const record = store.recordOf(id);
        const outcome = store.outcomeOf(id);
        return record && outcome
          ? [{ record, outcome, status: outcome.status }]
          : [];
      });
    return [...active, ...ended].slice(0, most);
  }

  /** @throws ProtocolError */
  async #run(place: Place): Promise<Run> {
    const run = await this.#host.tracker.run(place.id);
    if (run) return run;
    throw this.#unknown(place);
  }

  #unknown({ id, uri }: Place) {
    const cleaned = toldIfCleaned(id, this.#host.store);
    return unknownResource(
      uri,
      cleaned ??
        `There is no agent "${id.slice(0, 60)}" in this workspace. list tells the ids there are.`
    );
  }
}

/** Why there may be little or nothing in its answer. */
function problemOf({ status, error, error_code }: Outcome): string | undefined {
  if (status === 'completed') return undefined;
  const code = error_code === null ? '' : ` (${error_code})`;
  return `The agent has ended as ${status}${code}. ${shortName(error ?? '', errorChars)}`.trim();
}

function listedOf({ record, status }: Run): Listed {
  const { agent_id: id, label } = record;
  const task = shortName(record.task, taskChars) || '(no words)';
  return {
    uri: `troupe://agents/${id}/output`,
    name: `output of ${id}`,
    title: `${label}: ${task}`,
    description: `The answer of ${label} (${status}) to: ${task}`,
    mimeType: plain
  };
}
