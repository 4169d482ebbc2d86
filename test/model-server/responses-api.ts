import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { offered, type Turn } from './actions.ts';
import type { Answer, StopReason, Tokens, ToolCall } from './answer.ts';
import { eventStream, pieces, sendJson } from './answer.ts';
import { type Json, records, string } from './json.ts';
import { offersIn } from './responses-tools.ts';

export { toolCall } from './responses-tools.ts';

/** OpenAI Responses, as Codex and the SDK speak it. */
export function readTurn(body: Json, requestIndex: number): Turn {
  let prompt = typeof body.input === 'string' ? body.input : '';
  let toolResults: string[] = [];
  for (const item of records(body.input)) {
    if (item.role === 'user') {
      const said = contentText(item.content).trim();
      if (said === '' || isContext(said)) continue;
      prompt = said;
      toolResults = [];
    } else if (string(item.type).endsWith('_call_output')) {
      toolResults.push(contentText(item.output));
    }
  }
  return {
    api: 'responses',
    prompt,
    toolResults,
    model: string(body.model),
    requestIndex,
    ...offered(offersIn(body))
  };
}

export function answer(response: ServerResponse, body: Json): Answer {
  const id = `resp_${randomUUID()}`;
  const send = eventStream(response);
  const stream = body.stream === true;
  const output: Json[] = [];
  const begin = () => {
    if (!stream || response.headersSent) return;
    const started = { id, object: 'response', status: 'in_progress' };
    send({ type: 'response.created', response: { ...started, output: [] } });
  };
  const add = (item: Json, deltas: string[]) => {
    const output_index = output.push(item) - 1;
    if (!stream) return;
    begin();
    const added = item.type === 'message' ? { ...item, content: [] } : item;
    send({ type: 'response.output_item.added', output_index, item: added });
    for (const delta of deltas) {
      send({
        type: 'response.output_text.delta',
        item_id: item.id,
        output_index,
        content_index: 0,
        delta
      });
    }
    send({ type: 'response.output_item.done', output_index, item });
  };
  return {
    text: (text) => add(messageItem(text), pieces(text)),
    call: (call) => add(callItem(call), []),
    end(stop, tokens) {
      const finished = { ...ending(stop), id, object: 'response', output };
      const whole = {
        ...finished,
        model: string(body.model),
        usage: usageOf(tokens)
      };
      if (!stream) return sendJson(response, 200, whole);
      begin();
      send({ type: `response.${finished.status}`, response: whole });
      response.end();
    },
    fail: (status, message, headers) =>
      sendJson(response, status, { error: errorOf(status, message) }, headers)
  };
}

function ending(stop: StopReason) {
  if (stop === 'end' || stop === 'tool') return { status: 'completed' };
  const reason = stop === 'refusal' ? 'content_filter' : 'max_output_tokens';
  return { status: 'incomplete', incomplete_details: { reason } };
}

function errorOf(status: number, message: string): object {
  const codes: Record<number, string> = {
    401: 'invalid_api_key',
    404: 'model_not_found',
    429: 'rate_limit_exceeded'
  };
  let type = status < 500 ? 'invalid_request_error' : 'server_error';
  if (/usage limit/i.test(message)) type = 'usage_limit_reached';
  if (/quota/i.test(message)) type = 'insufficient_quota';
  return { type, code: codes[status] ?? null, message, param: null };
}

function messageItem(text: string): Json {
  return {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }]
  };
}

function callItem(call: ToolCall): Json {
  const basics = {
    call_id: `call_${randomUUID()}`,
    name: call.name,
    ...(call.namespace === undefined ? {} : { namespace: call.namespace })
  };
  if (call.freeform !== undefined) {
    return { type: 'custom_tool_call', ...basics, input: call.freeform };
  }
  const arguments_ = JSON.stringify(call.input);
  return { type: 'function_call', ...basics, arguments: arguments_ };
}

function usageOf({ input, output, cached }: Tokens): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output
  };
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return records(content)
    .map((part) => string(part.text))
    .join('');
}

/** What Codex says in the user's name before the user does. */
function isContext(text: string): boolean {
  return /^(<[a-z_]+>|# AGENTS\.md instructions)/.test(text);
}
