import { pick, type Random } from '../kit/judges/random.ts';
import { jsonText } from './json-text.ts';
import { mutated } from './mutate.ts';
import { oddValue, RawJson } from './odd-values.ts';
import { type KnownTool, type Names, validInput } from './valid-input.ts';

/** One line to be sent, and what is to come of it. */
export interface FuzzMessage {
  text: string;
  /** Ids that are to be answered once each. */
  asks: unknown[];
  /** An id that may stay without an answer from now on. */
  cancels: unknown[];
  /** It may take as long as a client waits. */
  isLong: boolean;
}

export interface MessageOptions {
  tools: KnownTool[];
  names: Names;
  /** Calls that may start something, and workers among them. */
  budget: { starts: number; workers: number };
}

const starting =
  /^(spawn_|continue_agent|second_opinion|start_squad|summon_agent|agent_create)/;
const waiting =
  /^(wait_|start_squad|second_opinion|agent_create|agent_delete|cancel_agent)/;

const methods = [
  ...['ping', 'tools/list', 'resources/list', 'resources/templates/list'],
  ...['resources/read', 'resources/subscribe', 'resources/unsubscribe'],
  ...['prompts/list', 'prompts/get', 'completion/complete', 'tasks/list'],
  ...['logging/setLevel', 'sampling/createMessage', 'roots/list', 'initialize'],
  ...['server/discover', '', '__proto__', 'constructor', 'toString']
];

const notifications = [
  ...['initialized', 'cancelled', 'progress', 'roots/list_changed', 'of-what']
];

/** The next message; `id` is one that was not used before. */
export function nextMessage(
  id: number,
  random: Random,
  options: MessageOptions
): FuzzMessage {
  const kind = random.next();
  if (kind < 0.03) return batch(id, random, options);
  const { message, isLong } =
    kind < 0.08 ? notification(id, random) : request(id, random, options);
  const spoilt = kind >= 0.9 && !isLong ? mutated(message, random) : message;
  return { ...told(jsonText(spoilt)), isLong };
}

function batch(
  id: number,
  random: Random,
  options: MessageOptions
): FuzzMessage {
  const none = { ...options, budget: { starts: 0, workers: 0 } };
  const messages = [0, 1].map(
    (n) => request(id + n / 10, random, none).message
  );
  return { ...told(jsonText(messages)), isLong: false };
}

interface Made {
  message: Record<string, unknown>;
  isLong: boolean;
}

function request(id: number, random: Random, options: MessageOptions): Made {
  const base = { jsonrpc: '2.0', id: random.next() < 0.1 ? `s${id}` : id };
  if (random.next() < 0.1) {
    const method = pick(random, methods);
    const params = mutated(paramsOf(options, random), random);
    const message = { ...base, method, params: described(params, random) };
    return { message, isLong: false };
  }
  const tool = pick(random, options.tools);
  const params = mutatedCall(tool, random, options);
  return {
    message: {
      ...base,
      method: 'tools/call',
      params: described(params, random)
    },
    isLong: waiting.test(tool.name)
  };
}

/** Some requests describe themselves, as those of revision 2026-07-28 do. */
function described<Params>(params: Params, random: Random) {
  if (random.next() < 0.7 || !isPlain(params)) return params;
  const prefix = 'io.modelcontextprotocol/';
  const client = pick(random, ['fuzz', 'another', '']);
  const _meta = {
    ...Object(params._meta),
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientInfo`]: { name: client, version: '1' },
    [`${prefix}clientCapabilities`]: {}
  };
  const isSpoilt = random.next() < 0.2;
  return { ...params, _meta: isSpoilt ? mutated(_meta, random) : _meta };
}

function mutatedCall(
  tool: KnownTool,
  random: Random,
  { names, budget }: MessageOptions
): Record<string, unknown> {
  const { name } = tool;
  const valid = validInput(tool.inputSchema, names, random);
  const isSpoilt = random.next() < 0.85;
  const input = isSpoilt ? mutated(valid, random) : valid;
  const isFree = !starting.test(name);
  const worker = name === 'agent_create';
  const rest = worker ? budget.workers : budget.starts;
  if (!isFree && rest > 0) budget[worker ? 'workers' : 'starts'] -= 1;
  // What starts nothing costs nothing.
  if (!isFree && rest === 0 && isPlain(input)) input['not known'] = 1;
  const _meta = { progressToken: pick(random, [1, 'p', -1, '']) };
  return {
    name: random.next() < 0.02 ? oddValue(random) : name,
    ...(random.next() < 0.98 ? { arguments: input } : {}),
    ...(random.next() < 0.2 ? { _meta } : {}),
    ...(random.next() < 0.01 ? { task: { ttl: 1 } } : {})
  };
}

function paramsOf({ names }: MessageOptions, random: Random) {
  const agent = names.pick('agent_id', random) ?? '00000000';
  return {
    uri: pick(random, [
      `agent://${agent}/outbox?tail=3`,
      `agent://${agent}/meta`,
      'broadcast://00000000/events',
      'agent://../../etc/passwd'
    ]),
    cursor: 'x',
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'fuzz', version: '1' }
  };
}

function notification(id: number, random: Random): Made {
  const method = `notifications/${pick(random, notifications)}`;
  const params = mutated(
    {
      requestId: pick(random, [id - random.between(1, 50), -5, 'nobody', 1.5]),
      progressToken: 1,
      progress: 1,
      reason: 'no longer wanted'
    },
    random
  );
  return { message: { jsonrpc: '2.0', method, params }, isLong: false };
}

/** By what stands in the text, as its reader sees it. */
function told(text: string): Omit<FuzzMessage, 'isLong'> {
  const value: unknown = JSON.parse(text);
  const all = Array.isArray(value) ? value : [value];
  const cancelled = Array.isArray(value) ? undefined : cancelledBy(value);
  return {
    text,
    asks: all.flatMap(askOf),
    cancels: cancelled === undefined ? [] : [cancelled]
  };
}

function askOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error'))
    return [];
  const id: unknown = Reflect.get(value, 'id');
  const isText = typeof id === 'string';
  const isNumber =
    typeof id === 'number' &&
    Number.isFinite(id) &&
    (!Number.isInteger(id) || Number.isSafeInteger(id));
  return isText || isNumber ? [id] : [];
}

function cancelledBy(value: unknown): unknown {
  const message = new Map(Object.entries(Object(value)));
  if (message.get('method') !== 'notifications/cancelled') return undefined;
  const id: unknown = Reflect.get(Object(message.get('params')), 'requestId');
  // Nothing else is the id of a request.
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof RawJson)
  );
}
