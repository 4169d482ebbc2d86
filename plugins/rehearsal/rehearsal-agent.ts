/**
 * The program of the rehearsal engine. It reads a script on stdin, one command
 * per line, performs it, and prints JSON lines like a real agent. As a worker,
 * it gets its scripts from a server instead.
 */
import {
  appendFileSync,
  existsSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { callBridge } from './rehearsal-asks.ts';
import { Script, ScriptFailure } from './rehearsal-script.ts';

const [access = 'read', , resumed] = process.argv.slice(2);
const session = resumed ?? process.env.TROUPE_AGENT_ID ?? 'rehearsal';
const worker = process.env.TROUPE_REHEARSAL_WORKER;
const bridge = process.env.TROUPE_REHEARSAL_BRIDGE;
const script = new Script({
  access,
  report,
  print: (text) => writeFileSync(1, text),
  ...(bridge ? { ask: (tool, args) => callBridge(bridge, tool, args) } : {})
});

async function perform(): Promise<void> {
  const prompt = readFileSync(0, 'utf8');
  const left = leftOff();
  if (left === undefined) remember(prompt);
  report({ type: 'session', text: session });
  const { lines, done, said } = left ?? {
    ...{ lines: prompt.split('\n'), done: 0, said: script.said }
  };
  if (left) script.said.push(...said);
  for (const [index, line] of lines.entries()) {
    if (index < done) continue;
    noteBefore({ lines, done: index, said: script.said });
    await script.perform(line);
  }
  const text = script.answer();
  const words = [lines.join('\n'), text].map(
    (part) => part.split(/\s+/).length
  );
  report({ type: 'done', text, words });
}

/** How far the script of this run has come. */
interface Position {
  lines: string[];
  /** Lines before the one that is performed now. */
  done: number;
  said: string[];
}

/** Where the script goes on, if this run was parked. */
function leftOff(): Position | undefined {
  const path = positionFile();
  if (!resumed || !path || !existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Only a run that asks is ever parked. */
function noteBefore(position: Position): void {
  const path = bridge && positionFile();
  if (path) writeFileSync(path, JSON.stringify(position), { mode: 0o600 });
}

function positionFile(): string | undefined {
  const directory = process.env.TROUPE_AGENT_DIR;
  return directory && join(directory, 'position.json');
}

function report(event: Record<string, unknown>): void {
  writeFileSync(1, `${JSON.stringify(event)}\n`);
}

function fail(error: unknown): never {
  if (!(error instanceof ScriptFailure)) throw error;
  report({ type: 'failed', code: error.code, text: error.message });
  process.exit(1);
}

/** The turns of a session are stored in the folder of its first agent. */
function remember(prompt: string): void {
  const directory = process.env.TROUPE_AGENT_DIR;
  if (!directory) return;
  const turns = join(dirname(directory), session, 'turns.jsonl');
  if (resumed) {
    if (!existsSync(turns))
      throw new ScriptFailure(
        'spawn_failed',
        `There is no session "${session}" in this workspace.`
      );
    const count = readFileSync(turns, 'utf8').trim().split('\n').length;
    script.said.push(`(turn ${count + 1} of this session)`);
  }
  const turn = JSON.stringify(prompt.slice(0, 2000));
  appendFileSync(turns, `${turn}\n`, { mode: 0o600 });
}

if (worker) void import(worker);
else perform().catch(fail);
