import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../judges/until.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';

/** How a stand-in was called, and what it put out in the end. */
export interface AgentCall {
  name: string;
  pid: number;
  argv: string[];
  cwd: string;
  stdin: string;
  env: Record<string, string>;
  /** Its place among all beginnings and ends. */
  began: number;
  /** Undefined while it runs, and when it was killed. */
  ended?: number;
  stdout?: string;
  stderr?: string;
}

/** `claude`, `codex` and `cursor-agent` on PATH that record their calls. */
export interface SquadAgents {
  /** In the order they began. */
  calls: () => AgentCall[];
  /** The call whose prompt has this text, as soon as it has begun. */
  call: (text: string) => Promise<AgentCall>;
  /** Releases the agents that wait at this gate. */
  open: (gate: string) => void;
  /** What `cursor-agent create-chat` does. */
  chats: (asks: string) => void;
}

/**
 * Programs that put out what the real ones do, as far as a squad needs it.
 * Their prompt says what happens:
 *
 * [[say TEXT]] is the answer, else "done"; [[err TEXT]] on stderr; [[chars N]]
 * an answer of so many characters; [[exit N]]; [[gate NAME]] waits until that
 * is opened; [[meet N]] waits until so many have met; [[hang]] never ends.
 */
export function squadAgents(workspace: TempWorkspace): SquadAgents {
  const { bin } = workspace;
  for (const name of ['claude', 'codex', 'cursor-agent'])
    workspace.program(name, program);
  const calls = () => callsIn(join(bin, 'calls.log'));
  return {
    calls,
    call: (text) =>
      until(`a call with "${text}"`, () =>
        calls().find(({ stdin }) => stdin.includes(text))
      ),
    open: (gate) => writeFileSync(join(bin, `gate-${gate}`), ''),
    chats: (asks) => writeFileSync(join(bin, 'create-chat'), asks)
  };
}

/** Each line is one write, so the order of lines is reliable. */
function callsIn(log: string): AgentCall[] {
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : [];
  const calls = new Map<number, AgentCall>();
  // The last line may be on its way.
  for (const [place, line] of lines.slice(0, -1).entries()) {
    const { what, ...facts } = JSON.parse(line);
    const before = calls.get(facts.pid);
    if (what === 'began') calls.set(facts.pid, { ...facts, began: place });
    else if (before) Object.assign(before, facts, { ended: place });
  }
  return [...calls.values()];
}

const program = `
const fs = require('node:fs');
const { basename, join } = require('node:path');
const { randomUUID } = require('node:crypto');
const { argv: [, , ...argv], env, pid } = process;
const own = (name) => join(__dirname, name);
const name = basename(__filename);
const makesChat = argv[0] === 'create-chat';
const stdin = makesChat ? '' : fs.readFileSync(0, 'utf8');
const note = (what, facts) =>
  fs.appendFileSync(own('calls.log'), JSON.stringify({ what, pid, ...facts }) + '\\n');
note('began', { name, argv, cwd: process.cwd(), stdin, env });

const chats = own('create-chat');
const words = !makesChat ? stdin : fs.existsSync(chats) ? fs.readFileSync(chats, 'utf8') : '';
const asked = (what) => new RegExp('\\\\[\\\\[' + what + '(?: ([^\\\\]]*))?\\\\]\\\\]').exec(words)?.[1];
if (asked('meet')) fs.writeFileSync(own('met-' + pid), '');
const met = () => fs.readdirSync(__dirname).filter((file) => file.startsWith('met-')).length;
const waits = () =>
  words.includes('[[hang]]') ||
  (asked('gate') && !fs.existsSync(own('gate-' + asked('gate')))) ||
  (asked('meet') && met() < Number(asked('meet')));
const timer = setInterval(() => { if (!waits()) { clearInterval(timer); end(); } }, 10);

function end() {
  const chars = Number(asked('chars') ?? 0);
  const said = chars > 0 ? 'x'.repeat(chars) : asked('say') ?? (makesChat ? randomUUID() : 'done');
  const stdout = makesChat ? said + '\\n' : events(said).map((event) => JSON.stringify(event) + '\\n').join('');
  const stderr = asked('err') === undefined ? '' : asked('err') + '\\n';
  fs.writeFileSync(1, stdout);
  fs.writeFileSync(2, stderr);
  note('ended', { stdout, stderr });
  process.exitCode = Number(asked('exit') ?? 0);
}

function events(text) {
  const resumed = argv.find((word) => word.startsWith('--resume='))?.slice(9);
  if (name === 'codex') {
    const thread_id = argv[argv.indexOf('resume') + 2] && argv.includes('resume') ? argv[argv.indexOf('resume') + 2] : randomUUID();
    return [
      { type: 'thread.started', thread_id },
      { type: 'item.completed', item: { type: 'agent_message', text } },
      { type: 'turn.completed', usage: { input_tokens: 2, cached_input_tokens: 0, output_tokens: 1 } }
    ];
  }
  const session_id = resumed ?? randomUUID();
  return [
    { type: 'system', subtype: 'init', session_id, model: 'stand-in' },
    { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text }] }, session_id },
    { type: 'result', subtype: 'success', is_error: false, result: text, session_id }
  ];
}
`;
