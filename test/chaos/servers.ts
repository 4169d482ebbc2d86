import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Random } from '../kit/judges/random.ts';
import {
  type McpClient,
  startServer,
  type ToolResult
} from '../kit/servers/mcp-client.ts';
import type { Diary } from './diary.ts';
import type { ServerEvidence } from './evidence.ts';
import { chaosOutfit, type Outfitter, type ServerKind } from './outfits.ts';
import type { ChaosStage } from './stage.ts';

export interface Served {
  name: string;
  kind: ServerKind;
  client: McpClient;
  /** It was asked to end, or killed. */
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

const three: ServerKind[] = ['any', 'any', 'any'];

/** The servers of the workspace, and the clients that they have. */
export class Servers {
  readonly all: Served[] = [];
  readonly #stage: ChaosStage;
  readonly #random: Random;
  readonly #diary: Diary;
  readonly #outfit: Outfitter;
  readonly #wanted: ServerKind[];
  readonly #starting: ServerKind[] = [];
  #closed = false;

  /** @param wanted the kinds at any time, each replaced when it ends */
  constructor(
    stage: ChaosStage,
    random: Random,
    diary: Diary,
    outfit: Outfitter = chaosOutfit,
    wanted = three
  ) {
    this.#stage = stage;
    this.#random = random;
    this.#diary = diary;
    this.#outfit = outfit;
    this.#wanted = wanted;
  }

  /** Servers that answer, as far as is known. */
  living(): Served[] {
    return this.all.filter(
      ({ isEnding, until }) => !isEnding && until === undefined
    );
  }

  /** Starts what is missing. */
  async fill(): Promise<void> {
    const there = [...this.living().map(({ kind }) => kind), ...this.#starting];
    const missing = this.#wanted.filter((kind) => {
      const at = there.indexOf(kind);
      if (at >= 0) there.splice(at, 1);
      return at < 0;
    });
    await Promise.all(missing.map((kind) => this.start([], false, kind)));
  }

  /** One more; a plain one has nothing to make it special. */
  async start(
    flags: string[] = [],
    plain = false,
    kind: ServerKind = 'any'
  ): Promise<Served | undefined> {
    const outfit = this.#outfit(this.#random, kind, plain);
    const name = `server ${this.all.length + this.#starting.length}${outfit.about}`;
    this.#starting.push(kind);
    for (const what of outfit.counted) this.#diary.count(what);
    try {
      const client = await startServer(this.#stage, {
        ...outfit,
        flags: [...flags, ...outfit.flags],
        env: { ...this.#stage.environment, ...outfit.env }
      });
      const open = descriptorsOf(client.pid).length;
      const served: Served = {
        ...{ name, kind, client, isEnding: false, peakMegabytes: 0 },
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
      this.#starting.splice(this.#starting.indexOf(kind), 1);
      if (!this.#closed) this.look();
    }
  }

  /** Any that lives; waits until one does. */
  async any(random: Random): Promise<McpClient> {
    return (await this.oneOf(random)).client;
  }

  /** One of these kinds; without any, of all. */
  async oneOf(random: Random, ...kinds: ServerKind[]): Promise<Served> {
    for (;;) {
      const living = this.living().filter(
        ({ kind }) => kinds.length === 0 || kinds.includes(kind)
      );
      const chosen = living[random.between(0, living.length - 1)];
      if (chosen) return chosen;
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

/** Undefined when the server ended before it answered. */
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
