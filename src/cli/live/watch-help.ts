/** What `?` shows. docs/command-line.md has the same keys. */
export const watchHelp = [
  'troupe watch shows the agents and workers of this workspace, whoever started',
  'them: those at work, workers, and those that ended last.',
  '',
  '  up, down, j, k        select an agent; in a text, scroll',
  '  PgUp, PgDn, b, space  a page',
  '  Home, End, g, G       to the first, to the last',
  '  Enter                 open: what it said; a result that is shown was read',
  '  f                     follow: what it does and says, as it comes',
  '  c                     cancel it, after a question; of a worker, its task',
  '  /                     show only agents that have some words; Esc shows all',
  '  q, Esc                back; q in the list ends troupe watch',
  '',
  'STATE is green for done, red for failed, yellow for at work, out of time or',
  'interrupted. LINES counts what it added and removed, seen by git when it ended.',
  'COST is in US dollars; "-" is not known. Agents go on when you quit.'
];
