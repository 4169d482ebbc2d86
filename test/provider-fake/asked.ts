import type { IncomingHttpHeaders } from 'node:http';
import { type Json, record, records, string } from '../model-server/json.ts';

/** The engines that reach a provider over HTTP. */
export const apiEngines = [
  'grok',
  'gemini',
  'mistral',
  'openai',
  'claude-api'
] as const;

export type ApiName = (typeof apiEngines)[number];

/** A question as its provider understood it, in the same words for all. */
export interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  body: Json;
  /** The key it came with. */
  key: string;
  model: string;
  system: string;
  /** The conversation, oldest first; the prompt is its last. */
  said: { by: 'user' | 'model'; text: string }[];
  prompt: string;
  stream: boolean;
  /** The client left before the answer had ended. */
  abandoned: boolean;
}

export function readAsked(
  engine: ApiName,
  path: string,
  headers: IncomingHttpHeaders,
  body: Json
): Asked {
  const messages = messagesOf(engine, body);
  const said = messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, text }) => ({
      by: role === 'user' ? ('user' as const) : ('model' as const),
      text
    }));
  return {
    path,
    headers,
    body,
    key: keyOf(headers),
    model: string(body.model) || modelIn(path),
    system: messages.find(({ role }) => role === 'system')?.text ?? '',
    said,
    prompt: said.at(-1)?.text ?? '',
    stream: body.stream === true || path.includes(':streamGenerateContent'),
    abandoned: false
  };
}

interface Message {
  role: string;
  text: string;
}

function messagesOf(engine: ApiName, body: Json): Message[] {
  switch (engine) {
    case 'grok':
    case 'openai':
      return records(body.input).map(messageIn);
    case 'mistral':
      return records(body.messages).map(messageIn);
    case 'claude-api':
      return [
        { role: 'system', text: textIn(body.system) },
        ...records(body.messages).map(messageIn)
      ];
    case 'gemini':
      return [
        { role: 'system', text: textIn(record(body.systemInstruction).parts) },
        ...records(body.contents).map(({ role, parts }) => ({
          role: string(role),
          text: textIn(parts)
        }))
      ];
  }
}

function messageIn({ role, content }: Json): Message {
  return { role: string(role), text: textIn(content) };
}

function textIn(content: unknown): string {
  return typeof content === 'string'
    ? content
    : records(content)
        .map(({ text }) => string(text))
        .join('');
}

function keyOf(headers: IncomingHttpHeaders): string {
  const own = headers['x-goog-api-key'] ?? headers['x-api-key'];
  return string(own) || (headers.authorization ?? '').replace('Bearer ', '');
}

/** From `/v1beta/models/MODEL:generateContent`. */
function modelIn(path: string): string {
  return /\/models\/([^/:]+):/.exec(path)?.[1] ?? '';
}
