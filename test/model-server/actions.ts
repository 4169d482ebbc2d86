/** What the model does, step by step, for one prompt. */
export type Action =
  | { do: 'say'; text: string }
  /** `escalated`: beyond the sandbox, where there is one. */
  | { do: 'shell'; command: string; escalated?: true }
  | { do: 'read'; path: string }
  | { do: 'write'; path: string; text: string }
  | { do: 'mcp'; server: string; tool: string; arguments: object }
  /** Any other tool the CLI offers, by its own name. */
  | { do: 'tool'; name: string; arguments: object }
  | { do: 'sleep'; ms: number }
  /** Answers this status the first `times` times, then goes on. */
  | {
      do: 'status';
      status: number;
      times?: number;
      message?: string;
      headers?: Record<string, string>;
    }
  /** Never says another word and keeps the connection open. */
  | { do: 'hang' }
  /** Cuts the connection, the first `times` times. */
  | { do: 'drop'; times?: number }
  | { do: 'usage'; input: number; output: number; cached?: number }
  /** Ends the answer for a reason other than having finished it. */
  | { do: 'stop'; reason: 'refusal' | 'max_tokens'; times?: number };

export type ToolAction = Extract<
  Action,
  { do: 'shell' | 'read' | 'write' | 'mcp' | 'tool' }
>;

/** One request of an agent, seen as a turn of a conversation. */
export interface Turn {
  api: 'messages' | 'responses' | 'completions' | 'gemini';
  /** The last text of the user, without what the CLI adds to it. */
  prompt: string;
  /** Results of the tools called since that text, oldest first. */
  toolResults: string[];
  model: string;
  /** Counts the model requests of this server from 0. */
  requestIndex: number;
  /** Names of the tools on offer, `namespace/name` within a namespace. */
  tools: string[];
  /** The same with their descriptions, and the tools known by name only. */
  offers: Offer[];
}

/** A tool as it is described to the model. */
export interface Offer {
  name: string;
  description: string;
  /** Of its arguments; none while the model knows the name only. */
  schema?: Record<string, unknown>;
}

/** The part of a turn that lists the tools. */
export function offered(offers: Offer[]): Pick<Turn, 'tools' | 'offers'> {
  const known = offers.filter(({ schema }) => schema !== undefined);
  return { tools: known.map(({ name }) => name), offers };
}

export function isToolAction(action: Action): action is ToolAction {
  return ['shell', 'read', 'write', 'mcp', 'tool'].includes(action.do);
}

/**
 * Reads directives such as `[[shell: npm test]] [[say: done]]` from a prompt:
 *
 *     [[say: TEXT]]   [[repeat: COUNT TEXT]]   [[shell: COMMAND]]
 *     [[read: PATH]]  [[write: PATH | TEXT]]   [[mcp: SERVER TOOL JSON]]
 *     [[escalate: COMMAND]]   [[tool: NAME JSON]]
 *     [[sleep: MS]]   [[hang]]   [[drop: TIMES]]
 *     [[status: CODE TIMES | MESSAGE]]   [[retry-after: CODE SECONDS]]
 *     [[usage: INPUT OUTPUT CACHED]]   [[stop: refusal|max_tokens TIMES]]
 *
 * Brackets nest, so the arguments of a tool may hold directives of their own
 * for the agent that the tool starts.
 */
export function directives(prompt: string): Action[] {
  const actions: Action[] = [];
  for (const source of bracketed(prompt)) {
    const action = parse(source);
    if (action) actions.push(action);
  }
  return actions;
}

function bracketed(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length - 1; at += 1) {
    const pair = text.slice(at, at + 2);
    if (pair === '[[') {
      if (depth === 0) start = at + 2;
      depth += 1;
      at += 1;
    } else if (pair === ']]' && depth > 0) {
      depth -= 1;
      if (depth === 0) found.push(text.slice(start, at));
      at += 1;
    }
  }
  return found;
}

function parse(source: string): Action | undefined {
  const [, name = '', rest = ''] =
    /^([\w-]+):?\s*([\s\S]*)$/.exec(source) ?? [];
  const [first = '', second = '', third = ''] = words(rest);
  switch (name) {
    case 'say':
      return { do: 'say', text: rest };
    case 'repeat':
      return { do: 'say', text: afterWord(rest, 1).repeat(Number(first)) };
    case 'shell':
      return { do: 'shell', command: rest };
    case 'escalate':
      return { do: 'shell', command: rest, escalated: true };
    case 'read':
      return { do: 'read', path: rest.trim() };
    case 'write': {
      const bar = rest.indexOf('|');
      const path = (bar < 0 ? rest : rest.slice(0, bar)).trim();
      const text = bar < 0 ? '' : rest.slice(bar + 1).replace(/^ /, '');
      return { do: 'write', path, text };
    }
    case 'mcp':
      return {
        do: 'mcp',
        server: first,
        tool: second,
        arguments: json(afterWord(rest, 2))
      };
    case 'tool':
      return { do: 'tool', name: first, arguments: json(afterWord(rest, 1)) };
    case 'sleep':
      return { do: 'sleep', ms: Number(first) };
    case 'status':
      return status(rest);
    case 'retry-after':
      return {
        do: 'status',
        status: Number(first),
        times: 1,
        headers: { 'retry-after': second }
      };
    case 'hang':
      return { do: 'hang' };
    case 'drop':
      return { do: 'drop', ...times(first) };
    case 'usage':
      return {
        do: 'usage',
        input: Number(first),
        output: Number(second),
        cached: Number(third)
      };
    case 'stop':
      return {
        do: 'stop',
        reason: first === 'refusal' ? 'refusal' : 'max_tokens',
        ...times(second)
      };
    default:
      return undefined;
  }
}

function status(rest: string): Action {
  const [codes = '', message] = rest.split('|', 2);
  const [code, count = ''] = words(codes);
  return {
    do: 'status',
    status: Number(code),
    ...times(count),
    ...(message === undefined ? {} : { message: message.trim() })
  };
}

function times(count: string): { times?: number } {
  return count === '' ? {} : { times: Number(count) };
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

function afterWord(text: string, count: number): string {
  const skip = new RegExp(`^\\s*(?:\\S+(?:\\s+|$)){${count}}`);
  return text.replace(skip, '');
}

function json(text: string): object {
  if (text.trim() === '') return {};
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? value : {};
}
