import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../kit/judges/random.ts';
import type { EverydayPlayer } from './player.ts';

export interface Act {
  what: string;
  play: (player: EverydayPlayer, count: number) => Promise<void>;
}

/**
 * Plays each act once, in an order of chance, and all of them again until
 * time is over: none is left out of a short run.
 * @param onRound called when each was played once more
 */
export async function playAll(
  player: EverydayPlayer,
  acts: Act[],
  onRound: () => void
): Promise<void> {
  const { random, diary, isOver } = player;
  for (let round = 1; !isOver(); round += 1) {
    for (const [index, { what, play }] of shuffled(random, acts).entries()) {
      if (isOver()) return;
      await delay(random.between(50, 700));
      diary.count(what);
      diary.note(what);
      await play(player, round * acts.length + index);
    }
    onRound();
  }
}

/** Plays one act a while after the start. */
export async function playOnce(
  player: EverydayPlayer,
  { what, play }: Act
): Promise<void> {
  const { random, diary } = player;
  await delay(random.between(1500, 3000));
  diary.count(what);
  diary.note(what);
  await play(player, 0);
}

function shuffled<Value>(random: Random, values: Value[]): Value[] {
  return values
    .map((value) => ({ value, at: random.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
