import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Offer, offered, type ToolAction, type Turn } from './actions.ts';
import type { Answer, StopReason, Tokens, ToolCall } from './answer.ts';
import { pieces, sendJson } from './answer.ts';
import { type Json, record, records, string } from './json.ts';

/** What Copilot CLI says in the user's name after half an answer. */
const RESUMPTION = 'Please continue from where you left off.';

/** OpenAI Chat Completions, as Copilot CLI and many SDKs speak it. */
export function readTurn(body: Json, requestIndex: number): Turn {
  let prompt = '';
  let toolResults: string[] = [];
  for (const message of records(body.messages)) {
    const said = contentText(message.content);
    if (message.role === 'user') {
      const own = withoutContext(said);
      if (own === '' || own === RESUMPTION) continue;
      prompt = own;
      toolResults = [];
    } else if (message.role === 'tool') {
      toolResults.push(said);
    }
  }
  return {
    api: 'completions',
    prompt,
    toolResults,
    model: string(body.model),
    requestIndex,
    ...offered(offersOf(body))
  };
}

function offersOf(body: Json): Offer[] {
  return records(body.tools)
    .map((tool) => record(tool.function))
    .map(({ name, description, parameters }) => ({
      name: string(name),
      description: string(description),
      schema: record(parameters)
    }));
}

/** The call that Copilot CLI's own tools take for an action. */
export function toolCall(action: ToolAction): ToolCall {
  switch (action.do) {
    case 'shell':
      return {
        name: 'bash',
        input: { command: action.command, description: 'Run a command' }
      };
    case 'read':
      return { name: 'view', input: { path: action.path } };
    case 'write':
      return {
        name: 'create',
        input: { path: action.path, file_text: action.text }
      };
    case 'tool':
      return { name: action.name, input: action.arguments };
    case 'mcp':
      return {
        name: `${action.server}-${action.tool}`,
        input: action.arguments
      };
  }
}

export function answer(response: ServerResponse, body: Json): Answer {
  const basics = {
    id: `chatcmpl-${randomUUID()}`,
    created: 0,
    model: string(body.model)
  };
  return body.stream === true
    ? streamed(response, basics)
    : whole(response, basics);
}

function streamed(response: ServerResponse, basics: object): Answer {
  const object = 'chat.completion.chunk';
  const send = (chunk: object) => {
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
    }
    const line = JSON.stringify({ ...basics, object, ...chunk });
    response.write(`data: ${line}\n\n`);
  };
  const delta = (fields: object, finish_reason: string | null = null) =>
    send({ choices: [{ index: 0, delta: fields, finish_reason }] });
  let calls = 0;
  return {
    text: (text) =>
      pieces(text).forEach((content) => {
        delta({ role: 'assistant', content });
      }),
    call(call) {
      const tool_calls = [{ index: calls, ...functionCall(call) }];
      calls += 1;
      delta({ role: 'assistant', tool_calls });
    },
    end(stop, tokens) {
      delta({}, finishReason(stop));
      send({ choices: [], usage: usageOf(tokens) });
      response.end('data: [DONE]\n\n');
    },
    fail: (status, text, headers) => fail(response, status, text, headers)
  };
}

function whole(response: ServerResponse, basics: object): Answer {
  const tool_calls: object[] = [];
  let content = '';
  return {
    text: (text) => {
      content += text;
    },
    call: (call) => tool_calls.push(functionCall(call)),
    end(stop, tokens) {
      const message = {
        role: 'assistant',
        content,
        ...(tool_calls.length > 0 ? { tool_calls } : {})
      };
      const finish_reason = finishReason(stop);
      sendJson(response, 200, {
        ...basics,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage: usageOf(tokens)
      });
    },
    fail: (status, text, headers) => fail(response, status, text, headers)
  };
}

function functionCall({ name, input }: ToolCall): object {
  return {
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) }
  };
}

function finishReason(stop: StopReason): string {
  switch (stop) {
    case 'end':
      return 'stop';
    case 'tool':
      return 'tool_calls';
    case 'refusal':
      return 'content_filter';
    case 'max_tokens':
      return 'length';
  }
}

function usageOf({ input, output, cached }: Tokens): object {
  return {
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens: output,
    total_tokens: input + output
  };
}

function fail(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string>
): void {
  const codes: Record<number, string> = {
    401: 'invalid_api_key',
    404: 'model_not_found',
    429: 'rate_limit_exceeded'
  };
  let type = status < 500 ? 'invalid_request_error' : 'server_error';
  if (/quota/i.test(message)) type = 'insufficient_quota';
  const error = { type, code: codes[status] ?? null, message, param: null };
  sendJson(response, status, { error }, headers);
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return records(content)
    .map((part) => string(part.text))
    .join('');
}

/** Copilot CLI puts the time before a prompt and reminders behind it. */
function withoutContext(text: string): string {
  return text
    .replace(
      /<(current_datetime|mode_changed_notice|system_reminder)>[\s\S]*?<\/\1>/g,
      ''
    )
    .trim();
}
