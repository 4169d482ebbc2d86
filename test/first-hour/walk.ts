import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  processEnvironments,
  processTable
} from '../../src/adapters/child-process/process-table.ts';
import { allClis, userEnvironment } from '../engines/clis.ts';
import { until } from '../kit/judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { tmuxStage } from '../kit/workspaces/tmux-stage.ts';
import type { Action, Turn } from '../model-server/actions.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import type { TerminalClient } from './clients.ts';
import { Screen } from './screen.ts';

/** One thing that was done, and what it led to. */
export interface Step {
  title: string;
  /** Until what had to show showed. */
  seconds: number;
  /** Whether the user had to read and answer. */
  asks: boolean;
  screen: string;
}

export interface Walk {
  engine: string;
  client: string;
  steps: Step[];
  /** The entry that the delegation left. */
  entry: string;
}

const task = 'Which job in notes.md comes first? Answer in one sentence.';
const opinion = 'The parser comes first: the other two jobs need it.';
const answer = 'It says that the parser comes first, as the other two need it.';

const size = [100, 40] as const;

/** A project of a user of a client, with a model and a terminal. */
export interface Outing {
  workspace: TempWorkspace;
  model: ModelServer;
  screen: Screen;
  env: Record<string, string>;
}

/** A project without troupe, and a logged-in user; taken down with the test. */
export async function setOut(
  client: TerminalClient,
  troupe: string,
  script: (turn: Turn) => Action[] | undefined
): Promise<Outing> {
  const workspace = createTempWorkspace();
  const model = await startModelServer({ script });
  const stage = tmuxStage(...size);
  onTestFinished(async () => {
    stage.stop();
    await endAllOf(workspace);
    await model.close();
    workspace.remove();
  });
  prepare(workspace, client, model.url);
  const env = {
    HOME: workspace.home,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    COLORTERM: 'truecolor',
    ...userEnvironment(...allClis),
    ...client.env(model.url)
  };
  // The address of our model stands in its configuration.
  await output([process.execPath, troupe, 'trust', '--yes'], workspace, env);
  return { workspace, model, screen: new Screen(stage), env };
}

/** What `troupe init` says. */
export function init(
  { workspace, env }: Outing,
  troupe: string,
  args: string[]
): Promise<string> {
  // Both streams as they come, as in a terminal.
  const shell = ['sh', '-c', '"$@" 2>&1', 'sh'];
  const words = [process.execPath, troupe, 'init', ...args];
  return output([...shell, ...words], workspace, env);
}

/** Starts a client and answers what it asks before one can type. */
export async function enter(
  { screen, workspace, env }: Outing,
  client: TerminalClient,
  note: (title: string, lines: string[]) => void = () => undefined
): Promise<void> {
  screen.start(client.command, workspace.path, env);
  let at = `start ${client.command[0]}`;
  for (const question of client.questions) {
    note(at, await screen.shows(question.shows));
    at = `answer ${question.title}`;
    await screen.answer(question);
  }
  note(at, await screen.shows(client.ready));
}

/** From a project without troupe to the first answer of an agent. */
export async function walk(
  client: TerminalClient,
  troupe: string
): Promise<Walk> {
  const outing = await setOut(client, troupe, scriptFor(client));
  const { workspace, model, screen } = outing;
  const steps: Step[] = [];
  const places: [string, string][] = [
    [dirname(dirname(troupe)), '/path/to/troupe'],
    [workspace.path, '/project'],
    [model.url, 'http://model']
  ];
  let since = performance.now();
  const note = (title: string, lines: string[]) => {
    const seconds = (performance.now() - since) / 1000;
    const asks = title.startsWith('answer ');
    steps.push({ title, seconds, asks, screen: anywhere(lines, places) });
    since = performance.now();
  };
  const args = [client.cli.name, '--yes'];
  const said = await init(outing, troupe, args);
  note(`troupe init ${args.join(' ')}`, said.trimEnd().split('\n'));
  await enter(outing, client, note);
  await screen.say(sentenceFor(client));
  let at = 'say it';
  for (const question of client.approvals) {
    note(at, await screen.shows(question.shows));
    at = `answer ${question.title}`;
    await screen.answer(question);
  }
  note(at, await screen.shows(/the parser comes first, as/));
  const entry = await until('the entry', () => entryIn(workspace));
  note('the entry in logs/IAC.md', entry.split('\n'));
  return { engine: client.cli.name, client: client.title, steps, entry };
}

/** What a screen shows, with the names that places have everywhere. */
function anywhere(lines: string[], places: [string, string][]): string {
  return places
    .reduce(
      (text, [here, there]) => text.replaceAll(here, there),
      lines.join('\n')
    )
    .replace(/[^\s(]*troupe-(?:run|test)-[^\s)]*/g, '/project');
}

function sentenceFor({ cli }: TerminalClient): string {
  return `Ask ${cli.program}, read-only, which job in notes.md comes first.`;
}

/** The client's model delegates; the agent's reads and answers. */
function scriptFor(client: TerminalClient) {
  return (turn: Turn) => {
    if (turn.prompt.includes(sentenceFor(client))) {
      const id = /agent_id\W+([0-9a-f]{8})/.exec(turn.toolResults[0] ?? '');
      const call = (tool: string, args: object) =>
        ({ do: 'mcp', server: 'agents', tool, arguments: args }) as const;
      return [
        call(client.cli.tool, { prompt: task, access: 'read' }),
        call('wait_for_agents', { agent_ids: [id?.[1] ?? ''] }),
        { do: 'say', text: answer } as const
      ];
    }
    return turn.prompt.includes(task)
      ? [
          { do: 'read', path: 'notes.md' } as const,
          { do: 'say', text: opinion } as const
        ]
      : undefined;
  };
}

/** A project, and a logged-in user. */
function prepare(
  workspace: TempWorkspace,
  client: TerminalClient,
  url: string
): void {
  workspace.write(
    'notes.md',
    '1. The parser. 2. The printer. 3. The linter.\n'
  );
  client.furnish(workspace, url);
  // Only because the model is ours.
  const settings = { baseUrl: url, env: client.engineEnv };
  const engines = { [client.cli.name]: settings };
  workspace.write('troupe.config.json', JSON.stringify({ engines }, null, 2));
}

/** Clients leave helpers of their own, which stay for the next start. */
async function endAllOf({ home }: TempWorkspace): Promise<void> {
  await until('the end of all processes', () => {
    const pids = processTable()
      .filter((entry) => !entry.zombie && entry.pid !== process.pid)
      .map((entry) => entry.pid);
    const left = [...processEnvironments(pids)]
      .filter(([, text]) => text.includes(`HOME=${home}`))
      .map(([pid]) => pid);
    for (const pid of left) endNow(pid);
    return left.length === 0 || undefined;
  });
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** What a command says. */
function output(
  [program = '', ...args]: string[],
  { path }: TempWorkspace,
  env: Record<string, string>
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: path, env }, (error, stdout) => {
      if (error) reject(new Error(`${error.message}\n${stdout}`));
      else resolve(stdout);
    });
  });
}

/** The first entry of IAC.md, once it is that of a task that is done. */
function entryIn({ path }: TempWorkspace): string | undefined {
  const text = readFileSync(join(path, 'logs', 'IAC.md'), 'utf8');
  const [, entry = ''] = /^(### [\s\S]*?)\n---$/m.exec(text) ?? [];
  return entry.includes(opinion) ? entry.trim() : undefined;
}
