import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Offer, offered, type ToolAction, type Turn } from './actions.ts';
import type { Answer, StopReason, Tokens, ToolCall } from './answer.ts';
import { eventStream, pieces, sendJson } from './answer.ts';
import { type Json, record, records, string } from './json.ts';

/** What Claude Code says in the user's name after half an answer. */
const RESUMPTION =
  /^(Your response above was|Output token limit hit|\[Your previous resp)/;

/** Anthropic Messages, as Claude Code and the SDK speak it. */
export function readTurn(body: Json, requestIndex: number): Turn {
  const names = new Map<string, string>();
  let prompt = '';
  let toolResults: string[] = [];
  for (const message of records(body.messages)) {
    const blocks = contentBlocks(message.content);
    for (const block of blocks) {
      if (block.type === 'tool_use') {
        names.set(string(block.id), string(block.name));
      }
    }
    if (message.role !== 'user') continue;
    const said = blocks
      .filter((block) => block.type === 'text')
      .map((block) => withoutReminders(string(block.text)).trim())
      .filter((text) => text !== '' && !RESUMPTION.test(text))
      .join('\n');
    const results = blocks.filter((block) => block.type === 'tool_result');
    if (said !== '' && results.length === 0) {
      prompt = said;
      toolResults = [];
    }
    for (const result of results) {
      // Looking a tool up is no step of the script.
      if (names.get(string(result.tool_use_id)) === 'ToolSearch') continue;
      toolResults.push(resultText(result.content));
    }
  }
  return {
    api: 'messages',
    prompt,
    toolResults,
    model: string(body.model),
    requestIndex,
    ...offered(offersOf(body))
  };
}

/** What Claude Code defers is named in a message until it is looked up. */
function offersOf(body: Json): Offer[] {
  const offers = records(body.tools).map((tool) => ({
    name: string(tool.name),
    description: string(tool.description),
    schema: record(tool.input_schema)
  }));
  const loaded = new Set(offers.map(({ name }) => name));
  const deferred = records(body.messages)
    .flatMap(({ role, content }) =>
      role === 'system' ? resultText(content).split('\n') : []
    )
    .filter((line) => /^mcp__\w+$/.test(line) && !loaded.has(line))
    .map((name) => ({ name, description: '' }));
  return [...offers, ...deferred];
}

/** The call that Claude Code's own tools take for an action. */
export function toolCall(action: ToolAction, turn: Turn): ToolCall {
  switch (action.do) {
    case 'shell':
      return {
        name: 'Bash',
        input: { command: action.command, description: 'Run a command' }
      };
    case 'read':
      return { name: 'Read', input: { file_path: action.path } };
    case 'write':
      return {
        name: 'Write',
        input: { file_path: action.path, content: action.text }
      };
    case 'tool':
      return { name: action.name, input: action.arguments };
    case 'mcp': {
      const wanted = plain(`mcp__${action.server}__${action.tool}`);
      const name = turn.tools.find((tool) => plain(tool) === wanted);
      if (name !== undefined || !turn.tools.includes('ToolSearch')) {
        return { name: name ?? wanted, input: action.arguments };
      }
      return {
        name: 'ToolSearch',
        input: { query: `select:${wanted}`, max_results: 5 }
      };
    }
  }
}

export function answer(response: ServerResponse, body: Json): Answer {
  return body.stream === true
    ? streamed(response, string(body.model))
    : whole(response, string(body.model));
}

function streamed(response: ServerResponse, model: string): Answer {
  const send = eventStream(response);
  let index = 0;
  const begin = () => {
    if (response.headersSent) return;
    const usage = usageOf({ input: 10, output: 1, cached: 0 });
    send({ type: 'message_start', message: message(model, [], null, usage) });
  };
  const block = (content_block: object, deltas: object[]) => {
    begin();
    send({ type: 'content_block_start', index, content_block });
    for (const delta of deltas) {
      send({ type: 'content_block_delta', index, delta });
    }
    send({ type: 'content_block_stop', index });
    index += 1;
  };
  return {
    text: (text) =>
      block(
        { type: 'text', text: '' },
        pieces(text).map((piece) => ({ type: 'text_delta', text: piece }))
      ),
    call: (call) =>
      block({ ...toolUse(call), input: {} }, [
        { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
      ]),
    end(stop, tokens) {
      begin();
      send({
        type: 'message_delta',
        delta: { stop_reason: stopReason(stop), stop_sequence: null },
        usage: usageOf(tokens)
      });
      send({ type: 'message_stop' });
      response.end();
    },
    fail: (status, text, headers) => fail(response, status, text, headers)
  };
}

function whole(response: ServerResponse, model: string): Answer {
  const content: object[] = [];
  return {
    text: (text) => content.push({ type: 'text', text }),
    call: (call) => content.push(toolUse(call)),
    end: (stop, tokens) =>
      sendJson(
        response,
        200,
        message(model, content, stopReason(stop), usageOf(tokens))
      ),
    fail: (status, text, headers) => fail(response, status, text, headers)
  };
}

function fail(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string>
): void {
  const types: Record<number, string> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    529: 'overloaded_error'
  };
  const error = { type: types[status] ?? 'api_error', message: text };
  sendJson(response, status, { type: 'error', error }, headers);
}

function message(
  model: string,
  content: object[],
  stop_reason: string | null,
  usage: object
): object {
  return {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason,
    stop_sequence: null,
    usage
  };
}

function toolUse(call: ToolCall): object {
  const id = `toolu_${randomUUID()}`;
  return { type: 'tool_use', id, name: call.name, input: call.input };
}

function stopReason(stop: StopReason): string {
  if (stop === 'end') return 'end_turn';
  return stop === 'tool' ? 'tool_use' : stop;
}

function usageOf({ input, output, cached }: Tokens): object {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output
  };
}

function contentBlocks(content: unknown): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return records(content);
}

function resultText(content: unknown): string {
  return contentBlocks(content)
    .map((block) => string(record(block).text))
    .join('');
}

function withoutReminders(text: string): string {
  return text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '');
}

function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, '_');
}
