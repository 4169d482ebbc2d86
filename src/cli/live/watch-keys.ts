import { widthOf } from '../output/text.ts';

const gap = '  ';

/** The keys of the list, and the order in which they give way. */
const listKeys = [
  { keys: '↑↓ select', gives: 3 },
  { keys: 'Enter open' },
  { keys: 'f follow', gives: 5 },
  { keys: 'd diff', gives: 7 },
  { keys: 'r reply' },
  { keys: 'c cancel', gives: 8 },
  { keys: 'a/x answer', gives: 6 },
  { keys: 'y copy id', gives: 2 },
  { keys: 's squads', gives: 1 },
  { keys: '/ find', gives: 4 },
  { keys: '? help', gives: 9 },
  { keys: 'q quit' }
];

/** As many keys of the list as there is room for. */
export function listHint(columns: number): string {
  let shown = listKeys;
  const text = () => shown.map(({ keys }) => keys).join(gap);
  while (widthOf(text()) > columns) {
    const first = Math.min(...shown.map(({ gives = Infinity }) => gives));
    if (first === Number.POSITIVE_INFINITY) break;
    shown = shown.filter(({ gives }) => gives !== first);
  }
  return text();
}

export const pagerKeys =
  '↑↓ scroll  f follow  d diff  r reply  c cancel  a/x answer  q back';

/** The help that `?` shows. docs/guides/command-line.md names the main keys. */
export const watchHelp = [
  'troupe watch shows the agents and workers of this workspace, of all clients:',
  'running agents, workers, and the agents that ended last.',
  '',
  '  up, down, j, k        select an agent; in a text, scroll',
  '  PgUp, PgDn, b, space  a page',
  '  Home, End, g, G       first, last',
  '  Enter                 open: what it said; a result shown here counts as read',
  '  f                     follow: what it does and says, as it comes',
  '  d                     diff: the changes that it made to files',
  '  r                     reply: continues an agent that has ended',
  '  c                     cancel it, after a question; of a worker, its task',
  '  a                     answer what it asks: allow it, or type a text',
  '  x                     deny what it asks, with a reason',
  '  y                     copy its id (OSC 52)',
  '  s                     members of a squad together, or by time',
  '  /                     show only agents that have some words; Esc shows all',
  '  q, Esc                back; q in the list ends troupe watch',
  '',
  'The second line of an agent shows its quiet time, client, squad and activity.',
  'LINES counts added and removed lines, as git saw them when the agent ended.',
  'COST is in US dollars; "-" means unknown. Agents keep running when you quit.'
];
