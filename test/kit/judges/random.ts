/**
 * Random numbers that a seed repeats (mulberry32). A test prints the seed it
 * used; TROUPE_SEED gives it back.
 */
export interface Random {
  seed: number;
  /** In [0, 1). */
  next: () => number;
  /** A whole number from `low` to `high`, both included. */
  between: (low: number, high: number) => number;
}

export function seededRandom(
  name: string,
  seed = Number(process.env.TROUPE_SEED) || Math.floor(Math.random() * 2 ** 31)
): Random {
  process.stderr.write(`${name}: TROUPE_SEED=${seed}\n`);
  return randomFrom(seed);
}

/** The same for a part of a test, whose seed comes from that of the whole. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    seed,
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1))
  };
}

/** One of some, each as likely. @throws when there is none */
export function pick<Value>(
  random: Pick<Random, 'between'>,
  values: readonly Value[]
): Value {
  const index = random.between(0, values.length - 1);
  const picked = values.slice(index, index + 1);
  for (const value of picked) return value;
  throw new Error('There is nothing to pick from.');
}
