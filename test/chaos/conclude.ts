import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readIfExists } from '../../src/core/state/files/atomic-file.ts';
import { until } from '../kit/judges/until.ts';
import type { Evidence } from './evidence.ts';
import { gather, panesOf } from './gather.ts';
import { measure } from './janitor.ts';
import type { Served } from './servers.ts';
import type { Player } from './spawning.ts';

/** How long agents may take to end once nothing more is done to them. */
const idleMs = 120_000;

/**
 * Waits until nothing is at work, closes all servers, and reads what is left
 * with a new one.
 * @param gone process ids of servers that ended before the rest were closed
 */
export async function conclude(
  player: Player,
  gone: Set<number>,
  patienceMs = idleMs
): Promise<{ evidence: Evidence; last: Served }> {
  const { stage, servers, diary } = player;
  await until('no agent to be open', () => isIdle(player), patienceMs).catch(
    (error) => diary.problem(String(error))
  );
  servers.look(true);
  await servers.close();
  const last = await servers.start([], true);
  if (!last) throw new Error('The last server did not start.');
  // If it does not, the judge reports what is missing.
  await until('IAC.md to be true', () => isShown(player)).catch(
    () => undefined
  );
  // One that was opened as its server was killed goes a minute later.
  await until(
    'panes to be gone',
    () => panesOf(stage).length === 0,
    65_000
  ).catch(() => undefined);
  servers.look();
  measure(player, false);
  const evidence = await gather({
    ...{ stage, servers, diary, gone },
    last: last.client
  });
  return { evidence, last };
}

/** Printed for the developer. */
export function keep(
  { stage: { path }, diary, servers }: Player,
  faults: string[]
): void {
  const told = servers
    .evidence()
    .filter(({ stderr }) => stderr !== '')
    .map(({ name, stderr }) => `== ${name}\n${stderr}`);
  const files = { faults, story: diary.story, stderr: told };
  for (const [name, lines] of Object.entries(files))
    writeFileSync(join(path, '..', `${name}.txt`), `${lines.join('\n')}\n`);
}

function isShown(player: Player): boolean {
  const { stage, diary } = player;
  const text = readIfExists(join(stage.path, 'logs', 'IAC.md')) ?? '';
  const isRunning = text.includes('**Running**') && diary.doubted.size === 0;
  return isIdle(player) && !isRunning;
}

function isIdle({ stage, diary }: Player): boolean {
  try {
    return readdirSync(stage.state('open')).every(
      (name) => name === '.gitignore' || diary.doubted.has(name)
    );
  } catch {
    return true;
  }
}
