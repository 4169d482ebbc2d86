import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mcpFlags } from '../../src/cli/commands/serve/mcp.ts';
import { tokenVariable } from '../../src/config/http.ts';
import {
  documentAt,
  firstColumn,
  packageRoot,
  sectionOf
} from '../kit/judges/documents.ts';

const page = documentAt('docs/guides/configuration.md');
const reference = documentAt('docs/reference/configuration.md');

/** Names that the page explains beyond the reference. */
function explained(heading: string): string[] {
  const section = sectionOf(page, heading);
  const [own = ''] = section.split(/^### /m);
  return firstColumn(own);
}

test.each([
  ['## Keys', '## Keys'],
  ['### Settings of an engine', '## `engines.<name>`'],
  ['### Settings of squads', '## `squad`'],
  ['### Settings of workers', '## `orchestrator`']
])('"%s" explains keys that the reference has under "%s"', (here, there) => {
  const keys = firstColumn(sectionOf(reference, there));
  expect(explained(here).length).toBeGreaterThan(3);
  expect(keys).toEqual(expect.arrayContaining(explained(here)));
});

test('the page has every variable that sets no key, and no other', () => {
  const names = [
    'src/config/config.ts',
    'src/config/overrides.ts',
    'src/config/trust.ts',
    'src/host/workspace-root.ts'
  ].flatMap(
    (file) =>
      readFileSync(join(packageRoot, file), 'utf8').match(
        /(?<=environment\.|')[A-Z]+_[A-Z_]+/g
      ) ?? []
  );
  const ofNoKey = names.filter((name) => !reference.text.includes(name));
  expect(explained('## Environment variables').toSorted()).toEqual(
    [...new Set([...ofNoKey, tokenVariable])].toSorted()
  );
});

test('the page has every flag of troupe mcp that sets no key, and no other', () => {
  const flags = Object.keys(mcpFlags).map((flag) => `--${flag}`);
  const named = sectionOf(page, '## Flags of `troupe mcp`').match(
    /^\| .*? \|/gm
  );
  const listed = named?.join(' ').match(/--[a-z-]+(?=`)/g) ?? [];
  expect(listed.toSorted()).toEqual(
    flags.filter((flag) => !reference.text.includes(`\`${flag}\``)).toSorted()
  );
});

test('the help of troupe mcp has every flag that it takes, and no other', () => {
  const commands = documentAt('docs/reference/command-line.md');
  const listed = firstColumn(sectionOf(commands, '## troupe mcp'));
  expect(listed.map((flag) => flag.split(' ')[0]).toSorted()).toEqual(
    Object.keys(mcpFlags)
      .map((flag) => `--${flag}`)
      .toSorted()
  );
});
