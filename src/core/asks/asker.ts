import { setTimeout as delay } from 'node:timers/promises';
import type { Access } from '../../plugin/plugin.ts';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import { type Ask, type AskAnswer, refusal, type Subject } from './ask.ts';
import { answerTo, createAsk, decide } from './ask-files.ts';
import { type AskRules, ruleFor } from './ask-rules.ts';
import { isHeld, mayDeliver, offerCall, takeDue } from './parking.ts';

/** What the bridge of a run needs; written into its folder before the start. */
export interface AskSettings {
  agentId: string;
  engine: string;
  /** Seconds until an ask is refused. */
  seconds: number;
  cwd: string;
  workspace: string;
  access: Access;
  /** The engine's tools that do no more than edit one file, or read. */
  edits: string[];
  reads: string[];
  rules: AskRules;
  /** Seconds until a run is parked that waits; absent: it never is. */
  parkAfterSeconds?: number;
}

/** What an agent asks for. */
export interface AskRequest {
  kind: Ask['kind'];
  tool: string;
  subject: Subject;
  options?: string[] | undefined;
  reason?: string | undefined;
  needs: Ask['needs'];
  /** The whole call, as `callText` has it. */
  call: string;
}

interface AskerParts {
  /** The agent's folder. */
  directory: string;
  settings: AskSettings;
  /** This process, whose end leaves an ask without a reader. */
  self: ProcessIdentity;
  /** Starts the process that parks the run. It may decide not to. */
  startParking: () => void;
}

/** The pause between two looks for an answer. */
const pollMs = 50;
/** The interval of `onWaiting`, which keeps a client from giving up. */
const waitingMs = 5000;
/** The pause before a run is tried to be parked again; doubled each time. */
const parkAgainMs = 15_000;
const mostParkAgainMs = 3_600_000;

/** Asks for a running agent, and waits for the one answer. */
export class Asker {
  readonly #with: AskerParts;

  constructor(parts: AskerParts) {
    this.#with = parts;
  }

  /**
   * Resolves with the answer, or with how the ask ended without one.
   * @param signal aborted when the agent no longer waits
   * @param onWaiting called from time to time with the seconds waited so far
   * @throws the system's error when the ask cannot be written
   */
  async ask(
    request: AskRequest,
    signal: AbortSignal,
    onWaiting: (seconds: number) => void = () => undefined
  ): Promise<AskAnswer> {
    const { directory, settings, self } = this.#with;
    const { agentId, seconds, parkAfterSeconds } = settings;
    const { kind, tool, subject, options, reason, needs, call } = request;
    const canPark = parkAfterSeconds !== undefined;
    const given = canPark ? takeDue(directory, agentId, call) : undefined;
    if (given) return given;
    const began = performance.now();
    const now = Date.now();
    const ask = createAsk(directory, {
      agent_id: agentId,
      ...{ kind, tool, subject, needs },
      ...(options === undefined ? {} : { options }),
      ...(reason === undefined ? {} : { reason }),
      asked_at: new Date(now).toISOString(),
      expires_at: new Date(now + 1000 * seconds).toISOString(),
      bridge: self
    });
    const rule = ruleFor(ask, settings);
    if (rule)
      decide(directory, ask, { decision: rule, text: null, by: 'rule' });
    const tryToPark = canPark
      ? this.#parking(ask, call, began + 1000 * parkAfterSeconds)
      : () => undefined;
    for (let reported = began; ; ) {
      const answer = answerTo(directory, ask);
      if (answer && (!canPark || mayDeliver(directory, ask))) return answer;
      const passed = performance.now();
      const isOver = passed - began >= 1000 * seconds;
      // While it is held, the parked run decides, and this process ends.
      const isOurs = !answer && !(canPark && isHeld(directory, ask));
      if (isOurs && (isOver || signal.aborted)) {
        const by = isOver ? 'timeout' : 'asker_gone';
        decide(directory, ask, { decision: refusal(kind), text: null, by });
        continue;
      }
      if (passed - reported >= waitingMs) {
        reported = passed;
        onWaiting(Math.round((passed - began) / 1000));
      }
      tryToPark(passed);
      await delay(pollMs);
    }
  }

  /**
   * Offers to park the run from a time on, and tries it again: another ask may
   * be younger, or the process that parks may have been killed.
   */
  #parking(ask: Ask, call: string, from: number): (now: number) => void {
    const { directory, startParking } = this.#with;
    let [next, pauseMs] = [from, parkAgainMs];
    return (now) => {
      if (now < next) return;
      next = now + pauseMs;
      pauseMs = Math.min(2 * pauseMs, mostParkAgainMs);
      try {
        offerCall(directory, ask, call);
        startParking();
      } catch {
        // The disk is full, or no process can be started: the run goes on.
      }
    };
  }
}
