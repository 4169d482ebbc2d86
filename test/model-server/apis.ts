import type { ServerResponse } from 'node:http';
import type { ToolAction, Turn } from './actions.ts';
import type { Answer, ToolCall } from './answer.ts';
import * as completionsApi from './completions-api.ts';
import * as geminiApi from './gemini-api.ts';
import { type Json, record } from './json.ts';
import * as messagesApi from './messages-api.ts';
import * as responsesApi from './responses-api.ts';

/** How one provider's API is spoken. */
export interface Api {
  readTurn(body: Json, requestIndex: number, path: string): Turn;
  toolCall(action: ToolAction, turn: Turn): ToolCall;
  answer(response: ServerResponse, body: Json, path: string): Answer;
}

export function apiOf(path: string): Api | undefined {
  if (path.endsWith('/messages')) return messagesApi;
  if (path.endsWith('/responses')) return responsesApi;
  if (path.endsWith('/chat/completions')) return completionsApi;
  return /:(streamG|g)enerateContent$/.test(path) ? geminiApi : undefined;
}

/** The answer to a request outside of the conversation, if it is one. */
export function aside(path: string, body: unknown): object | undefined {
  const count = Math.ceil(JSON.stringify(body ?? '').length / 4);
  if (path.endsWith('/messages/count_tokens')) return { input_tokens: count };
  if (path.endsWith(':countTokens')) return { totalTokens: count };
  return path.endsWith(':generateContent')
    ? geminiApi.routing(record(body))
    : undefined;
}
