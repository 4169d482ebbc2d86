import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Failure } from '../../plugin/plugin.ts';
import { HostError, messageOf, storageError } from '../errors.ts';
import type { RunTracker } from '../runs/end/run-tracker.ts';
import type { Caller, Run, RunStatus } from '../runs/run.ts';
import { noteRead, ownFile } from '../runs/run-files.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Spawned, SpawnRequest } from '../runs/spawn-request.ts';
import { readSlice } from '../state/files/text-file.ts';
import type { LivenessCheck } from '../state/locks/file-lock.ts';
import { unusedName } from './attendance.ts';
import type { CouncilStore } from './council-store.ts';
import { isAnother, isClosed, noCouncil } from './errors.ts';
import { checkAgentName } from './person.ts';
import {
  type CouncilState,
  type Response,
  requestOf,
  responsesOf,
  type Session,
  type Summon
} from './state.ts';
import { type Mark, SummonMarks } from './summon-marks.ts';
import { summonPrompt } from './summon-prompt.ts';

export interface SummonDependencies {
  council: CouncilStore;
  /** The council in the file of a mark, which may differ from `council`. */
  storeAt: (path: string) => CouncilStore;
  witnesses: LivenessCheck;
  workspace: string;
  runs: Pick<RunStore, 'root' | 'newId' | 'directoryOf' | 'outcomeOf'>;
  tracker: Pick<RunTracker, 'run'>;
  spawn: (request: SpawnRequest) => Promise<Spawned>;
  onProblem: (problem: unknown) => void;
}

export interface SummonRequest {
  engine: string;
  /** The council that the caller has read; default: the current one. */
  sessionId?: string | undefined;
  agentName?: string | undefined;
  model?: string | undefined;
  caller?: Caller | undefined;
}

export interface Summoned {
  agentId: string;
  agentName: string;
  session: Session;
  status: RunStatus;
  /** Why the agent could not start; its status is "failed" then. */
  failure: Failure | undefined;
}

/** In characters. A longer answer is cut. */
const mostChars = 1_000_000;

type Answer = { content: string } | { error: string; error_code?: string };

/** Starts agents that respond to a council, and records their answers. */
export class Summons {
  readonly #with: SummonDependencies;
  readonly #marks: SummonMarks;
  #collecting: Promise<void> | undefined;
  readonly #reported = new Set<string>();
  /** Agents that could not start, until their summons is removed. */
  readonly #unstarted = new Set<string>();

  constructor(dependencies: SummonDependencies) {
    this.#with = dependencies;
    this.#marks = new SummonMarks(dependencies.runs.root);
  }

  /**
   * Starts a read-only agent in the background that answers the open request.
   * @throws HostError `no_council`, `council_closed`, `session_replaced`,
   *   `invalid_input`, and the errors of a spawn
   */
  async summon(request: SummonRequest): Promise<Summoned> {
    const { council, runs, witnesses, spawn } = this.#with;
    const agentId = runs.newId(null);
    const { path: state } = council.file;
    const mark = { agent_id: agentId, state, owner: witnesses.self };
    try {
      this.#marks.set(mark);
    } catch (error) {
      throw storageError(error, runs.root);
    }
    try {
      const { name, session, prompt } = await this.#addSummons(
        agentId,
        request
      );
      const { status, failure } = await spawn({
        agentId,
        engine: request.engine,
        model: request.model,
        caller: request.caller,
        prompt,
        access: 'read',
        isWarned: true
      });
      this.#noteStarted(mark);
      return { agentId, agentName: name, session, status, failure };
    } catch (error) {
      this.#unstarted.add(agentId);
      await this.#removeSummons(agentId).catch(this.#with.onProblem);
      throw error;
    }
  }

  /**
   * Records the answers of agents that have ended, including agents of other
   * servers of this workspace. Reports a problem once; every call tries again.
   */
  collectAnswers(): Promise<void> {
    this.#collecting ??= this.#collectAll().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  async #collectAll(): Promise<void> {
    const locked = new Set<string>();
    for (const mark of this.#marks.all())
      if (!locked.has(mark.state))
        await this.#settle(mark).catch((problem: unknown) => {
          // The other agents of this council would wait for the same lock.
          if (problem instanceof HostError && problem.code === 'state_locked')
            locked.add(mark.state);
          const text = `${mark.agent_id}: ${messageOf(problem)}`;
          if (!this.#reported.has(text)) this.#with.onProblem(problem);
          this.#reported.add(text);
        });
  }

  #noteStarted(mark: Mark): void {
    try {
      this.#marks.setStarted(mark);
    } catch (problem) {
      // Without the flag, a removed folder is noticed when this server ends.
      this.#with.onProblem(problem);
    }
  }

  /** Reserves a name for the agent, and adds it to the session. */
  #addSummons(
    agentId: string,
    { engine, agentName, sessionId }: SummonRequest
  ) {
    const { council, witnesses, workspace } = this.#with;
    return council.change((state) => {
      const { session } = state;
      const request = requestOf(state);
      if (!session || !request) throw noCouncil();
      if (sessionId !== undefined && sessionId !== session.id)
        throw isAnother(sessionId, session);
      if (session.status === 'closed') throw isClosed(session);
      checkAgentName(agentName ?? engine);
      const name = unusedName(agentName ?? engine, state);
      const now = new Date().toISOString();
      const summon: Summon = {
        agent_id: agentId,
        agent_name: name,
        engine,
        session_id: session.id,
        request_id: request.id,
        workspace,
        owner: witnesses.self,
        status: 'running',
        created_at: now
      };
      const participant = {
        agent_name: name,
        last_seen: now,
        last_request_seen: request.id,
        last_feedback_seen: state.feedback.at(-1)?.id ?? null,
        agent_id: agentId
      };
      return {
        result: {
          name,
          session,
          prompt: summonPrompt(name, request, responsesOf(state))
        },
        state: {
          ...state,
          participants: [...state.participants, participant],
          summons: [...(state.summons ?? []), summon]
        }
      };
    });
  }

  /** Undoes a summons whose agent was not started. */
  async #removeSummons(agentId: string): Promise<void> {
    const isOther = (entry: { agent_id?: string | undefined }) =>
      entry.agent_id !== agentId;
    await this.#with.council.change((state) => {
      const summons = state.summons ?? [];
      if (summons.every(isOther)) return { state, result: undefined };
      return {
        result: undefined,
        state: {
          ...state,
          participants: state.participants.filter(isOther),
          summons: summons.filter(isOther)
        }
      };
    });
    this.#marks.remove(agentId);
    this.#unstarted.delete(agentId);
  }

  async #settle(mark: Mark): Promise<void> {
    const { tracker, witnesses, storeAt } = this.#with;
    const { agent_id: agentId } = mark;
    if (this.#unstarted.has(agentId)) return this.#removeSummons(agentId);
    const run = await tracker.run(agentId);
    // Without a run, the agent is not spawned yet, or its folder was removed.
    const isPending = run
      ? !run.outcome || run.isUnjudged
      : !mark.started && witnesses.liveness(mark.owner) !== 'dead';
    if (isPending) return;
    // A council whose file is moved away for a while gets its answer later.
    if (!existsSync(mark.state) && isRecent(run)) return;
    const answer = await this.#answerOf(run, mark);
    const isRecorded = await storeAt(mark.state).change((before) => {
      const state = recorded(before, agentId, answer);
      const summon = state.summons?.find((one) => one.agent_id === agentId);
      return { result: summon?.status === 'completed', state };
    });
    const isWhole =
      run?.outcome !== undefined && run.outcome.result_chars <= mostChars;
    if (isRecorded && isWhole && 'content' in answer)
      noteRead(agentId, this.#with.runs);
    this.#marks.remove(agentId);
  }

  async #answerOf(run: Run | undefined, mark: Mark): Promise<Answer> {
    if (!run?.outcome)
      return {
        error: mark.started
          ? 'Its folder was removed after it started: its answer cannot be read.'
          : 'The server that summoned it ended before it started.'
      };
    const { outcome, record, status } = run;
    const directory = this.#with.runs.directoryOf(record.agent_id);
    if (status !== 'completed')
      return {
        error: outcome.error ?? `It ended as ${status}.`,
        error_code: outcome.error_code ?? status
      };
    const path = ownFile(directory, outcome.result_file);
    if (path === undefined) return { error: 'Its answer is gone.' };
    const { text, totalChars } = await readSlice(path, 0, mostChars);
    if (text.trim() === '') return { error: 'It ended without an answer.' };
    if (text.length === totalChars) return { content: text };
    return { content: `${text}\n\n… [cut: ${path}]` };
  }
}

/** The answer for a council whose file is gone is kept for this time. */
const absentMs = 24 * 3_600_000;

function isRecent(run: Run | undefined): boolean {
  const endedAt = Date.parse(run?.outcome?.completed_at ?? '');
  return Date.now() - endedAt < absentMs;
}

/**
 * Returns the state with an agent's answer, unless one is recorded already. A
 * failure adds no response: it becomes the status of the summons.
 */
function recorded(
  state: CouncilState,
  agentId: string,
  answer: Answer
): CouncilState {
  const { session, summons = [], feedback, participants } = state;
  const summon = summons.find(({ agent_id }) => agent_id === agentId);
  if (summon?.status !== 'running') return state;
  const isOpen =
    session?.status === 'active' &&
    session.current_request_id === summon.request_id;
  const final = 'content' in answer && !isOpen ? late : answer;
  const ended = (end: Partial<Summon>) =>
    summons.map((other) => (other === summon ? { ...summon, ...end } : other));
  if (!('content' in final))
    return { ...state, summons: ended({ ...final, status: 'failed' }) };
  const now = new Date().toISOString();
  const response: Response = {
    id: randomUUID(),
    request_id: summon.request_id,
    author: summon.agent_name,
    content: final.content,
    created_at: now
  };
  return {
    ...state,
    summons: ended({ status: 'completed' }),
    feedback: [...feedback, response],
    participants: participants.map((participant) =>
      participant.agent_id === agentId
        ? { ...participant, last_seen: now }
        : participant
    )
  };
}

/** Replaces an answer whose request was closed or replaced meanwhile. */
const late = {
  error:
    'The council was closed before it answered: its answer is the result of that agent.',
  error_code: 'council_closed'
};
