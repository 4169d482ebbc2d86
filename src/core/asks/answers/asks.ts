import type { Journal } from '../../audit/journal/journal.ts';
import { HostError } from '../../errors.ts';
import type { Processes } from '../../runs/ports.ts';
import type { RunRecord } from '../../runs/run.ts';
import { claimOf } from '../../runs/run-files.ts';
import type { RunStore } from '../../runs/run-store.ts';
import { createOnce, remove } from '../../state/files/atomic-file.ts';
import { Ages } from '../../timing.ts';
import {
  type Ask,
  type AskAnswer,
  describeAnswerer,
  isUnanswered,
  refusal,
  waitedMs
} from '../ask.ts';
import {
  agentOfAsk,
  answerTo,
  askFile,
  askIn,
  askStamp,
  asksIn,
  decide
} from '../ask-files.ts';
import { isHeld } from '../parking.ts';
import { type Answerer, checkAuthority } from './authority.ts';

interface AsksDependencies {
  store: Pick<RunStore, 'recordOf' | 'directoryOf' | 'hasOutcome'>;
  processes: Pick<Processes, 'liveness'>;
  journal: Pick<Journal, 'append' | 'nameOf'>;
  authority: Parameters<typeof checkAuthority>[4];
}

/** An ask that waits for its answer. */
export interface OpenAsk {
  ask: Ask;
  record: RunRecord;
}

export interface AnswerRequest {
  askId: string;
  decision?: 'allow' | 'deny' | undefined;
  text?: string | undefined;
}

interface Known {
  stamp: number;
  /** When the folder was first seen with this stamp, by a monotonic clock. */
  since: number;
  isKept: boolean;
  asks: { ask: Ask; answer: AskAnswer | undefined }[];
}

/** After this time, a change of the folder has another time of change. */
const quietMs = 1000;
/** A bridge that is late to refuse an ask has lost its own clock. */
const overdueMs = 5000;

/** The asks of the workspace's agents, for any server and command. */
export class Asks {
  readonly #with: AsksDependencies;
  readonly #known = new Map<string, Known>();
  /** Asks without an answer. */
  readonly #ages = new Ages();
  /** Names of marks that exist: what the journal has. */
  readonly #noted = new Set<string>();
  /** Whether this process has seen a run that may ask. */
  isInUse = false;

  constructor(dependencies: AsksDependencies) {
    this.#with = dependencies;
  }

  /** The open asks of these runs, oldest first. */
  open(records: RunRecord[]): OpenAsk[] {
    return records
      .flatMap((record) =>
        this.#read(record)
          .filter(({ answer }) => answer === undefined)
          .map(({ ask }) => ({ ask, record }))
      )
      .sort((a, b) => a.ask.asked_at.localeCompare(b.ask.asked_at));
  }

  /** Undefined for an unknown ask. */
  kindOf(askId: string): Ask['kind'] | undefined {
    const agentId = agentOfAsk(askId) ?? '';
    const directory = this.#with.store.directoryOf(agentId);
    return askIn(directory, agentId, askId)?.kind;
  }

  isAsking(record: RunRecord): boolean {
    return this.open([record]).length > 0;
  }

  /**
   * Journals the asks and answers of a run, and ends the asks that no answer
   * can reach. Any process may call this, any number of times.
   */
  attend(record: RunRecord): void {
    if (record.ask === undefined) return;
    const directory = this.#with.store.directoryOf(record.agent_id);
    forEach(this.#read(record), ({ ask, answer }) => {
      const by = answer
        ? undefined
        : this.#isGone(ask, record, directory)
          ? 'asker_gone'
          : this.#isOverdue(ask)
            ? 'timeout'
            : undefined;
      if (by) endUnanswered(directory, ask, by);
      this.#note(directory, ask, answer ?? answerTo(directory, ask));
    });
  }

  /** By a clock that nobody sets, as its bridge measures the time. */
  #isOverdue({ ask_id, asked_at, expires_at }: Ask): boolean {
    const timeMs = Date.parse(expires_at) - Date.parse(asked_at);
    return this.#ages.of(ask_id) > timeMs + overdueMs;
  }

  /**
   * Whether no process waits for the answer: neither the bridge, nor the one
   * that waits for a parked run, which its supervisor runs.
   */
  #isGone(ask: Ask, { owner }: RunRecord, directory: string): boolean {
    const { processes } = this.#with;
    if (processes.liveness(ask.bridge) !== 'dead') return false;
    if (!isHeld(directory, ask)) return true;
    const supervisor = claimOf(directory, owner.place)?.supervisor;
    return !supervisor || processes.liveness(supervisor) === 'dead';
  }

  /** Ends the open asks of a run that has ended, before its end is recorded. */
  close(record: RunRecord): void {
    if (record.ask === undefined) return;
    const { agent_id: id } = record;
    const directory = this.#with.store.directoryOf(id);
    this.#known.delete(id);
    forEach(asksIn(directory, id), (ask) => {
      endUnanswered(directory, ask, 'run_ended');
      this.#note(directory, ask, answerTo(directory, ask));
    });
  }

  /**
   * Answers an ask, unless another answer or its end came first.
   * @throws HostError `unknown_ask`, `not_yours`, `invalid_input`,
   *   `already_answered`, `ask_expired`
   */
  answer(
    { askId, decision, text }: AnswerRequest,
    answerer: Answerer
  ): { ask: Ask; answer: AskAnswer } {
    const { store, journal, authority } = this.#with;
    const agentId = agentOfAsk(askId) ?? '';
    const record = store.recordOf(agentId);
    const directory = store.directoryOf(agentId);
    const ask = record && askIn(directory, agentId, askId);
    if (!record || !ask) throw unknownAsk(askId);
    const { by, who } = checkAuthority(
      ask,
      record,
      ask.kind === 'question' ? null : (decision ?? null),
      answerer,
      authority
    );
    const given = contentOf(ask, decision, text);
    this.attend(record);
    if (store.hasOutcome(agentId)) this.close(record);
    const isFirst = decide(directory, ask, {
      ...{ ...given, by },
      // The first one is named to every later one that answers.
      ...(who === undefined ? {} : { who: journal.nameOf(who) })
    });
    const answer = answerTo(directory, ask);
    if (!answer) throw unknownAsk(askId);
    if (!isFirst) throw isOver(ask, answer);
    this.#note(directory, ask, answer);
    return { ask, answer };
  }

  #read(record: RunRecord): Known['asks'] {
    if (record.ask === undefined) return [];
    this.isInUse = true;
    const { agent_id: id } = record;
    const directory = this.#with.store.directoryOf(id);
    const stamp = askStamp(directory);
    const before = this.#known.get(id);
    const known = before?.stamp === stamp ? before : undefined;
    if (known?.isKept) return known.asks;
    const now = performance.now();
    const since = known?.since ?? now;
    const asks = asksIn(directory, id).map((ask) => ({
      ask,
      answer: answerTo(directory, ask)
    }));
    const isKept = now - since > quietMs;
    this.#known.set(id, { stamp, since, isKept, asks });
    return asks;
  }

  #note(directory: string, ask: Ask, answer: AskAnswer | undefined): void {
    const { agent_id, ask_id, kind, tool, subject } = ask;
    this.#append(directory, `${ask_id}.asked`, {
      type: 'asked',
      ...{ agent_id, ask_id, kind, tool, asked_at: ask.asked_at },
      subject: Object.values(subject)[0] ?? ''
    });
    if (!answer) return;
    this.#ages.forget(ask_id);
    const { by, who, decision, text } = answer;
    this.#append(directory, `${ask_id}.answered`, {
      type: 'answered',
      ...{ agent_id, ask_id, by, decision, text },
      ...(who === undefined ? {} : { who }),
      waited_ms: waitedMs(ask, answer)
    });
  }

  /** Appends an event once: a mark in the folder shows it to all processes. */
  #append(
    directory: string,
    mark: string,
    event: Parameters<Journal['append']>[0]
  ): void {
    if (this.#noted.has(mark)) return;
    const path = askFile(directory, mark.replace(/^.*-/, ''));
    if (createOnce(path, '', false))
      try {
        this.#with.journal.append(event);
      } catch (error) {
        remove(path);
        throw error;
      }
    this.#noted.add(mark);
  }
}

/** The journal may refuse one, and the others must not wait for that. */
function forEach<One>(all: One[], work: (one: One) => void): void {
  const problems: unknown[] = [];
  for (const one of all)
    try {
      work(one);
    } catch (problem) {
      problems.push(problem);
    }
  if (problems.length > 0) throw problems[0];
}

function endUnanswered(
  directory: string,
  ask: Ask,
  by: 'timeout' | 'run_ended' | 'asker_gone'
): void {
  decide(directory, ask, { decision: refusal(ask.kind), text: null, by });
}

/** @throws HostError `invalid_input` for an answer of the wrong kind */
function contentOf(
  { ask_id: id, kind }: Ask,
  decision: 'allow' | 'deny' | undefined,
  text: string | undefined
): Pick<AskAnswer, 'decision' | 'text'> {
  if (kind === 'permission' && decision !== undefined)
    return { decision, text: text ?? null };
  if (kind === 'question' && text !== undefined && decision === undefined)
    return { decision: null, text };
  throw kind === 'permission'
    ? new HostError(
        'invalid_input',
        `The ask ${id} wants a decision.`,
        'Answer it with allow or deny; a text is its reason.'
      )
    : new HostError(
        'invalid_input',
        `The ask ${id} is a question.`,
        'Answer it with a text, and without a decision.'
      );
}

function unknownAsk(id: string): HostError {
  return new HostError(
    'unknown_ask',
    `There is no ask "${id.slice(0, 100)}" in this workspace.`,
    'The list of agents names the asks that wait for an answer.'
  );
}

function isOver({ ask_id: id }: Ask, answer: AskAnswer): HostError {
  if (isUnanswered(answer))
    return new HostError(
      'ask_expired',
      `The ask ${id} has ended without an answer: ${ends[answer.by]}.`,
      'Nothing waits for this answer any more.'
    );
  const what = answer.decision ?? 'a text';
  return new HostError(
    'already_answered',
    `The ask ${id} was answered with ${what} by ${describeAnswerer(answer)}.`,
    'The first answer stands.',
    {
      answered_by: answer.by,
      ...(answer.who === undefined ? {} : { who: answer.who }),
      decision: answer.decision,
      text: answer.text
    }
  );
}

const ends: Partial<Record<AskAnswer['by'], string>> = {
  timeout: 'its time was over',
  run_ended: 'the agent has ended',
  asker_gone: 'the agent no longer waits for it'
};
