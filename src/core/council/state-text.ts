import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { lazily } from '../lazily.ts';
import { type CouncilState, type Response, stateSchema } from './state.ts';

/**
 * Responses, and the lines of the file that hold them. Nobody changes what
 * was said, so that most of a long file is as it was, whoever wrote it: that
 * much is neither parsed nor made into text again.
 */
export interface KnownLines {
  responses: Response[];
  lines: Buffer;
}

const listStart = '\n  "feedback": [';
const between = ',\n';

/** JSON, each entry of a list on a line of its own. */
export function encode(state: CouncilState): string {
  const fields = Object.entries(state).map(
    ([key, value]) =>
      `  ${JSON.stringify(key)}: ${
        Array.isArray(value) ? encodeList(value) : JSON.stringify(value)
      }`
  );
  return `{\n${fields.join(',\n')}\n}\n`;
}

/**
 * The same in bytes, with what is known of a state before it.
 * @param room where they come to lie
 */
export function encodeWith(
  state: CouncilState,
  known: KnownLines | undefined,
  room: (size: number) => Buffer = (size) => Buffer.allocUnsafe(size)
): { bytes: Buffer; known: KnownLines } {
  const { feedback: responses } = state;
  const text = encode({ ...state, feedback: [] });
  const at = text.indexOf(listStart) + listStart.length;
  const lines = linesOf(responses, known);
  const [before, after] =
    responses.length === 0
      ? [text.slice(0, at), text.slice(at)]
      : [`${text.slice(0, at)}\n`, `\n  ${text.slice(at)}`];
  const head = Buffer.from(before);
  const tail = Buffer.from(after);
  const parts = [head, ...lines, tail];
  const bytes = room(parts.reduce((size, part) => size + part.length, 0));
  let end = 0;
  for (const part of parts) end += part.copy(bytes, end);
  return {
    bytes,
    known: {
      responses,
      lines: bytes.subarray(head.length, bytes.length - tail.length)
    }
  };
}

/** Of a file, that which is not known; null stands for the rest. */
const unknownSchema = lazily(() => {
  const schema = stateSchema();
  const { element } = schema.shape.feedback;
  return schema.extend({ feedback: z.tuple([z.null()], element) });
});

/**
 * The state in a file whose first responses are known; undefined when they
 * are not, or anything else is out of the ordinary.
 */
export function decodeWith(
  bytes: Buffer,
  { responses, lines }: KnownLines
): { state: CouncilState; known: KnownLines } | undefined {
  const start = bytes.indexOf(`${listStart}\n`) + listStart.length + 1;
  const end = start + lines.length;
  if (responses.length === 0 || !bytes.subarray(start, end).equals(lines))
    return undefined;
  const others = Buffer.concat([
    bytes.subarray(0, start),
    Buffer.from('null'),
    bytes.subarray(end)
  ]);
  const parsed = unknownSchema().safeParse(jsonOf(others)).data;
  if (!parsed) return undefined;
  const [, ...fresh] = parsed.feedback;
  const feedback = [...responses, ...fresh];
  const more = Buffer.concat(linesOf(feedback, { responses, lines }).slice(1));
  const isAlike = bytes.subarray(end, end + more.length).equals(more);
  return {
    state: { ...parsed, feedback },
    known:
      fresh.length > 0 && isAlike
        ? {
            responses: feedback,
            lines: bytes.subarray(start, end + more.length)
          }
        : { responses, lines }
  };
}

function jsonOf(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** The lines of all responses, those that are known as they are. */
function linesOf(
  responses: Response[],
  known: KnownLines = { responses: [], lines: Buffer.alloc(0) }
): Buffer[] {
  const count = known.responses.length;
  const isFirst = (one: Response, index: number) => one === responses[index];
  if (count === 0 || !known.responses.every(isFirst))
    return [Buffer.from(responses.map(lineOf).join(between))];
  const fresh = responses.slice(count).map((one) => between + lineOf(one));
  return [known.lines, Buffer.from(fresh.join(''))];
}

function encodeList(entries: unknown[]): string {
  return entries.length === 0
    ? '[]'
    : `[\n${entries.map(lineOf).join(between)}\n  ]`;
}

function lineOf(entry: unknown): string {
  return `    ${JSON.stringify(entry)}`;
}
