/**
 * The program behind the rehearsal engine. Reads a script on stdin, one
 * command a line, does it, and reports in JSON lines like a real agent.
 */
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const [access = 'read', , resumed] = process.argv.slice(2);
const prompt = readFileSync(0, 'utf8');
const said: string[] = [];

const commands: Record<string, (rest: string) => unknown> = {
  say: (text) => said.push(text),
  sleep: (seconds) => delay(1000 * Number(seconds) || 0),
  write: (rest) => write(rest),
  progress: (text) => report({ type: 'progress', text }),
  print: (megabytes) => print(Number(megabytes) || 1),
  fail: (rest) => fail(rest),
  exit: (code) => process.exit(Number(code) || 0),
  crash: () => process.kill(process.pid, 'SIGKILL'),
  hang: () => delay(2 ** 31 - 1),
  'ignore-term': () => process.on('SIGTERM', () => undefined),
  'leave-child': () => leaveChild(false),
  'leave-daemon': () => leaveChild(true)
};

const session = resumed ?? process.env.TROUPE_AGENT_ID ?? 'rehearsal';

async function perform(): Promise<void> {
  remember();
  report({ type: 'session', text: session });
  for (const line of prompt.split('\n')) {
    const [, word = '', rest = ''] =
      /^\s*([a-z-]+)(?:\s+(.*?))?\s*$/.exec(line) ?? [];
    const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
    if (command) {
      report({ type: 'progress', text: line.trim().slice(0, 120) });
      await command(rest);
    } else if (line.trim() !== '') said.push(`(would work on: ${line.trim()})`);
  }
  finish();
}

function finish(): void {
  const text = [
    'Rehearsal, no model was asked.',
    ...(said.length > 0 ? said : ['(nothing to do)'])
  ].join('\n');
  const words = [prompt, text].map((part) => part.split(/\s+/).length);
  report({ type: 'done', text, words });
}

function report(event: Record<string, unknown>): void {
  writeFileSync(1, `${JSON.stringify(event)}\n`);
}

function write(rest: string): void {
  const [path = '', ...words] = rest.split(' ');
  if (access === 'read') {
    said.push(`(refused to write ${path}: access is read)`);
    return;
  }
  const target = resolve(path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, `${words.join(' ')}\n`);
  said.push(`wrote ${path}`);
}

/** Plain text, so that a reader of events has to pass over it. */
function print(megabytes: number): void {
  const line = `${'x'.repeat(1023)}\n`.repeat(1024);
  for (let written = 0; written < megabytes; written += 1)
    writeFileSync(1, line);
}

function fail(rest: string): never {
  const [code = '', ...words] = rest.split(' ');
  report({ type: 'failed', code, text: words.join(' ') || 'told to fail' });
  process.exit(1);
}

function leaveChild(daemon: boolean): void {
  const script = "process.on('SIGTERM',()=>{});setInterval(()=>{},1e6)";
  spawn(process.execPath, ['-e', script], {
    detached: daemon,
    stdio: 'ignore'
  }).unref();
}

/** The earlier turns of a session stand beside its first agent's files. */
function remember(): void {
  const directory = process.env.TROUPE_AGENT_DIR;
  if (!directory) return;
  const turns = join(dirname(directory), session, 'turns.jsonl');
  if (resumed) {
    if (!existsSync(turns))
      fail(`spawn_failed There is no session "${session}" in this workspace.`);
    const count = readFileSync(turns, 'utf8').trim().split('\n').length;
    said.push(`(turn ${count + 1} of this session)`);
  }
  const turn = JSON.stringify(prompt.slice(0, 2000));
  appendFileSync(turns, `${turn}\n`, { mode: 0o600 });
}

void perform();
