import { changesOf } from '../../core/changes/change-file.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import { ownFile } from '../../core/runs/own-file.ts';
import { noteRead } from '../../core/runs/read-mark.ts';
import type { Outcome, Run } from '../../core/runs/run.ts';
import { readSlice } from '../../core/state/text-file.ts';
import type { Host } from '../../host.ts';
import { describeOutcome } from '../outcome.ts';
import { plainText } from '../plain-text.ts';
import { counted, duration, oneLine } from '../text.ts';
import { RunOutput } from './run-output.ts';
import { isWorker, type WatchedAgent } from './watched-agent.ts';

interface Told {
  title: string;
  text: string;
}

/** Beyond that nobody pages; `troupe result` has all of it. */
const mostChars = 1_000_000;
const mostEvents = 500;
const mostEventChars = 500_000;

/** All there is to read about one agent, as it stands at each reading. */
export class AgentText {
  readonly agent: WatchedAgent;
  readonly #host: Host;
  #output: RunOutput | undefined;
  #ended: Told | undefined;

  constructor(host: Host, agent: WatchedAgent) {
    this.#host = host;
    this.agent = agent;
  }

  /** Whoever is shown the result of an agent has read it. */
  async read(): Promise<Told> {
    const host = this.#host;
    const { id, of } = this.agent;
    if (this.#ended) return this.#ended;
    if (isWorker(of)) return workerText(host.orchestrator.store.find(id) ?? of);
    const run = await host.tracker.run(id);
    if (!run)
      return { title: `${id} is not there any more`, text: 'It was removed.' };
    if (!run.outcome) return this.#soFar(run);
    this.#ended = await endedText(host, run, run.outcome);
    noteRead(id, host.store);
    return this.#ended;
  }

  async #soFar({ record, status }: Run): Promise<Told> {
    const { store, registry } = this.#host;
    const directory = store.directoryOf(record.agent_id);
    this.#output ??= new RunOutput(record, directory, registry);
    const text = await this.#output.read();
    const seconds = (Date.now() - Date.parse(record.created_at)) / 1000;
    const age = duration(Math.max(0, Math.round(seconds)));
    return {
      title: `${record.label} ${record.agent_id} ${status} (${age})`,
      text: `asked: ${oneLine(record.task)}\n\n${text || 'Nothing was said yet.'}`
    };
  }
}

async function endedText(
  { store }: Host,
  run: Run,
  outcome: Outcome
): Promise<Told> {
  const { record } = run;
  const directory = store.directoryOf(record.agent_id);
  const path = ownFile(directory, outcome.result_file);
  const gone = { text: 'The file with its answer is gone.', totalChars: 0 };
  const { text, totalChars } =
    path === undefined
      ? gone
      : await readSlice(path, 0, mostChars).catch(() => gone);
  const rest = totalChars - text.length;
  const facts = [
    `asked: ${oneLine(record.task)}`,
    `model ${oneLine(outcome.model ?? record.model ?? 'default')}, access ${record.access} ${record.enforcement}`,
    ...outcome.denials.map((denial) => `denied: ${oneLine(denial)}`),
    ...changedFiles(directory)
  ];
  return {
    title: describeOutcome(run),
    text: [
      ...facts,
      '',
      plainText(text) || '(no words)',
      ...(rest > 0
        ? ['', `… ${rest} more characters: troupe result ${record.agent_id}`]
        : [])
    ].join('\n')
  };
}

function changedFiles(directory: string): string[] {
  const { files = [], total = 0, note } = changesOf(directory) ?? {};
  const lines = files.map(
    ({ path, added, removed }) =>
      `  ${oneLine(path)} ${added === null ? '(binary)' : `+${added} -${removed}`}`
  );
  return [
    ...(total > 0 ? [`changed ${counted(total, 'file')}:`, ...lines] : []),
    ...(note === undefined ? [] : [oneLine(note)])
  ];
}

function workerText({ meta, log }: Worker): Told {
  const { status, tasks } = log.read();
  const events = log.outbox.tail(mostEvents, mostEventChars);
  const waiting = tasks.map(
    ({ id, isRunning }) => `  ${oneLine(id)}${isRunning ? ' (running)' : ''}`
  );
  return {
    title: `worker ${oneLine(meta.name)} ${meta.agent_id} ${status}`,
    text: [
      `role ${oneLine(meta.role)}, engine ${meta.engine}, model ${oneLine(meta.model ?? 'default')}, access ${meta.access}`,
      waiting.length > 0 ? 'tasks:' : 'no tasks',
      ...waiting,
      '',
      ...events.map(({ at, type, task_id: task, payload, by }) =>
        [
          at.slice(11, 19),
          by === 'troupe' ? `(${oneLine(type)})` : oneLine(type),
          ...(task === undefined ? [] : [oneLine(task)]),
          ...(payload === undefined ? [] : [wordsOf(payload)])
        ].join('  ')
      )
    ].join('\n')
  };
}

function wordsOf(payload: unknown): string {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return oneLine(text);
}
