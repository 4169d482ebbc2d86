import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type McpClient, startServer, type ToolResult } from '../mcp-client.ts';
import type { Random } from '../random.ts';
import type { Diary } from './diary.ts';
import type { ServerEvidence } from './evidence.ts';
import { type ChaosStage, clockThatIs, withTemplate } from './stage.ts';

export interface Served {
  name: string;
  client: McpClient;
  /** It was told to end, or made to. */
  isEnding: boolean;
  /** The most it ever held, as far as we looked. */
  peakMegabytes: number;
  /** File descriptors: after its start, and as far as we looked. */
  openAtFirst: number;
  openAtLast: number;
  isWatching: boolean;
  /** It was last looked at when there was nothing to do any more. */
  isIdle: boolean;
  /** Seconds, of our clock. */
  since: number;
  until?: number;
}

/** So many at any time, each replaced when it ends. */
const wanted = 3;

/** The servers of the workspace, and the clients that they have. */
export class Servers {
  readonly all: Served[] = [];
  readonly #stage: ChaosStage;
  readonly #random: Random;
  readonly #diary: Diary;
  #starting = 0;
  #closed = false;

  constructor(stage: ChaosStage, random: Random, diary: Diary) {
    this.#stage = stage;
    this.#random = random;
    this.#diary = diary;
  }

  /** Those that answer, as far as we know. */
  living(): Served[] {
    return this.all.filter(
      ({ isEnding, until }) => !isEnding && until === undefined
    );
  }

  /** Starts what is missing. */
  async fill(): Promise<void> {
    const missing = wanted - this.living().length - this.#starting;
    const starts = Array.from({ length: Math.max(0, missing) }, () =>
      this.start()
    );
    await Promise.all(starts);
  }

  /** One more, by chance with a wrong clock, a template, or agents it ends. */
  async start(
    flags: string[] = [],
    plain = false
  ): Promise<Served | undefined> {
    const dice = this.#random.next();
    const clock =
      plain || dice > 0.3 ? undefined : clockThatIs(dice < 0.15 ? 1 : -1);
    const template = !plain && this.#random.next() < 0.25 ? withTemplate : {};
    const stops = !plain && this.#random.next() < 0.15;
    const ending = stops ? ['--on-disconnect', 'stop'] : [];
    const name = `server ${this.all.length + this.#starting}${clock ? ` at ${clock.FAKETIME}` : ''}${stops ? ', stops' : ''}`;
    this.#starting += 1;
    if (clock) this.#diary.count('server with a wrong clock');
    try {
      const client = await startServer(this.#stage, {
        flags: [...flags, ...ending],
        env: { ...this.#stage.environment, ...clock, ...template }
      });
      const open = descriptorsOf(client.pid).length;
      const served: Served = {
        ...{ name, client, isEnding: false, peakMegabytes: 0 },
        ...{ openAtFirst: open, openAtLast: open, since: performance.now() },
        ...{ isWatching: false, isIdle: false }
      };
      this.all.push(served);
      void client.exited.then(({ code, signal }) => {
        served.until = performance.now();
        if (!served.isEnding)
          this.#diary.problem(`${name} ended by itself: ${code} ${signal}`);
      });
      return served;
    } catch (error) {
      this.#diary.problem(`${name} did not start: ${String(error)}`);
      return undefined;
    } finally {
      this.#starting -= 1;
      if (!this.#closed) this.look();
    }
  }

  /** Any that lives; waits until one does. */
  async any(random: Random): Promise<McpClient> {
    for (;;) {
      const living = this.living();
      const chosen = living[random.between(0, living.length - 1)];
      if (chosen) return chosen.client;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** How much they hold now. */
  look(isIdle = false): void {
    for (const served of this.living()) {
      served.isIdle = isIdle;
      const { pid } = served.client;
      served.peakMegabytes = Math.max(served.peakMegabytes, peakOf(pid));
      const descriptors = descriptorsOf(pid);
      served.openAtLast = descriptors.length || served.openAtLast;
      served.isWatching ||= descriptors.includes('anon_inode:inotify');
    }
  }

  /** Lets all of them go, as clients do. */
  async close(): Promise<void> {
    this.#closed = true;
    const living = this.all.filter(({ until }) => until === undefined);
    for (const served of living) {
      served.isEnding = true;
      served.client.child.stdin?.end();
    }
    await Promise.all(living.map(({ client }) => client.exited));
  }

  evidence(): ServerEvidence[] {
    return this.all.map(({ name, client, peakMegabytes, isWatching }) => ({
      ...{ name, peakMegabytes, isWatching },
      impurities: client.impurities,
      stderr: client.stderr
    }));
  }
}

/** Undefined when the server ended before it answered: nobody knows then. */
export async function attempt(
  client: McpClient,
  tool: string,
  args: Record<string, unknown> = {}
): Promise<ToolResult | undefined> {
  try {
    return await client.call(tool, args);
  } catch (error) {
    if (String(error).includes('the server ended')) return undefined;
    throw error;
  }
}

function peakOf(pid: number): number {
  const status = textOf(`/proc/${pid}/status`);
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** What they lead to. */
function descriptorsOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).map((name) =>
      readlinkSync(`${directory}/${name}`)
    );
  } catch {
    // It has ended, or closed one just now.
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
