import { fitInto, type Part } from '../../../answers/budget.ts';
import { inlineChars } from '../../../answers/format-run.ts';
import { limitsOf } from '../answers/client-limits.ts';
import type { Completion } from '../prompts/suggest.ts';
import type { ResourceRef } from './resource-uri.ts';

export interface Listed {
  uri: string;
  /** The name for programs. */
  name: string;
  /** The name for people. */
  title?: string;
  description: string;
  mimeType: string;
}

export interface Template extends Omit<Listed, 'uri'> {
  uriTemplate: string;
}

export interface Content {
  uri: string;
  mimeType: string;
  text: string;
}

export interface ReadRequest {
  ref: ResourceRef;
  /** The URI as the client wrote it. */
  uri: string;
  /** The client's `clientInfo.name`. */
  clientName: string;
}

/** One family of resources. */
export interface Source {
  templates: Template[];
  /** @param room bytes of JSON for the list */
  list: (room: number) => Listed[] | Promise<Listed[]>;
  /** Returns a value that changes whenever the list does. */
  listStamp: () => string;
  /** @throws ProtocolError when the resource does not exist */
  read: (request: ReadRequest) => Promise<Content[]>;
  /**
   * Returns a function whose value changes whenever the resource does.
   * @throws ProtocolError when the resource does not exist
   */
  stampOf: (ref: ResourceRef) => () => string;
  /** Completes a variable of a template. */
  complete: (
    template: string,
    variable: string,
    typed: string
  ) => Completion | Promise<Completion>;
}

/** Characters reserved for the JSON around a text and for the second text. */
const frameChars = 1000;

/**
 * A text, cut to the size of an answer. A second text says how to read on after
 * a cut, so that the first one contains only the resource.
 * @param part renders the field `text`; a cut adds `total_chars` and
 *   `next_offset`
 * @param path the file with the whole text
 */
export function textContents(
  part: Part,
  mimeType: string,
  path: string,
  { ref, uri, clientName }: ReadRequest
): Content[] {
  const { text, truncated, total_chars, next_offset } = fitInto(
    (put) => put(part),
    {
      chars: inlineChars - frameChars,
      bytes: limitsOf(clientName).answerBytes - frameChars
    }
  );
  const contents = [{ uri, mimeType, text: String(text) }];
  if (truncated !== true) return contents;
  const onward =
    next_offset === undefined
      ? 'the last'
      : `${ref.uri}?offset=${next_offset} reads on`;
  const note = `This is a part of ${total_chars} characters, ${onward}. The file with all of it: ${path}`;
  return [...contents, { uri: ref.uri, mimeType: 'text/plain', text: note }];
}
