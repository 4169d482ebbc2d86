import type { ServerResponse } from 'node:http';
import { type Offer, offered, type ToolAction, type Turn } from './actions.ts';
import type { Answer, StopReason, Tokens, ToolCall } from './answer.ts';
import { pieces, sendJson } from './answer.ts';
import { type Json, record, records, string } from './json.ts';

/** Gemini's generateContent, as Gemini CLI and the SDK speak it. */
export function readTurn(body: Json, requestIndex: number, path: string): Turn {
  let prompt = '';
  let toolResults: string[] = [];
  for (const content of records(body.contents)) {
    if (content.role === 'model') continue;
    const parts = records(content.parts);
    const results = parts.filter((part) => 'functionResponse' in part);
    // What was not answered before stands in front of it.
    const said = parts
      .map((part) => string(part.text).trim())
      .filter((text) => text !== '' && !isContext(text))
      .at(-1);
    if (said !== undefined && results.length === 0) {
      prompt = said;
      toolResults = [];
    }
    for (const { functionResponse } of results) {
      toolResults.push(JSON.stringify(record(functionResponse).response));
    }
  }
  return {
    api: 'gemini',
    prompt,
    toolResults,
    model: modelOf(path),
    requestIndex,
    ...offered(offersOf(body))
  };
}

function offersOf(body: Json): Offer[] {
  return records(body.tools)
    .flatMap((tool) => records(tool.functionDeclarations))
    .map((tool) => ({
      name: string(tool.name),
      description: string(tool.description),
      schema: record(tool.parametersJsonSchema ?? tool.parameters)
    }));
}

/** The call that Gemini CLI's own tools take for an action. */
export function toolCall(action: ToolAction): ToolCall {
  switch (action.do) {
    case 'shell':
      return { name: 'run_shell_command', input: { command: action.command } };
    case 'read':
      return { name: 'read_file', input: { file_path: action.path } };
    case 'write':
      return {
        name: 'write_file',
        input: { file_path: action.path, content: action.text }
      };
    case 'tool':
      return { name: action.name, input: action.arguments };
    case 'mcp':
      return {
        name: `mcp_${action.server}_${action.tool}`,
        input: action.arguments
      };
  }
}

export function answer(
  response: ServerResponse,
  _body: Json,
  path: string
): Answer {
  const modelVersion = modelOf(path);
  return path.endsWith(':streamGenerateContent')
    ? streamed(response, modelVersion)
    : whole(response, modelVersion);
}

/**
 * Without a model named, Gemini CLI first asks a small one how hard the task
 * is, which is no turn of the conversation. It costs nothing here.
 */
export function routing(body: Json): object | undefined {
  const { responseJsonSchema } = record(body.generationConfig);
  if (!('complexity_score' in record(record(responseJsonSchema).properties)))
    return undefined;
  const score = { complexity_reasoning: 'Scripted.', complexity_score: 1 };
  const parts = [{ text: JSON.stringify(score) }];
  return ending(parts, 'end', { input: 0, output: 0, cached: 0 });
}

function streamed(response: ServerResponse, modelVersion: string): Answer {
  const send = (chunk: object) => {
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
    }
    // Google escapes these two, and its SDK takes them for the end of a line.
    const line = JSON.stringify({ ...chunk, modelVersion })
      .replaceAll('\u2028', '\\u2028')
      .replaceAll('\u2029', '\\u2029');
    response.write(`data: ${line}\n\n`);
  };
  return {
    text: (text) =>
      pieces(text).forEach((piece) => {
        send({ candidates: [candidate([{ text: piece }])] });
      }),
    call: ({ name, input }) =>
      send({
        candidates: [candidate([{ functionCall: { name, args: input } }])]
      }),
    end(stop, tokens) {
      send(ending([], stop, tokens));
      response.end();
    },
    fail: (status, text, headers) => fail(response, status, text, headers)
  };
}

function whole(response: ServerResponse, modelVersion: string): Answer {
  const parts: object[] = [];
  return {
    text: (text) => parts.push({ text }),
    call: ({ name, input }) =>
      parts.push({ functionCall: { name, args: input } }),
    end: (stop, tokens) =>
      sendJson(response, 200, { ...ending(parts, stop, tokens), modelVersion }),
    fail: (status, text, headers) => fail(response, status, text, headers)
  };
}

function candidate(parts: object[]): object {
  return { index: 0, content: { role: 'model', parts } };
}

function ending(parts: object[], stop: StopReason, tokens: Tokens): object {
  const reasons = { refusal: 'SAFETY', max_tokens: 'MAX_TOKENS' };
  const finishReason =
    stop === 'refusal' || stop === 'max_tokens' ? reasons[stop] : 'STOP';
  return {
    candidates: [{ ...candidate(parts), finishReason }],
    usageMetadata: {
      promptTokenCount: tokens.input,
      cachedContentTokenCount: tokens.cached,
      candidatesTokenCount: tokens.output,
      totalTokenCount: tokens.input + tokens.output
    }
  };
}

function fail(
  response: ServerResponse,
  code: number,
  message: string,
  headers: Record<string, string>
): void {
  const statuses: Record<number, string> = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    429: 'RESOURCE_EXHAUSTED',
    503: 'UNAVAILABLE'
  };
  const status = statuses[code] ?? 'INTERNAL';
  sendJson(response, code, { error: { code, message, status } }, headers);
}

/** From `/v1beta/models/MODEL:generateContent`. */
function modelOf(path: string): string {
  return /\/models\/([^/:]+):/.exec(path)?.[1] ?? '';
}

/** What Gemini CLI says in the user's name before the user does. */
function isContext(text: string): boolean {
  return text.startsWith('<session_context>');
}
