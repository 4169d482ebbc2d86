import { pick, type Random } from '../kit/judges/random.ts';
import { oddValue, RawJson } from './odd-values.ts';

type Holder = Record<string, unknown> | unknown[];

/** A copy with one to three faults, anywhere in it. */
export function mutated(value: unknown, random: Random): unknown {
  const holder = { value: structuredClone(value) };
  for (let faults = random.between(1, 3); faults > 0; faults -= 1)
    spoil(pick(random, holdersIn(holder)), random);
  return holder.value;
}

function holdersIn(value: unknown): Holder[] {
  if (!isHolder(value)) return [];
  return [value, ...Object.values(value).flatMap(holdersIn)];
}

function isHolder(value: unknown): value is Holder {
  return (
    typeof value === 'object' && value !== null && !(value instanceof RawJson)
  );
}

function spoil(holder: Holder, random: Random): void {
  const keys = Object.keys(holder);
  if (Array.isArray(holder) && random.next() < 0.3) {
    holder.push(keys.length > 0 ? holder[0] : oddValue(random));
    return;
  }
  const key = keys.length > 0 ? pick(random, keys) : 'extra';
  const kind = random.next();
  if (kind < 0.55) Reflect.set(holder, key, oddValue(random));
  else if (kind < 0.75) Reflect.deleteProperty(holder, key);
  else if (kind < 0.85) {
    const other = pick(random, keys.length > 0 ? keys : ['extra']);
    Reflect.set(holder, key, Reflect.get(holder, other));
  } else Reflect.set(holder, oddKey(random), oddValue(random));
}

function oddKey(random: Random): string {
  return pick(random, [
    ...[
      'extra',
      'Prompt',
      'agentId',
      '',
      ' ',
      'constructor',
      'toString',
      '_meta'
    ],
    'k'.repeat(70_000)
  ]);
}
