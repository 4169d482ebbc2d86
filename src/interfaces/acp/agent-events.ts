import { setTimeout as delay } from 'node:timers/promises';

type Fields = Record<string, unknown>;

/** A session that repeats its past, from a file, is not silent for so long. */
const quietMs = 500;

/** One use of a tool. */
interface Call {
  id: string;
  tool: string;
  input: Fields;
  /** Whether the input has all that is to be allowed. */
  isShown: boolean;
}

/**
 * Turns the updates of a session into the events that Gemini CLI prints in its
 * own format `stream-json`, so that both are read by the same functions.
 */
export class AgentEvents {
  readonly #print: (event: Fields) => void;
  /** Calls without a result. */
  readonly #open = new Set<string>();
  #hasBegun = false;
  #updatedAt = performance.now();

  constructor(print: (event: Fields) => void) {
    this.#print = print;
  }

  /** Waits until a loaded session has repeated what was said before. */
  async repeated(): Promise<void> {
    this.#updatedAt = performance.now();
    while (performance.now() - this.#updatedAt < quietMs) await delay(50);
  }

  begin(sessionId: string, model: unknown): void {
    this.#hasBegun = true;
    this.#print({ type: 'init', session_id: sessionId, model });
  }

  update(update: Fields): void {
    this.#updatedAt = performance.now();
    if (!this.#hasBegun) return;
    switch (update.sessionUpdate) {
      case 'agent_message_chunk': {
        const { text: content } = Object(update.content);
        if (typeof content !== 'string') return;
        this.#print({
          type: 'message',
          role: 'assistant',
          content,
          delta: true
        });
        return;
      }
      case 'tool_call':
      case 'tool_call_update':
        this.called(update);
        this.#result(update);
    }
  }

  /** Prints a call once, and returns it. */
  called(toolCall: Fields): Call {
    const call = callOf(toolCall);
    const { id, tool, input } = call;
    if (!this.#open.has(id))
      this.#print({
        type: 'tool_use',
        tool_id: id,
        tool_name: tool,
        parameters: input
      });
    this.#open.add(id);
    return call;
  }

  denied(tool_id: string): void {
    const error = { type: 'policy_violation', message: 'denied' };
    this.#print({ type: 'tool_result', tool_id, status: 'error', error });
  }

  #result({ toolCallId, status, content }: Fields): void {
    if (status !== 'completed' && status !== 'failed') return;
    const output = textOf(content);
    this.#print({
      type: 'tool_result',
      tool_id: toolCallId,
      ...(status === 'completed'
        ? { status: 'success', output }
        : { status: 'error', error: { message: output } })
    });
  }

  end({ stopReason, _meta }: Fields): void {
    const { token_count, model_usage } = Object(Object(_meta).quota);
    const models: Fields[] = Array.isArray(model_usage) ? model_usage : [];
    const stats = {
      ...tokensOf(token_count),
      models: Object.fromEntries(
        models.map((one) => [String(one.model), tokensOf(one.token_count)])
      )
    };
    const isAnswer = stopReason === 'end_turn';
    this.#print({
      type: 'result',
      status: isAnswer ? 'success' : 'error',
      ...(isAnswer ? {} : { error: { message: reasons[String(stopReason)] } }),
      stats
    });
  }

  fail(message: string): void {
    this.#print({ type: 'result', status: 'error', error: { message } });
  }
}

/** Why a turn ended without an answer, in the words that are classified. */
const reasons: Record<string, string> = {
  max_tokens: 'The answer exceeded the token limit.',
  max_turn_requests: 'Reached the max session turns.',
  refusal: 'The answer was blocked due to prohibited content.',
  cancelled: 'The turn was canceled.'
};

function tokensOf(value: unknown): Fields {
  const { input_tokens = 0, output_tokens = 0 } = Object(value);
  const total_tokens = Number(input_tokens) + Number(output_tokens);
  return { input_tokens, output_tokens, total_tokens };
}

/**
 * What a call is comes from its kind, which the program sets. Its id, which the
 * model's provider may set, only gives the name of the tool:
 * `write_file__write_file_1795_0`.
 */
function callOf({ toolCallId, kind, title, content }: Fields): Call {
  const id = String(toolCallId);
  const [named = ''] = id.split(/__|-\d/);
  const parts: Fields[] = Array.isArray(content) ? content.map(Object) : [];
  const diff = parts.find(({ type }) => type === 'diff');
  if (diff) {
    const tool = named === 'write_file' ? named : 'replace';
    return { id, tool, input: inputOfEdit(tool, diff), isShown: true };
  }
  const description = textOf(content);
  const more = description === '' ? {} : { description };
  const name = typeof title === 'string' ? title : '';
  if (kind === 'execute') {
    const input = { command: name, ...more };
    return { id, tool: shell, input, isShown: true };
  }
  const isOther = acting.includes(named);
  const tool = isOther ? String(kind) : named;
  return { id, tool, input: { title: name, ...more }, isShown: false };
}

const shell = 'run_shell_command';
/** Tools that only calls of their own kind are. */
const acting = [shell, 'write_file', 'replace'];

function inputOfEdit(tool: string, { path, oldText, newText }: Fields): Fields {
  return tool === 'write_file'
    ? { file_path: path, content: newText }
    : { file_path: path, old_string: oldText, new_string: newText };
}

function textOf(content: unknown): string {
  const parts: Fields[] = Array.isArray(content) ? content.map(Object) : [];
  return parts
    .map(({ content: part }) => Object(part).text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}
