import { HostError } from '../errors.ts';

/** The author of a response that a person gave in the page. */
export const personName = 'person';

/** Characters that take no room, or change the direction of the text. */
const unseen = /[\p{Cf}\p{Cc}\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** Letters of other alphabets that look like those of the name. */
const twins: Record<string, string> = {
  ...{ р: 'p', ρ: 'p', е: 'e', ε: 'e', ѕ: 's', о: 'o', ο: 'o', σ: 'o' },
  ...{ г: 'r', ո: 'n', п: 'n', η: 'n', օ: 'o', ᴏ: 'o', ᴘ: 'p', ᴇ: 'e' },
  ...{ ʀ: 'r', ꜱ: 's', ɴ: 'n' }
};

/**
 * Keeps an agent from responding under a name that reads like a person's.
 * @throws HostError `invalid_input`
 */
export function checkAgentName(name: string): void {
  const letters = Array.from(
    name.normalize('NFKD').replace(unseen, '').toLowerCase(),
    (letter) => twins[letter] ?? letter
  ).join('');
  const isFree =
    !/^\P{L}*person(\P{L}|$)/u.test(letters) &&
    !/^(an?|the)?person$/.test(letters.replaceAll(/\P{L}/gu, ''));
  if (isFree) return;
  throw new HostError(
    'invalid_input',
    `The agent_name ${JSON.stringify(name.slice(0, 60))} is for people.`,
    'Give the name of the agent.'
  );
}
