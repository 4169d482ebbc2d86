import type { ApiRequest } from '../src/plugin.ts';

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

/** The same, where the system prompt is its first message. */
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
