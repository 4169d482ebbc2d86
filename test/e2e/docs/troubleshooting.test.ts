import { expect, test } from 'vitest';
import { hostErrorCodes } from '../../../src/core/errors.ts';
import { documentAt, fencedIn, sectionOf } from '../../kit/judges/documents.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';
import { symptomsOfAgents } from '../../symptoms/of-agents.ts';
import { symptomsOfClients } from '../../symptoms/of-clients.ts';
import { symptomsOfGroups } from '../../symptoms/of-groups.ts';
import { symptomsOfServers } from '../../symptoms/of-servers.ts';
import { createPlace } from '../../symptoms/provoke.ts';
import { expectShown, shownOf } from '../../symptoms/shown.ts';

const page = documentAt('docs/guides/troubleshooting.md');
/** What happens in a window of tmux alone. */
const inTmux = 'The window is full';

const provoked = {
  ...symptomsOfAgents,
  ...symptomsOfServers,
  ...symptomsOfGroups
};

for (const [heading, provoke] of Object.entries(provoked)) {
  const judge = heading === inTmux ? testTmux : test;
  judge(
    `what the page shows under "${heading}" is what troupe says`,
    async () => {
      expectShown(shownOf(page, heading), await provoke(createPlace()));
    }
  );
}

test('every message of the page is provoked, here or with the real clients', () => {
  const headings = [...page.text.matchAll(/^### (.+)$/gm)].map(
    ([, heading = '']) => heading
  );
  const withMessage = headings.filter((heading) =>
    fencedIn(sectionOf(page, `### ${heading}`)).some(
      ({ language }) => language === 'text'
    )
  );
  expect(withMessage.toSorted()).toEqual(
    [...Object.keys(provoked), ...Object.keys(symptomsOfClients)].toSorted()
  );
});

test('docs/reference/errors.md leads to the page from the codes that need more words', () => {
  const { text } = documentAt('docs/reference/errors.md');
  const rows = text.split('\n').filter((row) => row.startsWith('| `'));
  const linked = rows.filter((row) => row.includes('/troubleshooting.md#'));
  expect(linked.length).toBeGreaterThanOrEqual(15);
  const codes = page.text.match(/(?<=^### .*`)[a-z]+_[a-z_]+(?=`)/gm) ?? [];
  for (const code of codes.filter((one) => isCode(one)))
    expect(linked.join('\n'), code).toMatch(
      new RegExp(`^\\| \`${code}\``, 'm')
    );
});

function isCode(word: string): boolean {
  return hostErrorCodes.some((code) => code === word);
}
