import { changesOf } from '../../core/changes/change-file.ts';
import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import { describeAccess, type Outcome, type Run } from '../../core/runs/run.ts';
import { noteRead, ownFile } from '../../core/runs/run-files.ts';
import { readSlice } from '../../core/state/files/text-file.ts';
import { plainText, terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import { RunOutput } from '../../interfaces/board/run-output.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import { describeOutcome } from '../output/agents.ts';
import { describeAsk } from '../output/asks.ts';
import { counted, duration } from '../output/text.ts';
import type { TextSource, TitledText } from './text-pager.ts';

/** Characters of an answer; `troupe result` prints longer ones whole. */
const mostChars = 1_000_000;
const mostEvents = 500;
const mostEventChars = 500_000;

/** The text about one agent, brought up to date by each call of `read`. */
export class AgentText implements TextSource {
  readonly agent: WatchedAgent;
  readonly #host: Host;
  #output: RunOutput | undefined;
  #ended: TitledText | undefined;

  constructor(host: Host, agent: WatchedAgent) {
    this.#host = host;
    this.agent = agent;
  }

  /** Marks the agent as read if it has ended. */
  async read(): Promise<TitledText> {
    const host = this.#host;
    const { id, of } = this.agent;
    if (this.#ended) return this.#ended;
    if (isWorker(of)) return workerText(host.orchestrator.store.find(id) ?? of);
    const run = await host.tracker.run(id);
    if (!run)
      return { title: `${id} no longer exists`, text: 'It was removed.' };
    if (!run.outcome) return this.#soFar(run);
    this.#ended = await endedText(host, run, run.outcome);
    noteRead(id, host.store);
    return this.#ended;
  }

  async #soFar({ record, status }: Run): Promise<TitledText> {
    const { store, registry } = this.#host;
    const directory = store.directoryOf(record.agent_id);
    this.#output ??= new RunOutput(record, directory, registry);
    const { steps, text } = await this.#output.read();
    const said = [steps.map((step) => `- ${step}`).join('\n'), text]
      .filter(Boolean)
      .join('\n\n');
    const seconds = (Date.now() - Date.parse(record.created_at)) / 1000;
    const age = duration(Math.max(0, Math.round(seconds)));
    const asks = this.#host.asks.open([record]);
    const state = asks.length > 0 ? 'asking' : status;
    return {
      title: `${record.label} ${record.agent_id} ${state} (${age})`,
      text: [
        ...asks.map(describeAsk),
        `asked: ${terminalLine(record.task)}`,
        said || 'No output yet.'
      ].join('\n\n')
    };
  }
}

async function endedText(
  { store }: Host,
  run: Run,
  outcome: Outcome
): Promise<TitledText> {
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
    `asked: ${terminalLine(record.task)}`,
    `model ${terminalLine(outcome.model ?? record.model ?? 'default')}, access ${describeAccess(record.access, record.enforcement)}`,
    ...outcome.denials.map((denial) => `denied: ${terminalLine(denial)}`),
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
    ({ path, added, removed, shared }) =>
      `  ${terminalLine(path)} ${added === null ? '(binary)' : `+${added} -${removed}`}${shared ? ' (shared)' : ''}`
  );
  return [
    ...(total > 0 ? [`changed ${counted(total, 'file')}:`, ...lines] : []),
    ...(note === undefined ? [] : [terminalLine(note)])
  ];
}

function workerText({ meta, log }: Worker): TitledText {
  const { status, tasks } = log.read();
  const events = log.outbox.tail(mostEvents, mostEventChars);
  const waiting = tasks.map(
    ({ id, isRunning }) =>
      `  ${terminalLine(id)}${isRunning ? ' (running)' : ''}`
  );
  return {
    title: `worker ${terminalLine(meta.name)} ${meta.agent_id} ${status}`,
    text: [
      `role ${terminalLine(meta.role)}, engine ${meta.engine}, model ${terminalLine(meta.model ?? 'default')}, access ${meta.access}`,
      waiting.length > 0 ? 'tasks:' : 'no tasks',
      ...waiting,
      '',
      ...events.map(({ at, type, task_id: task, payload, by }) =>
        [
          at.slice(11, 19),
          by === 'troupe' ? `(${terminalLine(type)})` : terminalLine(type),
          ...(task === undefined ? [] : [terminalLine(task)]),
          ...(payload === undefined ? [] : [wordsOf(payload)])
        ].join('  ')
      )
    ].join('\n')
  };
}

function wordsOf(payload: unknown): string {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return terminalLine(text);
}
