import type {
  Access,
  CliEngine,
  Failure,
  FailureCode,
  Reply
} from '../src/plugin/plugin.ts';
import {
  beginning,
  count,
  type Fields,
  record,
  records,
  shortLine,
  text,
  tokens,
  toolCall
} from './shared/json-fields.ts';
import { cursorAgentTurns } from './turns/cursor-agent-turns.ts';

/**
 * Cursor's command line. Reads AGENTS.md, CLAUDE.md and .cursor/rules by
 * itself. Based on its documentation and on reports of its behavior.
 */
export default {
  kind: 'cli',
  name: 'cursor-agent',
  label: 'Cursor',
  description: 'General coding with the models of a Cursor account.',
  command: 'cursor-agent',
  install: 'curl https://cursor.com/install -fsS | bash',
  models: { retired: { 'composer-1': 'composer-2.5' } },
  // We have not seen Cursor enforce any access.
  access: { read: 'asked', write: 'asked', full: 'asked' },
  resumes: true,
  createChat: ['create-chat'],
  // Concurrent runs write to the same files of Cursor.
  oneAtATime: true,
  timeoutSeconds: 300,
  tools: (access) =>
    ({ read: 'mode ask', write: 'what Cursor allows', full: 'all' })[access],

  args: ({ access, model, sessionId }) => [
    '-p',
    ...['--output-format', 'stream-json'],
    // The host decides where agents work. Without this flag, Cursor refuses a
    // directory that it has not seen yet; some versions exit with 0.
    '--trust',
    ...permissions(access),
    ...(model ? ['--model', model] : []),
    // With "=", so that an id can never be taken for a flag.
    ...(sessionId ? [`--resume=${sessionId}`] : [])
  ],

  env: { keep: ['CURSOR_API_KEY', 'CURSOR_AUTH_TOKEN', 'CURSOR_CONFIG_DIR'] },

  read(reply, event) {
    const line = record(event);
    switch (line.type) {
      case 'system':
        return readInit(reply, line);
      case 'assistant':
        return readAssistant(reply, line);
      case 'tool_call':
        return readToolCall(reply, line);
      case 'result':
        return readResult(reply, line);
      default:
        return reply;
    }
  },

  turns: cursorAgentTurns,

  failure: codeOfText,

  probe: {
    version: ['--version'],
    // We have not seen the help output of any version.
    help: [],
    login: {
      args: ['status', '--format', 'json'],
      read({ stdout }) {
        if (/"isAuthenticated"\s*:\s*true/.test(stdout)) return 'logged in';
        // Older versions print plain text.
        if (/^\W*logged in/im.test(stdout)) return 'logged in';
        const isOut = /"isAuthenticated"\s*:\s*false|not logged in/i;
        return isOut.test(stdout) ? 'not logged in' : 'unknown';
      }
    },
    loginHint: 'Run "cursor-agent login", or set CURSOR_API_KEY.'
  }
} satisfies CliEngine;

/**
 * Without "--force" it edits files and refuses commands that the user's
 * settings do not allow. "--sandbox enabled" would confine commands, but
 * does not start on many systems.
 */
function permissions(access: Access): string[] {
  if (access === 'full') return ['--force'];
  return access === 'read' ? ['--mode', 'ask'] : [];
}

function readInit(reply: Reply, line: Fields): Reply {
  return line.subtype === 'init' ? { ...reply, ...beginning(line) } : reply;
}

/** A message before a tool call has a `model_call_id`; it is no answer. */
function readAssistant(reply: Reply, line: Fields): Reply {
  if (reply.finished || line.model_call_id !== undefined) return reply;
  const said = records(record(line.message).content)
    .map((block) => text(block.text))
    .join('');
  return said === '' ? reply : { ...reply, text: said };
}

/**
 * `{"shellToolCall": {"args": {…}, "result": {"success": {…}}}}`, or
 * `{"function": {"name": …}}`; other fields may follow.
 */
function readToolCall(reply: Reply, line: Fields): Reply {
  const kinds = Object.entries(record(line.tool_call));
  const [key, value] =
    kinds.find(([name]) => name.endsWith('ToolCall')) ?? kinds[0] ?? [];
  if (key === undefined) return reply;
  const call = record(value);
  const name = text(call.name) || key.replace(/ToolCall$/, '');
  const outcome = record(call.result);
  const refusal = Object.keys(outcome).find((kind) =>
    /reject|denied/i.test(kind)
  );
  if (!refusal) return { ...reply, progress: toolCall(name, call.args) };
  const input = { ...record(outcome[refusal]), ...record(call.args) };
  const denials = [...(reply.denials ?? []), toolCall(name, input)];
  return { ...reply, denials };
}

function readResult(reply: Reply, line: Fields): Reply {
  // A failure is final.
  if (reply.finished && reply.failure) return reply;
  const sessionId = text(line.session_id);
  const failure = readFailure(line);
  return {
    ...reply,
    finished: true,
    text: failure ? '' : lastOf(text(line.result), reply.text),
    ...(failure && { failure }),
    ...(sessionId && { sessionId }),
    ...readUsage(line.usage)
  };
}

/**
 * The result is the concatenation of all messages. The last message alone is
 * the answer if it is known and ends the result.
 */
function lastOf(result: string, message: string): string {
  const isEnd = message.trim() !== '' && result.trim().endsWith(message.trim());
  return isEnd ? message : result;
}

/** A result is a success only if none of its fields reports a failure. */
function readFailure(line: Fields): Failure | undefined {
  const said = text(line.result) || text(line.error);
  const isError = line.is_error !== false && line.is_error !== undefined;
  if (isError || line.subtype !== 'success')
    return {
      code: codeOfText(said) ?? 'provider_error',
      message: shortLine(said, 500) || 'Cursor stopped with an error.'
    };
  if (typeof line.result === 'string') return undefined;
  return { code: 'bad_output', message: 'Cursor ended without an answer.' };
}

/** `inputTokens` excludes tokens read from or written to the cache. */
function readUsage(value: unknown): Pick<Reply, 'usage' | 'cachedTokens'> {
  const counts = record(value);
  const cachedTokens = count(counts.cacheReadTokens);
  const prompt =
    count(counts.inputTokens) + cachedTokens + count(counts.cacheWriteTokens);
  const usage = tokens(prompt, count(counts.outputTokens));
  return usage ? { usage, cachedTokens } : {};
}

/** Ignores lines of JSON, because Cursor may repeat its events on stderr. */
function codeOfText(said: string): FailureCode | undefined {
  const words = said.replace(/^\s*\{.*$/gm, '');
  return CODES.find(([pattern]) => pattern.test(words))?.[1];
}

/** Messages of the CLI, the most reliable first. */
const CODES: [RegExp, FailureCode][] = [
  [/workspace trust required|pass --trust/i, 'permission_denied'],
  [/authentication required|not logged in|agent login/i, 'not_logged_in'],
  [/api key is invalid|invalid api key/i, 'auth'],
  [/\[unauthenticated\]/i, 'auth'],
  [/cannot use this model|named models unavailable/i, 'model_not_found'],
  [/free plans can only use|model unavailable/i, 'model_not_found'],
  [/usage limit|requests? limit|spend limit|billing/i, 'quota'],
  [/\[resource_exhausted\]/i, 'quota'],
  [/sandbox mode is enabled but not available/i, 'spawn_failed'],
  [/unknown option|option .{0,40} is invalid/i, 'spawn_failed'],
  [/\[(unavailable|deadline_exceeded)\]|connection stalled/i, 'network'],
  [/\[(internal|unknown|aborted)\]/i, 'provider_error']
];
