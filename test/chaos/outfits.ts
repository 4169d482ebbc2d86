import type { Random } from '../kit/judges/random.ts';
import { clockThatIs, withTemplate } from './stage.ts';

/** What a server is for in a run. */
export type ServerKind =
  | 'any'
  | 'with plugins'
  | 'without plugins'
  | 'container';

/** How a server is started. */
export interface Outfit {
  /** What its name adds to its number. */
  about: string;
  flags: string[];
  env: Record<string, string>;
  under?: string[];
  /** What the diary counts. */
  counted: string[];
}

export type Outfitter = (
  random: Random,
  kind: ServerKind,
  plain: boolean
) => Outfit;

/** By chance with a wrong clock, a template, or agents that it ends. */
export const chaosOutfit: Outfitter = (random, _kind, plain) => {
  const dice = random.next();
  const clock =
    plain || dice > 0.3 ? undefined : clockThatIs(dice < 0.15 ? 1 : -1);
  const template = !plain && random.next() < 0.25 ? withTemplate : {};
  const stops = !plain && random.next() < 0.15;
  const at = clock ? ` at ${clock.FAKETIME}` : '';
  return {
    about: `${at}${stops ? ', stops' : ''}`,
    flags: stops ? ['--on-disconnect', 'stop'] : [],
    env: { ...clock, ...template },
    counted: clock ? ['server with a wrong clock'] : []
  };
};
