import { setTimeout as delay } from 'node:timers/promises';
import type { Access } from '../../plugin/plugin.ts';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import type { Ask, AskAnswer, Subject } from './ask.ts';
import { answerTo, createAsk, decide } from './ask-files.ts';
import { type AskRules, ruleFor } from './ask-rules.ts';

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
}

/** What an agent asks for. */
export interface AskRequest {
  kind: Ask['kind'];
  tool: string;
  subject: Subject;
  options?: string[] | undefined;
  reason?: string | undefined;
  needs: Ask['needs'];
}

interface AskerParts {
  /** The agent's folder. */
  directory: string;
  settings: AskSettings;
  /** This process, whose end leaves an ask without a reader. */
  self: ProcessIdentity;
}

/** The pause between two looks for an answer. */
const pollMs = 50;
/** The interval of `onWaiting`, which keeps a client from giving up. */
const waitingMs = 5000;

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
    const { agentId, seconds } = settings;
    const began = performance.now();
    const { kind, tool, subject, options, reason, needs } = request;
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
    for (let told = began; ; ) {
      const answer = answerTo(directory, ask);
      if (answer) return answer;
      const passed = performance.now();
      const isOver = passed - began >= 1000 * seconds;
      if (isOver || signal.aborted) {
        const by = isOver ? 'timeout' : 'asker_gone';
        decide(directory, ask, { decision: refusal(kind), text: null, by });
        continue;
      }
      if (passed - told >= waitingMs) {
        told = passed;
        onWaiting(Math.round((passed - began) / 1000));
      }
      await delay(pollMs);
    }
  }
}

/** The decision of an ask that ends without an answer. */
export function refusal(kind: Ask['kind']): AskAnswer['decision'] {
  return kind === 'permission' ? 'deny' : null;
}
