import type { ApiRequest } from '../../src/plugin/plugin.ts';

type Message =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string };

/** A conversation in the form that most providers take. */
export function messagesOf({ turns, prompt }: ApiRequest): Message[] {
  return [
    ...turns.flatMap((turn): Message[] => [
      { role: 'user', content: turn.prompt },
      { role: 'assistant', content: turn.answer }
    ]),
    { role: 'user', content: prompt }
  ];
}

/** The same, with the system prompt as the first message. */
export function messagesWithSystem(
  request: ApiRequest
): (Message | { role: 'system'; content: string })[] {
  const { systemPrompt } = request;
  return [
    ...(systemPrompt
      ? [{ role: 'system' as const, content: systemPrompt }]
      : []),
    ...messagesOf(request)
  ];
}

/**
 * The address with a version in its path, for an SDK that does not add one.
 * Users write either form.
 */
export function withVersion(baseUrl: string, version: string): string {
  const bare = baseUrl.replace(/\/+$/, '');
  return new URL(bare).pathname === '/' ? `${bare}/${version}` : bare;
}

/** The address without the version, for an SDK that adds it. */
export function withoutVersion(baseUrl: string, version: string): string {
  const bare = baseUrl.replace(/\/+$/, '');
  return bare.endsWith(`/${version}`)
    ? bare.slice(0, -version.length - 1)
    : bare;
}

/** Address and version apart, for an SDK that has a default version. */
export function splitVersion(baseUrl: string): {
  baseUrl: string;
  apiVersion?: string;
} {
  const bare = baseUrl.replace(/\/+$/, '');
  const apiVersion = /\/(v1(?:alpha|beta)?)$/.exec(bare)?.[1];
  return apiVersion === undefined
    ? { baseUrl: bare }
    : { baseUrl: withoutVersion(bare, apiVersion), apiVersion };
}
