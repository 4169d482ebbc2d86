import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  inheritedVariables,
  withAbsolutePath
} from '../../engines/environment.ts';
import { errnoOf } from '../../errors.ts';
import { writeNew } from '../../state/files/atomic-file.ts';
import { tailOf } from '../../state/files/text-file.ts';
import { joinLines } from '../../text.ts';
import { withTimeout } from '../../timing.ts';
import type { Processes } from '../ports.ts';
import type { Outcome, RunRecord } from '../run.ts';
import { createFolder, exitCodeOf, stopRequestOf } from '../run-files.ts';
import type { RunStore } from '../run-store.ts';

interface EndCommandDependencies {
  store: Pick<RunStore, 'directoryOf'>;
  processes: Processes;
  workspace: string;
  /** The program, a path or a name on PATH, and its arguments. */
  command: string[];
  /** Shorter runs are not reported. */
  minSeconds: number;
  /** Then the process tree of the command is ended. */
  limitSeconds?: number;
  redact: (text: string) => string;
  onProblem: (problem: unknown) => void;
}

/** What a program needs to show a notification on the user's desktop. */
const desktopVariables = [
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'DBUS_SESSION_BUS_ADDRESS',
  'TMUX',
  'TMUX_PANE'
];

const usualSeconds = 10;
const longestBytes = 1024 * 1024;
/** Of the stderr of a command that failed. */
const quotedBytes = 500;

/**
 * Runs the user's command when a run of this server has ended. It runs under a
 * supervisor of its own, in the subfolder `on-end` of the agent's folder, which
 * keeps its time limit when this process ends. The creation of that folder is
 * exclusive: the command runs at most once for each end. It never runs if the
 * process that recorded the end is killed before that.
 */
export class EndCommand {
  readonly #with: EndCommandDependencies;
  readonly #running = new Set<Promise<void>>();

  constructor(dependencies: EndCommandDependencies) {
    this.#with = dependencies;
  }

  /** Returns at once and never throws. */
  run(record: RunRecord, outcome: Outcome): void {
    const { minSeconds, onProblem } = this.#with;
    if (outcome.duration_ms < 1000 * minSeconds) return;
    const work = this.#run(record, outcome)
      .catch(onProblem)
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  /** Resolves once the commands have ended, or after `mostMs`. */
  async finished(mostMs: number): Promise<void> {
    const all = Promise.all(this.#running).then(() => undefined);
    await withTimeout(all, mostMs, undefined);
  }

  async #run(record: RunRecord, outcome: Outcome): Promise<void> {
    const { store, processes, workspace, command } = this.#with;
    const { limitSeconds = usualSeconds } = this.#with;
    // The end is published first, to all that wait for it.
    await nextTurn();
    const [name = '', ...args] = command;
    const program = processes.locate(name);
    if (program === undefined) throw failed(`there is no program "${name}"`);
    const folder = join(store.directoryOf(record.agent_id), 'on-end');
    if (!isFirst(folder)) return;
    writeNew(join(folder, 'stdin'), `${this.#textOf(record, outcome)}\n`);
    const wasClaimed = await processes.launch({
      agentId: record.agent_id,
      directory: folder,
      command: program,
      args,
      cwd: workspace,
      environment: withAbsolutePath({
        ...inheritedVariables({ keep: desktopVariables }),
        TROUPE_AGENT_DIR: folder
      }),
      timeoutSeconds: limitSeconds,
      idleTimeoutSeconds: 0,
      outputLimitBytes: longestBytes,
      stopWithUs: false
    }).ended;
    if (!wasClaimed) throw failed('the record takes no files');
    const { place } = processes.self;
    await processes.stop({ directory: folder, place, justEnded: true });
    const problem = problemOf(folder, limitSeconds);
    if (problem === undefined) return;
    const words = joinLines(tailOf(join(folder, 'stderr'), quotedBytes));
    const quoted = words === '' ? '' : `: ${this.#with.redact(words)}`;
    throw failed(`${name} ${problem}${quoted}`);
  }

  #textOf(record: RunRecord, outcome: Outcome): string {
    const { agent_id, engine, task } = record;
    const { status, error_code, duration_ms, cost_usd } = outcome;
    return JSON.stringify({
      agent_id,
      engine,
      task: this.#with.redact(task),
      status,
      error_code,
      seconds: Math.round(duration_ms / 100) / 10,
      cost_usd,
      workspace: this.#with.workspace
    });
  }
}

/** True for the one process that may run the command for an end. */
function isFirst(folder: string): boolean {
  try {
    createFolder(folder);
    return true;
  } catch (error) {
    // The agent's folder was removed, or another process was first.
    if (['EEXIST', 'ENOENT'].includes(errnoOf(error) ?? '')) return false;
    throw error;
  }
}

function problemOf(folder: string, limitSeconds: number): string | undefined {
  const why = stopRequestOf(folder)?.why;
  if (why === 'timeout') return `was stopped after ${limitSeconds} s`;
  if (why === 'output_limit') return 'was stopped: it printed too much';
  const code = exitCodeOf(folder);
  // The agent's folder was removed meanwhile.
  if (code === 0 || !existsSync(folder)) return undefined;
  return code === undefined ? 'was ended' : `exited with code ${code}`;
}

function failed(problem: string): Error {
  return new Error(
    `onEnd.command: ${problem}. The end of the agent is recorded all the same.`
  );
}
