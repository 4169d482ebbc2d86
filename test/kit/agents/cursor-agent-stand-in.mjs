/**
 * Stands in for Cursor's command line, which cannot be installed in a test:
 * its flags, streams, messages and exit codes as they are documented and
 * reported, written without a look at our plugin.
 *
 * It asks no model: the last line of the prompt that it knows says what
 * happens. Besides the cases below, "say: X" is answered with X.
 */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readFlags } from './cursor-agent-flags.mjs';

const models = ['auto', 'composer-2.5', 'gpt-5.4-mini-low'];
const chats = join(homedir(), '.cursor', 'chats');
const trustText = `⚠ Workspace Trust Required

  Cursor Agent can execute code and access files in this directory.

  To proceed, you can either:
    • Run 'agent' interactively to decide
    • Pass --trust, --yolo, or -f if you trust this directory
`;

const loggedOut =
  "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable.";

const { values, positionals } = flags();
const [command] = positionals;
if (values.version) leave('2026.09.28-64d2043\n');
if (command === 'status') leave(`${status()}\n`);
if (command === 'create-chat') leave(`${createChat()}\n`);
if (command !== undefined) fail(`error: unknown command '${command}'`);
if (!values.print) fail('error: this stand-in only knows --print');

const prompt = fs.readFileSync(0, 'utf8').trim();
note({
  argv: process.argv.slice(2),
  cwd: process.cwd(),
  env: process.env,
  prompt
});
const lines = prompt.split('\n');
const asks = (line) => /^(say|recall|shell|edit)(: |$)/.test(line);
const script = lines.findLast(asks) ?? lines.at(-1) ?? '';
const forced = values.force || values.yolo;
if (!loggedIn()) fail(loggedOut);
if (process.env.CURSOR_API_KEY === 'revoked')
  fail(
    '⚠ Warning: The provided API key is invalid.\nThe API key was loaded from the CURSOR_API_KEY environment variable.'
  );
// Some builds refuse with exit code 0, and so does this one.
if (!(values.trust || forced) || script === 'untrusted') leave(trustText);
if (prompt === '') fail('Error: No prompt provided for print mode');
if (values.sandbox === 'enabled' && script === 'no sandbox')
  fail(
    'Error: Sandbox mode is enabled but not available on this system. Run agent sandbox disable to switch to allowlist mode.'
  );
const model = values.model ?? 'auto';
if (model === 'gpt-5.5-high')
  leave(
    'ActionRequiredError: Named models unavailable Free plans can only use Auto. Switch to Auto or upgrade plans to continue.\n',
    1
  );
if (!models.includes(model))
  fail(
    `Cannot use this model: ${model}. Available models: ${models.join(', ')}`
  );

const session_id = values.resume ?? randomUUID();
const remembered = recall();
run();

function run() {
  const [kind = '', argument = ''] = script.split(/: (.*)/s);
  emit({
    type: 'system',
    subtype: 'init',
    apiKeySource: process.env.CURSOR_API_KEY ? 'env' : 'login',
    cwd: process.cwd(),
    model: model === 'auto' ? 'Auto' : 'Composer 2.5',
    permissionMode: 'default'
  });
  emit({ type: 'user', message: message('user', prompt) });
  emit({ type: 'thinking', subtype: 'delta', text: 'Hm', timestamp_ms: 1 });
  emit({ type: 'thinking', subtype: 'completed', timestamp_ms: 2 });
  remember();
  switch (kind) {
    case 'say':
      assistant(argument);
      return result(argument);
    case 'recall':
      assistant(remembered.join(' | '));
      return result(remembered.join(' | '));
    case 'shell':
      return withTool('shellToolCall', { command: argument }, forced);
    case 'edit':
      return withTool('editToolCall', { path: argument }, !values.mode);
    case 'crash':
      assistant('Half an ans');
      process.stderr.write('Error: S: [internal] Error\n');
      return process.exit(1);
    case 'vanish':
      return assistant('Half an ans');
    case 'out of quota':
      return fail("Error: S: [resource_exhausted] You've hit your usage limit");
    case 'error result':
      result('Request timed out', { is_error: true });
      return process.exit(1);
    case 'polite error result':
      return result('Request timed out', { is_error: true });
    case 'linger':
      assistant(argument);
      result(argument);
      return setInterval(() => undefined, 60_000);
    case 'mirror':
      assistant(argument);
      result(argument);
      return process.stderr.write(`${JSON.stringify({ type: 'result' })}\n`);
    default:
      return fail(`Error: the stand-in does not know "${script}"`);
  }
}

/** Narration, a call, what became of it, and the last message. */
function withTool(name, args, allowed) {
  const call_id = 'call_1a2b\nfc_3c4d';
  const model_call_id = randomUUID();
  const call = { type: 'tool_call', call_id, model_call_id };
  assistant('Let me do it.', { model_call_id, timestamp_ms: 3 });
  emit({ ...call, subtype: 'started', tool_call: { [name]: { args } } });
  const outcome = allowed
    ? { success: { ...args, exitCode: 0, stdout: 'done', stderr: '' } }
    : { rejected: { ...args, workingDirectory: '', reason: '' } };
  const tool_call = { [name]: { args, result: outcome } };
  emit({ ...call, subtype: 'completed', tool_call });
  const last = allowed ? 'It is done.' : 'It was refused.';
  assistant(last);
  result(`Let me do it.${last}`);
}

function assistant(text, more = {}) {
  emit({ type: 'assistant', message: message('assistant', text), ...more });
}

function result(text, more = {}) {
  emit({
    type: 'result',
    subtype: 'success',
    duration_ms: 20,
    duration_api_ms: 20,
    is_error: false,
    result: text,
    request_id: randomUUID(),
    usage: {
      inputTokens: 130,
      outputTokens: 17,
      cacheReadTokens: 17408,
      cacheWriteTokens: 2
    },
    ...more
  });
  if (values['output-format'] === 'text') fs.writeSync(1, `${text}\n`);
}

function message(role, text) {
  return { role, content: [{ type: 'text', text }] };
}

function emit(event) {
  if (values['output-format'] === 'text') return;
  fs.writeSync(1, `${JSON.stringify({ ...event, session_id })}\n`);
}

function flags() {
  try {
    return readFlags();
  } catch (error) {
    return fail(`error: ${error.message}`);
  }
}

function status() {
  const isAuthenticated = loggedIn();
  const status = isAuthenticated ? 'authenticated' : 'unauthenticated';
  if (values.format !== 'json')
    return isAuthenticated ? '✓ Logged in as a@b.example' : 'Not logged in';
  return JSON.stringify({ status, isAuthenticated });
}

function createChat() {
  if (!loggedIn()) fail(loggedOut);
  const id = randomUUID();
  fs.mkdirSync(chats, { recursive: true });
  fs.writeFileSync(join(chats, id), '[]');
  return id;
}

function loggedIn() {
  const login = join(homedir(), '.config', 'cursor', 'auth.json');
  return Boolean(process.env.CURSOR_API_KEY) || fs.existsSync(login);
}

function recall() {
  if (!values.resume) return [];
  const file = join(chats, session_id);
  if (!fs.existsSync(file)) fail(`Error: no chat with the id ${session_id}`);
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

function remember() {
  fs.mkdirSync(chats, { recursive: true });
  const turns = JSON.stringify([...remembered, prompt]);
  fs.writeFileSync(join(chats, session_id), turns);
}

/** How it was called, for the test to read. */
function note(seen) {
  fs.writeFileSync(`${process.argv[1]}.seen`, JSON.stringify(seen));
}

function leave(text, exitCode = 0) {
  fs.writeSync(1, text);
  process.exit(exitCode);
}

function fail(text) {
  fs.writeSync(2, `${text}\n`);
  process.exit(1);
}
