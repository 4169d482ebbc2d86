import type { ProcessIdentity } from '../processes/process-identity.ts';

/*
 * The files of an ask are in the folder `asks` of an agent. Each is validated
 * when it is read, because an agent with full access may write there. This is
 * done by hand: a schema library would cost the bridge of each agent megabytes.
 */

/** Seconds until an ask is refused, unless the caller gives another limit. */
export const defaultAskSeconds = 600;

export const mostAskSeconds = 604_800;

/** What an ask is about; exactly one field is set. */
export interface Subject {
  command?: string;
  path?: string;
  url?: string;
  question?: string;
}

/** `<n>.json`, written once by the bridge of the agent. */
export interface Ask {
  v: 1;
  ask_id: string;
  agent_id: string;
  kind: 'permission' | 'question';
  tool: string;
  subject: Subject;
  options?: string[];
  reason?: string;
  /** The access that an agent must have to allow it. */
  needs: 'write' | 'full';
  asked_at: string;
  expires_at: string;
  bridge: ProcessIdentity;
}

const enders = [
  'coordinator',
  'person',
  'rule',
  'timeout',
  'run_ended',
  'asker_gone'
] as const;

/** `<n>.answer`, created once by the process that decides. */
export interface AskAnswer {
  v: 1;
  /** Null for the answer to a question. */
  decision: 'allow' | 'deny' | null;
  text: string | null;
  /** `asker_gone`: the bridge ended, so that no answer can reach the agent. */
  by: (typeof enders)[number];
  /** The client or the agent that answered, or the door of a person. */
  who?: string;
  at: string;
}

/** Undefined for text that is no ask. */
export function parseAsk(text: string): Ask | undefined {
  const value = parsed(text);
  return isAsk(value) ? value : undefined;
}

/** Undefined for text that is no answer. */
export function parseAnswer(text: string): AskAnswer | undefined {
  const value = parsed(text);
  return isAnswer(value) ? value : undefined;
}

type Fields = Record<string, unknown>;

function isAsk(value: unknown): value is Ask {
  const ask = fieldsOf(value);
  const { options, kind, needs } = ask;
  return (
    ask.v === 1 &&
    [ask.ask_id, ask.agent_id, ask.tool].every(isText) &&
    (kind === 'permission' || kind === 'question') &&
    isSubject(ask.subject) &&
    (options === undefined ||
      (Array.isArray(options) && options.every(isText))) &&
    isTextOrNone(ask.reason) &&
    (needs === 'write' || needs === 'full') &&
    [ask.asked_at, ask.expires_at].every(isTime) &&
    isIdentity(ask.bridge)
  );
}

function isSubject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { command, path, url, question } = fieldsOf(value);
  return [command, path, url, question].every(isTextOrNone);
}

function isIdentity(value: unknown): boolean {
  const { pid, start, place } = fieldsOf(value);
  return (
    Number.isInteger(pid) && Number(pid) > 0 && isText(start) && isText(place)
  );
}

function isAnswer(value: unknown): value is AskAnswer {
  const { v, decision, text, by, who, at } = fieldsOf(value);
  return (
    v === 1 &&
    (decision === null || decision === 'allow' || decision === 'deny') &&
    (text === null || isText(text)) &&
    enders.some((known) => known === by) &&
    isTextOrNone(who) &&
    isTime(at)
  );
}

function fieldsOf(value: unknown): Fields {
  return Object(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || isText(value);
}

/** A time in UTC, as in ISO 8601. */
function isTime(value: unknown): boolean {
  return (
    isText(value) &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
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

/** The decision of an ask that ends without an answer. */
export function refusal(kind: Ask['kind']): AskAnswer['decision'] {
  return kind === 'permission' ? 'deny' : null;
}
