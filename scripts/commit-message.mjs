/** The types of commits; CONTRIBUTING.md has the same list. */
export const types = [
  'bench',
  'build',
  'chore',
  'ci',
  'docs',
  'feat',
  'fix',
  'perf',
  'refactor',
  'revert',
  'style',
  'test'
];

const longest = 100;
const form = /^(?<type>[a-z]+)(\([\w ,./-]+\))?!?: (?<subject>\S.*)$/;

/**
 * The faults of a message that is not a conventional commit.
 * @param {string} message
 * @returns {string[]} one sentence each; empty for a valid message
 */
export function faultsOf(message) {
  const [first = '', second = ''] = message.trimEnd().split('\n');
  const { type, subject } = form.exec(first)?.groups ?? {};
  const faults = [];
  if (type === undefined)
    faults.push('The first line is not "type(scope): subject".');
  else if (!types.includes(type))
    faults.push(`"${type}" is not one of ${types.join(', ')}.`);
  if (subject?.endsWith('.')) faults.push('The subject ends with a full stop.');
  if (first.length > longest)
    faults.push(`The first line is longer than ${longest} characters.`);
  if (second !== '') faults.push('The second line is not empty.');
  return faults;
}
