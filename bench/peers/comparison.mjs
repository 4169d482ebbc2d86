/** The line that says whether we are ahead of our peers. */
import { fact } from '../statistics.mjs';
import { isOurs, titleOf } from './list.mjs';

/**
 * Whether ours has less than any other. Without ours that is not so, and
 * without another nothing is said.
 * @param {{ peer: object, amount: number }[]} seen
 * @param {string} unit of the amounts
 * @param {{ summary?: string, guard?: number }} [options] `guard`: how many
 *   times the best of the others a check refuses
 */
export function comparison(
  name,
  seen,
  unit,
  { summary = name, guard = 1 } = {}
) {
  const told = ({ amount }) =>
    `${amount.toFixed(amount < 100 ? 1 : 0)} ${unit}`;
  const ours = seen.find(({ peer }) => isOurs(peer));
  const [best] = seen
    .filter(({ peer }) => !isOurs(peer))
    .sort((one, other) => one.amount - other.amount);
  const floor = best ? `${told(best)} (${titleOf(best.peer)})` : 'no peer';
  const words = { summary, floor, reach: 'less' };
  if (!ours) return fact(name, false, 'not measured', words);
  if (!best) return fact(name, undefined, told(ours), words);
  const pass = ours.amount < best.amount;
  const text = `${told(ours)}, best peer ${told(best)}`;
  const refused = !(ours.amount <= guard * best.amount);
  return { ...fact(name, pass, text, words), refused };
}
