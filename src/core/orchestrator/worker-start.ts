import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import type { Processes } from '../runs/ports.ts';
import type { ProcessIdentity } from '../runs/run.ts';
import {
  claimNeverStarts,
  claimOf,
  emptyExitFile,
  exitCodeOf,
  setStarting
} from '../runs/run-files.ts';
import { type LiveState, liveStateOf } from '../runs/run-state.ts';
import {
  createOnce,
  readIfThere,
  replaceFile,
  writeNew
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { parseIdentity } from '../state/process-identity.ts';
import { readEnds } from '../state/text-file.ts';
import type { WorkerMeta } from './records.ts';
import type { PaneRef, PaneState, Terminal } from './terminal.ts';
import { typeInto } from './type-into.ts';
import type { WorkerFolder } from './worker-folder.ts';
import {
  connectionName,
  type PlannedLaunch,
  type WorkerLaunch
} from './worker-launch.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

export interface StartParts {
  processes: Processes;
  terminal: Terminal;
  store: WorkerStore;
  launch: WorkerLaunch;
  onProblem: (problem: unknown) => void;
}

/** Folders of a worker's last programs. */
const keptStarts = 10;

/** Starts the programs of workers, sees whether they live, and ends them. */
export class WorkerStart {
  readonly #with: StartParts;

  constructor(parts: StartParts) {
    this.#with = parts;
  }

  /** Says that a program is about to be started by this server. */
  announce(folder: WorkerFolder, generation: number): void {
    const directory = folder.start(generation);
    const owner = JSON.stringify(this.#with.processes.self);
    ensureDirectory(directory);
    // Of the older ones nobody asks any more.
    const old = folder.start(generation - keptStarts);
    rmSync(old, { recursive: true, force: true });
    replaceFile(join(directory, 'owner'), owner);
    setStarting(directory, true);
  }

  /**
   * Starts a worker's program. It goes on without us.
   * @throws HostError `terminal_failed`, `window_full`, `no_terminal`; Error
   */
  async start(worker: Worker, generation: number): Promise<void> {
    const { meta, folder } = worker;
    const directory = folder.start(generation);
    try {
      const planned = this.#with.launch.planFor(worker, directory);
      writeNew(join(directory, 'exit'), emptyExitFile);
      if (meta.backend === 'tmux') await this.#inPane(worker, planned);
      else
        this.#with.processes
          .launch(planned.request)
          .ended.catch(() => claimNeverStarts(directory));
    } catch (error) {
      giveReason(directory, `it could not be started: ${messageOf(error)}`);
      claimNeverStarts(directory);
      throw error;
    }
  }

  stateOf({ folder }: Worker, generation: number): LiveState {
    const directory = folder.start(generation);
    const owner = ownerIn(directory);
    return owner
      ? liveStateOf({ owner }, directory, this.#with.processes)
      : 'lost';
  }

  /** What runs in its pane ended before a supervisor was there to tell. */
  async isStillborn({ meta, folder }: Worker, generation: number) {
    const { place } = this.#with.processes.self;
    if (!meta.pane || claimOf(folder.start(generation), place)) return false;
    const panes = await this.#panesOf(meta);
    return panes.every(({ isDead }) => isDead);
  }

  /** It was to end with the server that made it, and that is gone. */
  isDisconnected({ meta }: Worker): boolean {
    const terms = this.#with.store.termsOf(meta.agent_id);
    return (
      terms?.onDisconnect === 'stop' &&
      this.#with.processes.liveness(terms.maker) === 'dead'
    );
  }

  /** Why we ended its program, or why it never began. */
  reasonOf({ folder }: Worker, generation: number): string | undefined {
    return readIfThere(join(folder.start(generation), 'reason'));
  }

  /** Changes when its program begins, which may be long after it was due. */
  hasBegun({ folder }: Worker, generation: number): boolean {
    return existsSync(join(folder.start(generation), 'claim'));
  }

  /** Undefined for one that was killed, and could not say. */
  exitCodeOf({ folder }: Worker, generation: number): number | undefined {
    return exitCodeOf(folder.start(generation));
  }

  /** Whether the server that started it is gone. */
  isOrphan({ folder }: Worker, generation: number): boolean {
    const owner = ownerIn(folder.start(generation));
    return !owner || this.#with.processes.liveness(owner) === 'dead';
  }

  /**
   * Ends whatever is left of a worker's program: TERM, 3 s, KILL.
   * @param reason for whoever writes its end down, which may be another server
   */
  async end(
    { folder }: Worker,
    generation: number,
    reason?: string
  ): Promise<void> {
    const directory = folder.start(generation);
    const place = ownerIn(directory)?.place ?? this.#with.processes.self.place;
    if (!existsSync(directory)) return;
    if (reason !== undefined) giveReason(directory, reason);
    claimNeverStarts(directory);
    await this.#with.processes.stop({ directory, place, withNested: true });
    // Copies of the user's settings, and links to the rest.
    rmSync(join(directory, connectionName), { recursive: true, force: true });
  }

  /** What it said last, oldest first, for whoever has to mend it. */
  async lastLines(
    worker: Worker,
    generation: number,
    count = 15
  ): Promise<string[]> {
    const pane = paneOf(worker.meta);
    if (pane) return this.#with.terminal.screen(pane, count);
    const directory = worker.folder.start(generation);
    const texts = await Promise.all(
      ['stdout', 'stderr'].map((name) => endOf(join(directory, name)))
    );
    return texts
      .flatMap((text) => text.split('\n'))
      .filter((line) => line.trim() !== '')
      .slice(-count);
  }

  /**
   * Whichever are marked as its own: it may have got another, and on a full
   * disk nobody could write down which.
   */
  async closePane({ meta }: Worker): Promise<void> {
    const { store, terminal } = this.#with;
    const written = store.find(meta.agent_id)?.meta ?? meta;
    const isElsewhere = written.pane?.socket !== meta.pane?.socket;
    const known = isElsewhere ? [meta, written] : [meta];
    const panes = await Promise.all(known.map((one) => this.#panesOf(one)));
    await Promise.all(panes.flat().map((pane) => terminal.close(pane)));
  }

  /** Those that carry its mark, where it is known to have one. */
  async #panesOf({ agent_id, pane }: WorkerMeta): Promise<PaneState[]> {
    if (!pane) return [];
    const panes = await this.#with.terminal.panes([pane.socket]);
    return panes.filter(({ agentId }) => agentId === agent_id);
  }

  async #inPane(worker: Worker, planned: PlannedLaunch): Promise<void> {
    const { terminal, store, onProblem } = this.#with;
    const { request, typed } = planned;
    const { meta } = worker;
    const [known] = await this.#panesOf(meta);
    const pane =
      known ??
      (await terminal.open({
        agentId: meta.agent_id,
        title: `${meta.name} (${meta.engine})`,
        cwd: meta.cwd
      }));
    meta.pane = { pane_id: pane.paneId, socket: pane.socket };
    store.setMeta(meta);
    await terminal.launch(pane, request);
    if (typed !== undefined) typeInto(terminal, pane, typed).catch(onProblem);
  }
}

function paneOf({ agent_id: agentId, pane }: WorkerMeta): PaneRef | undefined {
  return pane
    ? { agentId, paneId: pane.pane_id, socket: pane.socket }
    : undefined;
}

/** The first one counts. */
function giveReason(directory: string, reason: string): void {
  try {
    createOnce(join(directory, 'reason'), reason);
  } catch {
    // A full disk may not keep it alive.
  }
}

function ownerIn(directory: string): ProcessIdentity | undefined {
  const text = readIfThere(join(directory, 'owner'));
  return text === undefined ? undefined : parseIdentity(text);
}

async function endOf(path: string): Promise<string> {
  return existsSync(path) ? (await readEnds(path, 0, 4000)).tail : '';
}
