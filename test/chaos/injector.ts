import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  processEnvironments,
  processTable,
  thisNamespace
} from '../../src/adapters/child-process/process-table.ts';
import { claimOf } from '../../src/core/runs/run-files.ts';
import type { Random } from '../kit/judges/random.ts';
import { startServer } from '../kit/servers/mcp-client.ts';
import type { SmallDisk } from '../kit/workspaces/small-disk.ts';
import type { Diary } from './diary.ts';
import { watchRecovery } from './recovery.ts';
import type { Servers } from './servers.ts';
import type { ChaosStage } from './stage.ts';

type Part = 'agent' | 'supervisor' | 'watchdog' | 'worker';

interface Target {
  pid: number;
  part: Part;
  agentId: string;
}

const gentle = ['hang up', 'SIGTERM', 'vanish'] as const;

/** Every fault, with its share among all faults. */
const faults: [name: string, weight: number][] = [
  ['kill server', 10],
  ['stop server', 9],
  ...gentle.map((how): [string, number] => [how, 4]),
  ['kill agent', 7],
  ['kill supervisor', 5],
  ['kill watchdog', 4],
  ['kill worker', 4],
  ['stop agent', 5],
  ['stop supervisor', 4],
  ['stop watchdog', 2],
  ['stop worker', 3],
  ['kill starting', 3],
  ['full disk', 2]
];

/** Injects faults in the order of the seed until it is stopped. */
export class Injector {
  readonly #stage: ChaosStage;
  readonly #servers: Servers;
  readonly #diary: Diary;
  readonly #random: Random;
  readonly #pending = new Set<Promise<void>>();
  #over = false;

  constructor(
    stage: ChaosStage,
    servers: Servers,
    diary: Diary,
    random: Random
  ) {
    this.#stage = stage;
    this.#servers = servers;
    this.#diary = diary;
    this.#random = random;
  }

  async run(): Promise<void> {
    for (let turn = 0; !this.#over; turn += 1) {
      await delay(this.#random.between(30, 500));
      if (this.#over) break;
      // Draws equally many numbers each time, so that present processes do not change what follows.
      const dice = [1, 2, 3].map(() => this.#random.next());
      // Rare, but never left out for long.
      const what = turn % 40 === 15 ? 'full disk' : this.#choose(dice[0] ?? 0);
      this.#strike(what, dice[1] ?? 0, dice[2] ?? 0);
      await this.#servers.fill();
    }
    await Promise.all(this.#pending);
  }

  /** What is stopped goes on, what is full gets room. */
  letGo(): void {
    this.#over = true;
  }

  #choose(dice: number): string {
    let left = dice * faults.reduce((sum, [, weight]) => sum + weight, 0);
    const found = faults.find(([, weight]) => {
      left -= weight;
      return left < 0;
    });
    return found?.[0] ?? 'kill server';
  }

  #strike(what: string, who: number, how: number): void {
    const [, part] = what.split(' ');
    const isGentle = gentle.some((one) => one === what);
    if (what === 'full disk') this.#fill(how);
    else if (what === 'kill starting') this.#killAtStart(how);
    else if (part === 'server' || isGentle) this.#strikeServer(what, who, how);
    else this.#strikeAgent(what, who, how);
  }

  #strikeAgent(what: string, who: number, how: number): void {
    const [verb, part] = what.split(' ');
    const targets = this.#targets().filter((target) => target.part === part);
    const target = targets[Math.floor(who * targets.length)];
    if (!target) return;
    this.#diary.count(what);
    this.#diary.injure(target.agentId, what);
    if (verb === 'kill') {
      const recovery = watchRecovery(this.#stage, [target.agentId]);
      signal(target.pid, 'SIGKILL');
      if (part === 'supervisor') this.#recover(recovery(this.#diary));
    } else this.#pause(target.pid, how);
  }

  #strikeServer(what: string, who: number, how: number): void {
    const living = this.#servers.living();
    const served = living[Math.floor(who * living.length)];
    if (!served) return;
    const { client, name } = served;
    this.#diary.count(what);
    this.#diary.note(`${what}: ${name}`);
    if (what === 'stop server') {
      this.#pause(client.pid, how);
      return;
    }
    this.#servers.look();
    served.isEnding = true;
    // Another server has to end what it has queued.
    const recovery = watchRecovery(this.#stage, undefined, client.pid);
    if (what === 'kill server') signal(client.pid, 'SIGKILL');
    if (what === 'hang up') client.child.stdin?.end();
    if (what === 'SIGTERM') signal(client.pid, 'SIGTERM');
    if (what === 'vanish')
      for (const stream of [client.child.stdin, client.child.stdout])
        stream?.destroy();
    if (what === 'kill server') this.#recover(recovery(this.#diary));
  }

  /** A server that is not ready yet, or has been for a moment. */
  #killAtStart(how: number): void {
    this.#diary.count('kill starting');
    const kill = async () => {
      const server = await startServer(this.#stage, { raw: true });
      await delay(how * 400);
      signal(server.pid, 'SIGKILL');
      await server.exited;
    };
    this.#recover(kill());
  }

  #recover(recovery: Promise<void>): void {
    this.#pending.add(recovery);
    void recovery.finally(() => this.#pending.delete(recovery));
  }

  /** Mostly for a moment, now and then for longer than anything may hold. */
  #pause(pid: number, how: number): void {
    const ms =
      how < 0.8
        ? 50 + how * 1000
        : how < 0.95
          ? 1000 + (how - 0.8) * 30_000
          : 11_000 + (how - 0.95) * 60_000;
    signal(pid, 'SIGSTOP');
    const on = async () => {
      for (const ends = performance.now() + ms; performance.now() < ends; ) {
        if (this.#over) break;
        await delay(50);
      }
      signal(pid, 'SIGCONT');
    };
    this.#recover(on());
  }

  #fill(how: number): void {
    const { disk } = this.#stage;
    const isFull = this.#diary.full.some(({ until }) => until > Date.now());
    if (!disk || isFull) return;
    const time = { from: Date.now(), until: Number.POSITIVE_INFINITY };
    if (!this.#isTight(disk)) return;
    this.#diary.count('full disk');
    this.#diary.note('the disk is full');
    this.#diary.full.push(time);
    const on = async () => {
      await delay(200 + how * 2500);
      disk.setTight(false);
      time.until = Date.now();
      this.#diary.note('there is room');
    };
    this.#recover(on());
  }

  /** It fails during a concurrent write. */
  #isTight(disk: SmallDisk): boolean {
    for (let tries = 0; tries < 5; tries += 1)
      try {
        disk.setTight(true);
        return true;
      } catch {
        // Again, with what there is now.
      }
    return false;
  }

  /** The processes of an agent or a worker, each with its role. */
  #targets(): Target[] {
    const pids = processTable()
      .filter(({ zombie }) => !zombie)
      .map(({ pid }) => pid);
    return [...processEnvironments(pids)].flatMap(([pid, text]): Target[] => {
      const [, kind, agentId] =
        /TROUPE_AGENT_DIR=([^\0]*)\/([^/\0]+)/.exec(text) ?? [];
      if (!agentId || !kind?.startsWith(this.#stage.record)) return [];
      if (!kind.endsWith('/spawns') || lineOf(pid).includes('--agent-id'))
        return [{ pid, part: 'worker', agentId }];
      const claim = claimOf(`${kind}/${agentId}`, thisNamespace());
      const part =
        claim?.supervisor?.pid === pid
          ? 'supervisor'
          : claim?.watchdogs.includes(pid)
            ? 'watchdog'
            : 'agent';
      return [{ pid, part, agentId }];
    });
  }
}

function lineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended in the meantime.
  }
}
