import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Facts, fitInto } from '../../../answers/budget.ts';
import {
  inlineChars,
  readReport,
  reportRun
} from '../../../answers/format-run.ts';
import { readWords } from '../../../answers/read-output.ts';
import { linePart } from '../../../answers/truncate.ts';
import { whyGone } from '../../../core/runs/damaged-run.ts';
import type { Outcome, Run } from '../../../core/runs/run.ts';
import { shortName } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { limitsOf } from '../answers/client-limits.ts';
import { type Completion, suggest } from '../prompts/suggest.ts';
import { type ResourceRef, unknownResource } from './resource-uri.ts';
import {
  type Content,
  type Listed,
  type ReadRequest,
  type Source,
  type Template,
  textContents
} from './source.ts';

/** The most agents in a list. */
const listedAgents = 20;
/** The most agents whose ids are completed. */
const knownAgents = 100;

/** Characters of a task in a list; the record has all of it. */
const taskChars = 80;

/** Characters of an error; the record has more of it. */
const errorChars = 400;

const plain = 'text/plain';
const json = 'application/json';

const base = 'troupe://agents/{agent_id}';

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

  /** Active agents first; within each group, the newest first. */
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
    // An agent may start and end between two polls, so open ids do not suffice.
    const { store } = this.#host;
    return `${store.openIds().join()} ${store.stamp()}`;
  }

  async read(request: ReadRequest): Promise<Content[]> {
    const { ref, uri } = request;
    const { store, tracker } = this.#host;
    const run = await this.#run(ref);
    if (ref.kind === 'record') {
      const text = JSON.stringify(await agentRecord(run, this.#host, request));
      return [{ uri, mimeType: json, text }];
    }
    const { record, outcome } = run;
    if (!outcome) {
      const { message } = await reportRun(run, store, tracker);
      return [{ uri, mimeType: plain, text: String(message) }];
    }
    const directory = store.directoryOf(record.agent_id);
    const { offset } = ref;
    await tracker.paged(record.agent_id);
    const shownAs = store.answerFile(record.agent_id, outcome);
    const reading = { offset, reach: inlineChars, shownAs };
    const words = await readWords(directory, outcome, reading);
    const contents = textContents(
      words.filed('text'),
      plain,
      words.path,
      request
    );
    const problem = problemOf(outcome);
    return problem === undefined
      ? contents
      : [...contents, { uri: ref.uri, mimeType: plain, text: problem }];
  }

  stampOf(ref: ResourceRef): () => string {
    const { store } = this.#host;
    if (!store.recordOf(ref.id)) throw this.#unknown(ref);
    const path = join(store.directoryOf(ref.id), 'outcome.json');
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
    const active = (await tracker.active()).toSorted((one, other) =>
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
  async #run(ref: ResourceRef): Promise<Run> {
    const run = await this.#host.tracker.run(ref.id);
    if (run) return run;
    throw this.#unknown(ref);
  }

  #unknown({ id, uri }: ResourceRef) {
    const cleaned = whyGone(id, this.#host.store);
    return unknownResource(
      uri,
      cleaned ??
        `There is no agent "${id.slice(0, 60)}" in this workspace. list shows the ids.`
    );
  }
}

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

/** Bytes of the JSON around the record. */
const frameBytes = 1000;

/** The facts of a run without its answer. */
async function agentRecord(
  run: Run,
  { store, tracker }: Pick<Host, 'store' | 'tracker'>,
  { clientName }: ReadRequest
): Promise<Facts> {
  const { record } = run;
  const { full } = await readReport(run, store, tracker, { reach: 0 });
  const { result, truncated, total_chars, next_offset, message, ...facts } =
    fitInto(
      (put) => ({ ...put(linePart('task', record.task)), ...full(put) }),
      {
        chars: inlineChars - frameBytes,
        bytes: (limitsOf(clientName).answerBytes - frameBytes) / 2
      }
    );
  return {
    ...facts,
    access: record.access,
    enforcement: record.enforcement,
    cwd: record.cwd,
    timeout_seconds: record.timeout_seconds,
    created_at: record.created_at,
    parent: record.parent,
    continues: record.continues,
    prompt_chars: record.prompt_chars,
    prompt_file: join(store.directoryOf(record.agent_id), 'prompt.txt'),
    result_chars: run.outcome?.result_chars ?? null
  };
}
