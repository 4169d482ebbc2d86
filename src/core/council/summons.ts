import type { Failure } from '../../plugin.ts';
import { HostError, messageOf, storageError } from '../errors.ts';
import { ownFile } from '../runs/own-file.ts';
import { noteRead } from '../runs/read-mark.ts';
import type { Outcome, Run, RunStatus } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { RunTracker } from '../runs/run-tracker.ts';
import type { Spawned, SpawnRequest } from '../runs/spawn-request.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { readSlice } from '../state/text-file.ts';
import type { CouncilStore } from './council-store.ts';
import { isClosed, noCouncil } from './errors.ts';
import { unusedName } from './names.ts';
import {
  type CouncilState,
  requestOf,
  responsesOf,
  type Session,
  type Summon
} from './state.ts';
import { type Mark, SummonMarks } from './summon-marks.ts';
import { summonPrompt } from './summon-prompt.ts';
import { type Answer, recorded } from './summoned-answer.ts';

export interface SummonDependencies {
  council: CouncilStore;
  /** The council in another file, for agents that were summoned to that. */
  storeAt: (path: string) => CouncilStore;
  witnesses: Witnesses;
  workspace: string;
  runs: Pick<RunStore, 'root' | 'newId' | 'directoryOf' | 'outcomeOf'>;
  tracker: Pick<RunTracker, 'run'>;
  spawn: (request: SpawnRequest) => Promise<Spawned>;
  onProblem: (problem: unknown) => void;
}

export interface SummonRequest {
  engine: string;
  agentName?: string | undefined;
  model?: string | undefined;
}

export interface Summoned {
  agentId: string;
  agentName: string;
  session: Session;
  status: RunStatus;
  /** Why it could not start: its status is "failed" then. */
  failure: Failure | undefined;
}

/** Of an answer, so many characters are recorded. */
const mostChars = 1_000_000;

/** Engines that are asked for their response, and what becomes of them. */
export class Summons {
  readonly #with: SummonDependencies;
  readonly #marks: SummonMarks;
  #attending: Promise<void> | undefined;
  readonly #told = new Set<string>();
  /** Ours whose spawn was refused, as long as they are seated. */
  readonly #unstarted = new Set<string>();

  constructor(dependencies: SummonDependencies) {
    this.#with = dependencies;
    this.#marks = new SummonMarks(dependencies.runs.root);
  }

  /**
   * Has an engine answer the open request, read-only and in the background.
   * @throws HostError `no_council`, `council_closed`, and as a spawn does
   */
  async summon(request: SummonRequest): Promise<Summoned> {
    const { council, runs, witnesses, spawn } = this.#with;
    const agentId = runs.newId(null);
    const { path: state } = council.file;
    try {
      this.#marks.set({ agent_id: agentId, state, owner: witnesses.self });
    } catch (error) {
      throw storageError(error, runs.root);
    }
    try {
      const { name, session, prompt } = await this.#seat(agentId, request);
      const { status, failure } = await spawn({
        agentId,
        engine: request.engine,
        model: request.model,
        prompt,
        access: 'read',
        isWarned: true
      });
      return { agentId, agentName: name, session, status, failure };
    } catch (error) {
      this.#unstarted.add(agentId);
      await this.#unseat(agentId).catch(this.#with.onProblem);
      throw error;
    }
  }

  /**
   * Records the answers of those who have ended, whoever summoned them. A
   * problem is told once and tried again.
   */
  attend(): Promise<void> {
    this.#attending ??= this.#attendAll().finally(() => {
      this.#attending = undefined;
    });
    return this.#attending;
  }

  async #attendAll(): Promise<void> {
    const stuck = new Set<string>();
    for (const mark of this.#marks.all())
      if (!stuck.has(mark.state))
        await this.#settle(mark).catch((problem: unknown) => {
          // Of that file's lock: one has waited long enough for all.
          if (problem instanceof HostError && problem.code === 'state_locked')
            stuck.add(mark.state);
          const text = `${mark.agent_id}: ${messageOf(problem)}`;
          if (!this.#told.has(text)) this.#with.onProblem(problem);
          this.#told.add(text);
        });
  }

  /** Its name is taken, and everybody sees who is awaited. */
  #seat(agentId: string, { engine, agentName }: SummonRequest) {
    const { council, witnesses, workspace } = this.#with;
    return council.change((state) => {
      const { session } = state;
      const request = requestOf(state);
      if (!session || !request) throw noCouncil();
      if (session.status === 'closed') throw isClosed(session);
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
        told: {
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

  /** Nothing was started: as if nobody had been summoned. */
  async #unseat(agentId: string): Promise<void> {
    const isOther = (entry: { agent_id?: string | undefined }) =>
      entry.agent_id !== agentId;
    await this.#with.council.change((state) => {
      const summons = state.summons ?? [];
      if (summons.every(isOther)) return { state, told: undefined };
      return {
        told: undefined,
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
    if (this.#unstarted.has(agentId)) return this.#unseat(agentId);
    const run = await tracker.run(agentId);
    // Without a run it is about to be spawned, or never will be.
    if (run ? !run.outcome : witnesses.liveness(mark.owner) !== 'dead') return;
    const answer = await this.#answerOf(run);
    const isSaid = await storeAt(mark.state).change((state) => {
      const next = recorded(state, agentId, answer);
      return { told: hasWords(next, agentId), state: next };
    });
    if (isSaid && run?.outcome && isWhole(answer, run.outcome))
      noteRead(agentId, this.#with.runs);
    this.#marks.remove(agentId);
  }

  async #answerOf(run: Run | undefined): Promise<Answer> {
    if (!run?.outcome)
      return { error: 'The server that summoned it ended before it started.' };
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

/** Whether its answer stands in the council. */
function hasWords({ summons = [] }: CouncilState, agentId: string): boolean {
  return summons.some(
    ({ agent_id, status }) => agent_id === agentId && status === 'completed'
  );
}

/** Whether the council has all that an agent said. */
function isWhole(answer: Answer, { result_chars }: Outcome): boolean {
  return 'content' in answer && result_chars <= mostChars;
}
