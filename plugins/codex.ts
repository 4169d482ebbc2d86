import type {
  CliEngine,
  Failure,
  FailureCode,
  Reply
} from '../src/plugin/plugin.ts';
import { connect, interactive, sandbox, setting } from './codex-worker.ts';
import { briefedPrompt, briefsByPrompt } from './shared/brief.ts';
import { chosenProvider, namedVariables } from './shared/codex-config.ts';
import { reportingEdits, withCall, withEdits } from './shared/edits.ts';
import {
  count,
  type Fields,
  innerMessage,
  isRecord,
  record,
  shortLine,
  text,
  tokens
} from './shared/json-fields.ts';
import { failedAgain } from './shared/retries.ts';
import { codexTurns } from './turns/codex-turns.ts';

/** OpenAI Codex CLI. Reads AGENTS.md from the working directory by itself. */
export default {
  kind: 'cli',
  name: 'codex',
  label: 'Codex',
  description: 'Code generation and testing.',
  command: 'codex',
  install: 'npm install -g @openai/codex',
  access: { read: 'enforced', write: 'enforced', full: 'enforced' },
  resumes: true,
  timeoutSeconds: 300,
  // Codex retries for 25 s, and without limit if there is no network.
  retrySeconds: 6,
  tools: (access) => (access === 'full' ? 'all' : `sandbox ${access}`),

  args(request) {
    const { baseUrl, cwd, model, sessionId, systemPrompt } = request;
    return [
      'exec',
      '--json',
      // The host decides where agents work, so the directory need not be a
      // repository.
      '--skip-git-repo-check',
      ...sandbox(request),
      ...['-C', cwd],
      ...(model ? ['-m', model] : []),
      ...(baseUrl ? setting('openai_base_url', baseUrl) : []),
      ...(systemPrompt && !briefsByPrompt(request)
        ? setting('developer_instructions', systemPrompt)
        : []),
      // Options after "resume" are rejected, and "--" keeps an id from being
      // taken for one.
      ...(sessionId ? ['resume', '--', sessionId] : []),
      '-'
    ];
  },

  stdin: briefedPrompt,

  env: {
    keep: [
      'CODEX_ACCESS_TOKEN',
      'CODEX_API_KEY',
      'CODEX_CA_CERTIFICATE',
      'CODEX_HOME',
      'CODEX_SQLITE_HOME',
      // Codex itself reads only CODEX_API_KEY. The others are for providers in
      // the user's config.toml, which names the variable with the key.
      'AZURE_OPENAI_*',
      'OPENAI_*',
      'OPENROUTER_API_KEY'
    ],
    named: namedVariables
  },

  read(reply, event) {
    if (!isRecord(event)) return reply;
    switch (event.type) {
      case 'thread.started':
        return started(reply, text(event.thread_id));
      case 'item.started':
      case 'item.completed':
        return readItem(reply, event.type, record(event.item));
      case 'error':
        return readNotice(reply, innerMessage(text(event.message)));
      case 'turn.completed':
        return completed(reply, event.usage);
      case 'turn.failed':
        return failed(reply, text(record(event.error).message));
      default:
        return reply;
    }
  },

  turns: codexTurns,

  failure: codeOfText,

  // While it asks, Codex has no sandbox in which it can only read.
  asks: {
    access: ['write', 'full'],
    edits: [],
    reads: [],
    session: { type: 'thread.started', field: 'thread_id' }
  },
  connect,
  interactive,

  probe: {
    verified: { oldest: '0.153.4', newest: '0.169.0' },
    // All options stand before the word "resume".
    help: [['exec', '--help']],
    login: {
      args: ['login', 'status'],
      // The command ignores a key in the environment.
      read({ exitCode, stdout, stderr }) {
        const said = `${stdout}\n${stderr}`;
        if (/not logged in/i.test(said)) return 'not logged in';
        const loggedIn = exitCode === 0 && /logged in/i.test(said);
        return loggedIn ? 'logged in' : 'unknown';
      }
    },
    provider: chosenProvider,
    loginHint: 'Run "codex login", or set CODEX_API_KEY.'
  }
} satisfies CliEngine;

function started(reply: Reply, sessionId: string): Reply {
  return reportingEdits(sessionId ? { ...reply, sessionId } : reply);
}

/** A notice ends nothing: Codex retries until `turn.failed`. */
function readNotice(reply: Reply, said: string): Reply {
  const shown = withProgress(reply, said);
  if (!/^reconnecting/i.test(said)) return shown;
  const code = codeOfText(said) ?? 'provider_error';
  return failedAgain(shown, { code, message: shortLine(said, 500) });
}

function readItem(before: Reply, moment: string, item: Fields): Reply {
  // An item of this type is only a warning, such as about the connection.
  if (item.type === 'error') return withProgress(before, text(item.message));
  const { retrying: _, ...rest } = before;
  // A patch that failed may have been applied in part.
  const isPartial = item.type === 'file_change' && item.status === 'failed';
  const call = isPartial ? 'failed file_change' : text(item.type);
  const reply = withCall(rest, call, reported);
  switch (item.type) {
    case 'agent_message': {
      const said = item.text;
      // A message after the end of the turn is not the answer.
      if (moment !== 'item.completed' || reply.finished) return reply;
      return typeof said === 'string' ? { ...reply, text: said } : reply;
    }
    case 'command_execution':
      return withProgress(reply, `shell: ${text(item.command)}`);
    case 'file_change': {
      const changes = Array.isArray(item.changes) ? item.changes : [];
      const paths = changes.map((change) => text(record(change).path));
      const edited =
        item.status === 'completed' ? withEdits(reply, paths) : reply;
      return withProgress(edited, `edit: ${paths.filter(Boolean).join(', ')}`);
    }
    case 'mcp_tool_call':
      return withProgress(reply, `${text(item.server)}: ${text(item.tool)}`);
    case 'web_search':
      return withProgress(reply, `search: ${text(item.query)}`);
    default:
      return reply;
  }
}

/** Items that change no files, and the one that lists the changed files. */
const reported = `agent_message file_change reasoning todo_list
  web_search`.split(/\s+/);

function completed(reply: Reply, usage: unknown): Reply {
  // A failure is final.
  if (reply.finished) return reply;
  return { ...reply, finished: true, ...readUsage(usage) };
}

function failed(reply: Reply, message: string): Reply {
  if (reply.finished && reply.failure) return reply;
  const failure: Failure = {
    code: codeOfText(message) ?? 'provider_error',
    message:
      shortLine(innerMessage(message), 500) || 'Codex stopped with an error.'
  };
  return { ...reply, text: '', finished: true, failure };
}

/** Codex counts the tokens of a whole session, resumed turns included. */
function readUsage(value: unknown): Pick<Reply, 'usage' | 'usageScope'> {
  const { input_tokens, output_tokens } = record(value);
  const usage = tokens(count(input_tokens), count(output_tokens));
  return usage ? { usage, usageScope: 'session' } : {};
}

function codeOfText(said: string): FailureCode | undefined {
  return CODES.find(([pattern]) => pattern.test(said))?.[1];
}

/** Messages of the CLI, the most reliable first. */
const CODES: [RegExp, FailureCode][] = [
  [/missing bearer|not logged in|run `?codex login/i, 'not_logged_in'],
  [/missing environment variable|sign in with chatgpt/i, 'not_logged_in'],
  [/no rollout found|required mcp servers failed/i, 'spawn_failed'],
  [/not inside a trusted directory/i, 'permission_denied'],
  [/budget reached/i, 'budget'],
  [/quota|usage limit|billing|out of credits|status:? 402\b/i, 'quota'],
  [
    /context (window|length)|maximum context|input exceeds|status:? 413\b/i,
    'context_too_long'
  ],
  [/model\b.{0,60}(not found|not exist|not supported)/i, 'model_not_found'],
  [/status:? 40[13]\b|invalid api key|incorrect api key/i, 'auth'],
  [/status:? 429\b|rate limit|too many requests/i, 'rate_limited'],
  [/content_filter|flagged|usage polic/i, 'content_refused'],
  [/max_output_tokens/i, 'output_limit'],
  [/high demand|at capacity|status:? 5\d\d\b/i, 'provider_error'],
  [/stream disconnected|error sending request|connection/i, 'network'],
  [/network error|waiting for network|dns error/i, 'network']
];

function withProgress(reply: Reply, said: string): Reply {
  const progress = shortLine(said);
  return progress ? { ...reply, progress } : reply;
}
