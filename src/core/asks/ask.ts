import { z } from 'zod';
import { lazy } from '../lazy.ts';
import { identitySchema } from '../processes/process-identity.ts';

/*
 * The files of an ask are in the folder `asks` of an agent. Each is validated
 * when it is read, because an agent with full access may write there.
 */

/** Seconds until an ask is refused, unless the caller gives another limit. */
export const defaultAskSeconds = 600;

export const mostAskSeconds = 604_800;

/** What an ask is about; exactly one field is set. */
const subjectSchema = lazy(() => {
  const text = z.string().exactOptional();
  return z.object({ command: text, path: text, url: text, question: text });
});

export type Subject = z.infer<ReturnType<typeof subjectSchema>>;

/** `<n>.json`, written once by the bridge of the agent. */
const askSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    ask_id: z.string(),
    agent_id: z.string(),
    kind: z.enum(['permission', 'question']),
    tool: z.string(),
    subject: subjectSchema(),
    options: z.array(z.string()).exactOptional(),
    reason: z.string().exactOptional(),
    /** The access that an agent must have to allow it. */
    needs: z.enum(['write', 'full']),
    asked_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    bridge: identitySchema()
  })
);

export type Ask = z.infer<ReturnType<typeof askSchema>>;

/** `<n>.answer`, created once by the process that decides. */
const answerSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    /** Null for the answer to a question. */
    decision: z.enum(['allow', 'deny']).nullable(),
    text: z.string().nullable(),
    /** `asker_gone`: the bridge ended, so that no answer can reach the agent. */
    by: z.enum([
      'coordinator',
      'person',
      'rule',
      'timeout',
      'run_ended',
      'asker_gone'
    ]),
    /** The client or the agent that answered, or the door of a person. */
    who: z.string().exactOptional(),
    at: z.iso.datetime()
  })
);

export type AskAnswer = z.infer<ReturnType<typeof answerSchema>>;

/** Undefined for text that is no ask. */
export function parseAsk(text: string): Ask | undefined {
  return askSchema().safeParse(parsed(text)).data;
}

/** Undefined for text that is no answer. */
export function parseAnswer(text: string): AskAnswer | undefined {
  return answerSchema().safeParse(parsed(text)).data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for the end of an ask that was not answered. */
export function isUnanswered({ by }: AskAnswer): boolean {
  return by === 'timeout' || by === 'run_ended' || by === 'asker_gone';
}

/** Milliseconds from the ask to its answer. */
export function waitedMs({ asked_at }: Ask, { at }: AskAnswer): number {
  return Math.max(0, Date.parse(at) - Date.parse(asked_at));
}

/** `coordinator (agent 1a2b3c4d)` */
export function describeAnswerer({ by, who }: AskAnswer): string {
  return who === undefined ? by : `${by} (${who})`;
}
