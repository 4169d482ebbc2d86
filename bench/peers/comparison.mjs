/** The row that compares troupe with the best peer. */
import { fact } from '../statistics.mjs';
import { isOurs, titleOf } from './list.mjs';

/**
 * Whether troupe has a smaller amount than every peer: false without a figure
 * of troupe, undefined without a peer.
 * @param {{ peer: object, amount: number }[]} seen
 * @param {string} unit of the amounts
 * @param {{ summary?: string, guard?: number }} [options] `--check` fails
 * above `guard` times the amount of the best peer
 */
export function comparison(
  name,
  seen,
  unit,
  { summary = name, guard = 1 } = {}
) {
  const format = ({ amount }) =>
    `${amount.toFixed(amount < 100 ? 1 : 0)} ${unit}`;
  const ours = seen.find(({ peer }) => isOurs(peer));
  const [best] = seen
    .filter(({ peer }) => !isOurs(peer))
    .sort((one, other) => one.amount - other.amount);
  const floor = best ? `${format(best)} (${titleOf(best.peer)})` : 'no peer';
  const words = { summary, floor, reach: 'less' };
  if (!ours) return fact(name, false, 'not measured', words);
  if (!best) return fact(name, undefined, format(ours), words);
  const pass = ours.amount < best.amount;
  const text = `${format(ours)}, best peer ${format(best)}`;
  const refused = !(ours.amount <= guard * best.amount);
  return { ...fact(name, pass, text, words), refused };
}
