import { join } from 'node:path';
import { bytesOf } from '../core/retention/choose.ts';
import { endedWorkers } from '../core/retention/ended-workers.ts';
import type { Resident } from '../core/retention/resident.ts';
import { bytesBelow } from '../core/state/bytes-below.ts';
import { namesIn } from '../core/state/directories.ts';
import type { Host } from '../host.ts';
import { amount } from './amounts.ts';
import type { DiskDocument } from './json/clean-document.ts';
import { print, printJson, tell } from './output.ts';
import type { JsonFlag } from './shared.ts';
import { table } from './table.ts';

interface Share {
  count: number;
  bytes: number;
}

/** What agents have on the disk, and how to have less. */
export async function showDisk(
  host: Host,
  residents: Resident[],
  { json }: JsonFlag
): Promise<void> {
  const { config, store, processes } = host;
  const part = (isIn: (one: Resident) => boolean) =>
    shareOf(residents.filter(isIn));
  const workers = endedWorkers(host.paths, processes);
  const diffs = join(store.root, 'diffs');
  const shares = {
    at_work: part(({ hold }) => hold === 'at_work'),
    read: part(({ hold }) => hold === undefined),
    unread: part(({ hold }) => hold === 'unread'),
    held: part(
      ({ hold }) => hold !== undefined && !['at_work', 'unread'].includes(hold)
    ),
    agents: shareOf(residents),
    diffs: {
      count: namesIn(diffs).filter((name) => name.endsWith('.diff')).length,
      bytes: bytesBelow(diffs)
    },
    workers: {
      count: workers.length,
      bytes: workers.reduce((sum, { bytes }) => sum + bytes, 0)
    }
  };
  const limit = config.diskLimitMegabytes * 1024 * 1024;
  if (json) {
    const disk_limit_bytes = limit === 0 ? null : limit;
    await printJson<DiskDocument>({ ...shares, disk_limit_bytes });
    return;
  }
  const row = (what: string, { count, bytes }: Share) => [
    amount(bytes),
    `${count}`,
    what
  ];
  await print(
    table(
      [
        { heading: 'SIZE', align: 'right', minimum: 8 },
        { heading: 'COUNT', align: 'right', minimum: 6 },
        { heading: 'WHAT', least: 20 }
      ],
      [
        row('agents at work', shares.at_work),
        row('agents that ended and were read', shares.read),
        row('agents that ended and nobody has read', shares.unread),
        row('agents that others need, or with a worktree', shares.held),
        row(totalOf(limit), shares.agents),
        row('patches of agents that were removed', shares.diffs),
        row('workers that are over', shares.workers)
      ]
    )
  );
  tell('nothing was removed; say what may go:');
  for (const line of ways) tell(`  ${line}`);
}

const ways = [
  'troupe clean --older-than 30d   what was read and ended longer ago',
  'troupe clean --keep 20          what was read, but for the newest 20',
  'troupe clean --max-size 2GB     the oldest that was read, down to 2 GB',
  'troupe clean ID                 one agent, even if nobody has read it'
];

function totalOf(limit: number): string {
  return limit === 0
    ? 'all agents (there is no diskLimitMegabytes)'
    : `all agents, of at most ${amount(limit)} (diskLimitMegabytes)`;
}

function shareOf(residents: Resident[]): Share {
  return { count: residents.length, bytes: bytesOf(residents) };
}
