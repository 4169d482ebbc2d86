import { join } from 'node:path';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { behaviourOf } from '../behaviours.ts';
import type { Player } from '../spawning.ts';
import type { EverydayStage } from './stage.ts';

export interface EverydayPlayer extends Player {
  stage: EverydayStage;
}

/** What an agent has written down of itself, outside of the workspace. */
export function factsOf(player: EverydayPlayer, id: string): string[] {
  const { stage, diary } = player;
  const name = diary.agents.get(id)?.name ?? 'none';
  const text = readIfExists(join(stage.facts, name)) ?? '';
  return text.split('\n').map((line) => line.split(' ')[0] ?? '');
}

/** Agents with a folder whose end has not been reported. */
export function openAgents({ diary }: EverydayPlayer): string[] {
  return [...diary.agents.keys()].filter(
    (id) =>
      !diary.endedAt.has(id) &&
      !diary.injuries.get(id)?.includes('removed folder')
  );
}

/** Surely at work: begun, not done, and nothing has been done to it. */
export function isAtWork(player: EverydayPlayer, id: string): boolean {
  const { diary } = player;
  if (diary.isHurt(id) || diary.canceled.has(id)) return false;
  const { kind = 'fast' } = diary.agents.get(id) ?? {};
  if (behaviourOf(kind).ends !== 'completed') return false;
  const facts = factsOf(player, id);
  return facts.includes('start') && !facts.includes('finish');
}
