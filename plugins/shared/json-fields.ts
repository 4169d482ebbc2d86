import type { Reply, Usage } from '../../src/plugin/plugin.ts';

/** Fields of JSON that another program wrote: every shape is possible. */
export type Fields = Record<string, unknown>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object, or an empty one. */
export function record(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The objects in a list; empty for anything else. */
export function records(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The text, or an empty one. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function isCount(value: unknown): value is number {
  return (
    typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
  );
}

/** The number, or 0 for anything else. */
export function count(value: unknown): number {
  return isCount(value) ? value : 0;
}

/** Tokens of a run; undefined when the engine counted none. */
export function tokens(prompt: number, completion: number): Usage | undefined {
  const total = prompt + completion;
  if (total === 0) return undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total
  };
}

/** The model and the session, as the first event of several CLIs names them. */
export function beginning(line: Fields): Pick<Reply, 'sessionId' | 'model'> {
  const sessionId = text(line.session_id);
  const model = text(line.model);
  return { ...(sessionId && { sessionId }), ...(model && { model }) };
}

/** For a line of progress: no breaks, no control characters, not too long. */
export function shortLine(said: string, length = 120): string {
  const line = said.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Arguments of tools that describe a call, best first. */
const descriptive = [
  'command',
  'file_path',
  'dir_path',
  'path',
  'globPattern',
  'pattern',
  'query',
  'url',
  'agent_name',
  'description'
];

/** A call of a tool, for people: "Bash: npm test". */
export function toolCall(name: unknown, input: unknown): string {
  const fields = record(input);
  const detail = descriptive.map((field) => text(fields[field])).find(Boolean);
  return shortLine(detail ? `${text(name)}: ${detail}` : text(name));
}

/** The message inside an error that quotes the provider's JSON. */
export function innerMessage(message: string): string {
  try {
    const { error }: Fields = record(JSON.parse(message));
    return text(record(error).message) || message;
  } catch {
    return message;
  }
}
