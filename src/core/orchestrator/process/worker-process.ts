import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectionName } from '../../engines/connection.ts';
import { messageOf } from '../../errors.ts';
import {
  type ProcessIdentity,
  parseIdentity
} from '../../processes/process-identity.ts';
import type { StopReport } from '../../runs/ports.ts';
import {
  claimNeverStarts,
  claimOf,
  emptyExitFile,
  exitCodeOf
} from '../../runs/run-files.ts';
import { type LiveState, liveStateOf } from '../../runs/run-state.ts';
import { setStarting } from '../../runs/start-marks.ts';
import {
  createOnce,
  readIfExists,
  replaceFile,
  writeNew
} from '../../state/files/atomic-file.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { readEnds } from '../../state/files/text-file.ts';
import type { WorkerMeta } from '../queue/records.ts';
import type { WorkerFolder } from '../queue/worker-folder.ts';
import type { Worker } from '../queue/worker-store.ts';
import {
  type LaunchParts,
  type PlannedLaunch,
  planLaunch
} from './launch-plan.ts';
import type { PaneRef, PaneState, Terminal } from './terminal.ts';

export interface ProcessParts extends LaunchParts {
  terminal: Terminal;
  onProblem: (problem: unknown) => void;
}

/** For each worker, the folders of this many programs are kept. */
const keptStarts = 10;

/** A screen that has not changed for this long waits for input. */
const stillMs = 700;
/** The longest wait for an unchanged screen. */
const longestDrawMs = 30_000;

/** Starts, inspects and terminates the programs of workers. */
export class WorkerProcess {
  readonly #with: ProcessParts;

  constructor(parts: ProcessParts) {
    this.#with = parts;
  }

  /** The tool that a worker calls when it is ready. */
  get waitTool(): string {
    return this.#with.settings.interface.waitTool;
  }

  /** Records that this server is about to start a program. */
  announce(folder: WorkerFolder, generation: number): void {
    const directory = folder.start(generation);
    const owner = JSON.stringify(this.#with.processes.self);
    ensureDirectory(directory);
    const old = folder.start(generation - keptStarts);
    rmSync(old, { recursive: true, force: true });
    replaceFile(join(directory, 'owner'), owner);
    setStarting(directory, true);
  }

  /**
   * Starts a program, which outlives this server unless it is configured to
   * end with it.
   * @throws HostError `terminal_failed`, `window_full`, `no_terminal`; any
   *   error of the plugin or of the file system
   */
  async start(worker: Worker, generation: number): Promise<void> {
    const { meta, folder } = worker;
    const directory = folder.start(generation);
    try {
      const planned = planLaunch(this.#with, worker, directory);
      writeNew(join(directory, 'exit'), emptyExitFile);
      if (meta.backend === 'tmux') await this.#startInPane(worker, planned);
      else
        this.#with.processes
          .launch(planned.request)
          .ended.catch(() => false)
          .then((wasClaimed) => wasClaimed || claimNeverStarts(directory))
          .catch(this.#with.onProblem);
    } catch (error) {
      storeReason(directory, `it could not be started: ${messageOf(error)}`);
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

  /** Whether its pane ended before the supervisor could start. */
  async hasFailedToStart({ meta, folder }: Worker, generation: number) {
    const { place } = this.#with.processes.self;
    if (!meta.pane || claimOf(folder.start(generation), place)) return false;
    const panes = await this.#panesOf(meta);
    return panes.every(({ isDead }) => isDead);
  }

  /** Whether a worker must end because the server that created it has ended. */
  isDisconnected({ meta }: Worker): boolean {
    const terms = this.#with.store.termsOf(meta.agent_id);
    return (
      terms?.onDisconnect === 'stop' &&
      this.#with.processes.liveness(terms.maker) === 'dead'
    );
  }

  /** The reason why a server ended the program, or could not start it. */
  reasonOf({ folder }: Worker, generation: number): string | undefined {
    return readIfExists(join(folder.start(generation), 'reason'));
  }

  /** Whether the start was claimed, which may be long after `start`. */
  hasBegun({ folder }: Worker, generation: number): boolean {
    return existsSync(join(folder.start(generation), 'claim'));
  }

  /** Undefined until the end, and if the supervisor was killed. */
  exitCodeOf({ folder }: Worker, generation: number): number | undefined {
    return exitCodeOf(folder.start(generation));
  }

  /** Undefined until the supervisor has claimed the start. */
  supervisorOf({ folder }: Worker, generation: number) {
    const { place } = this.#with.processes.self;
    return claimOf(folder.start(generation), place)?.supervisor;
  }

  /** Whether the server that started the program has ended. */
  isOrphan({ folder }: Worker, generation: number): boolean {
    const owner = ownerIn(folder.start(generation));
    return !owner || this.#with.processes.liveness(owner) === 'dead';
  }

  /**
   * Ends all processes of a program with SIGTERM, and after 3 s with SIGKILL.
   * @param reason stored for the server that records the end
   */
  async terminate(
    { folder }: Pick<Worker, 'folder'>,
    generation: number,
    reason?: string
  ): Promise<StopReport> {
    const directory = folder.start(generation);
    const place = ownerIn(directory)?.place ?? this.#with.processes.self.place;
    // Without the folder, the processes are found by their environment.
    if (existsSync(directory)) {
      if (reason !== undefined) storeReason(directory, reason);
      claimNeverStarts(directory);
    }
    const target = { directory, place, withNested: true };
    const report = await this.#with.processes.stop(target);
    // These files may contain copies of the user's settings.
    rmSync(join(directory, connectionName), { recursive: true, force: true });
    return report;
  }

  /** The last lines of its output, oldest first. */
  async lastLines(
    worker: Worker,
    generation: number,
    count = 40
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
   * Closes every pane with the worker's mark. The meta may name another pane,
   * because it cannot be updated on a full disk.
   */
  async closePane({ meta }: Worker): Promise<void> {
    const { store, terminal } = this.#with;
    const stored = store.find(meta.agent_id)?.meta ?? meta;
    const isElsewhere = stored.pane?.socket !== meta.pane?.socket;
    const known = isElsewhere ? [meta, stored] : [meta];
    const panes = await Promise.all(known.map((one) => this.#panesOf(one)));
    await Promise.all(panes.flat().map((pane) => terminal.close(pane)));
  }

  /** Closes a worker's panes by their mark, without its meta. */
  async closePanesOf(agentId: string, socket?: string): Promise<void> {
    const { terminal } = this.#with;
    const panes = await terminal.panes(socket === undefined ? [] : [socket]);
    const own = panes.filter((pane) => pane.agentId === agentId);
    await Promise.all(own.map((pane) => terminal.close(pane)));
  }

  /** The panes with the worker's mark, on the server that its meta names. */
  async #panesOf({ agent_id, pane }: WorkerMeta): Promise<PaneState[]> {
    if (!pane) return [];
    const panes = await this.#with.terminal.panes([pane.socket]);
    return panes.filter(({ agentId }) => agentId === agent_id);
  }

  /** Closes what is left of workers whose record was removed meanwhile. */
  async #closeLostPanes(): Promise<void> {
    const { store, terminal } = this.#with;
    for (const pane of await terminal.panes([]))
      if (pane.isDead && store.isGone(pane.agentId)) await terminal.close(pane);
  }

  async #startInPane(worker: Worker, planned: PlannedLaunch): Promise<void> {
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
    this.#closeLostPanes().catch(onProblem);
    if (typed !== undefined)
      pasteWhenReady(terminal, pane, typed).catch(onProblem);
  }
}

function paneOf({ agent_id: agentId, pane }: WorkerMeta): PaneRef | undefined {
  return pane
    ? { agentId, paneId: pane.pane_id, socket: pane.socket }
    : undefined;
}

/** Keeps an earlier reason. */
function storeReason(directory: string, reason: string): void {
  try {
    createOnce(join(directory, 'reason'), reason);
  } catch {
    // On a full disk the program must still be ended.
  }
}

function ownerIn(directory: string): ProcessIdentity | undefined {
  return parseIdentity(readIfExists(join(directory, 'owner')) ?? '');
}

async function endOf(path: string): Promise<string> {
  return existsSync(path) ? (await readEnds(path, 0, 4000)).tail : '';
}

/**
 * Pastes a text once the screen stays unchanged, because a program that is
 * still starting would lose the text.
 */
async function pasteWhenReady(
  terminal: Terminal,
  pane: PaneRef,
  text: string
): Promise<void> {
  let before = '';
  for (let waited = 0; waited < longestDrawMs; waited += stillMs) {
    await delay(stillMs);
    const screen = (await terminal.screen(pane, 50)).join('\n');
    if (screen !== '' && screen === before) break;
    before = screen;
  }
  await terminal.paste(pane, text);
}
