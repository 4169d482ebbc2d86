import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { expect, test } from 'vitest';
import { withEntry, withoutEntry } from './client-entry.ts';
import { type Client, clients } from './clients.ts';

const launch = { command: 'npx', args: ['-y', 'troupe', 'mcp'] };

function client(name: string): Client {
  const found = clients.find((one) => one.name === name);
  if (!found) throw new Error(`no client ${name}`);
  return found;
}

/**
 * Adds the entry, removes it and checks that the original is restored.
 * Returns the text with the entry, or the edit that changes nothing.
 */
async function roundTrip(before: string | undefined, one: Client) {
  const edit = await withEntry(before, one, launch);
  if (!('change' in edit) || edit.text === undefined) return edit;
  const again = await withEntry(edit.text, one, launch);
  expect(again).toEqual({ stays: 'ours' });
  const back = await withoutEntry(edit.text, one);
  expect(back).toEqual({ change: 'remove', text: before });
  return edit.text;
}

const newline = fc.constantFrom('\n', '\r\n');
const comment = fc.constantFrom('// mine', '/* a // b */', '/* a\n b */', '//');

/** White space and comments between two tokens. */
const gap = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(' ', '\n', '  ', '\t') },
      { weight: 1, arbitrary: comment.map((text) => `${text}\n`) }
    ),
    { maxLength: 4 }
  )
  .map((parts) => parts.join(''));

const scalar = fc.oneof(
  fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.integer().map(String),
  fc.constantFrom('null', 'true', '{}', '[]', '[1, 2,]', '{"x": {"y": 1}}')
);

function objectOf(
  values: fc.Arbitrary<string>,
  name: fc.Arbitrary<string>
): fc.Arbitrary<string> {
  const member = fc.tuple(name, gap, gap, values, gap);
  return fc
    .tuple(
      fc.uniqueArray(member, { maxLength: 3, selector: ([key]) => key }),
      gap,
      fc.boolean(),
      gap
    )
    .map(([members, first, hasComma, last]) => {
      const inner = members.map(
        ([key, a, b, value, c]) => `${a}${JSON.stringify(key)}:${b}${value}${c}`
      );
      const comma = hasComma && members.length > 0 ? ',' : '';
      return `{${first}${inner.join(',')}${comma}${last}}`;
    });
}

const servers = objectOf(scalar, fc.constantFrom('x', 'y', 'agent', 'z z'));
const documents = fc
  .tuple(
    fc.constantFrom('', '\uFEFF'),
    gap,
    objectOf(
      fc.oneof(scalar, servers),
      fc.constantFrom('theme', '$schema', 'a', 'mcpServers')
    ),
    gap,
    newline
  )
  .map(([bom, before, body, after, end]) =>
    `${bom}${before}${body}${after}`.replaceAll('\n', end)
  );

test('adding and removing an entry restores any JSON file byte for byte', async () => {
  let edited = 0;
  const gemini = client('gemini-cli');
  await fc.assert(
    fc.asyncProperty(documents, async (before) => {
      const after = await roundTrip(before, gemini);
      if (typeof after !== 'string') return;
      edited += 1;
      const { agents, ...others } = parse(after).mcpServers;
      expect(agents).toEqual({ ...launch, timeout: 600_000 });
      expect(others).toEqual(
        parse(before.replace('\uFEFF', '')).mcpServers ?? {}
      );
    }),
    { numRuns: 1500 }
  );
  expect(edited).toBeGreaterThan(1000);
});

const line = fc.constantFrom(
  'model = "x"',
  '# [mcp_servers.agents]',
  '',
  '  # mine',
  'list = [\n  [1, 2],\n  [3]\n]',
  'text = """\n[a]\n"""',
  'words = """\n[mcp_servers.agents]\n"""',
  'when = 1979-05-27T07:32:00Z',
  'big = 123456789012345678901',
  "'odd key' = 1.5 # why"
);
const heading = fc.constantFrom(
  '[mcp_servers.other]',
  '[mcp_servers]',
  '[mcp_servers.agents2]',
  '[ mcp_servers . "x y" ]',
  '[[things]]',
  '[projects."/project"]'
);
const tomls = fc
  .tuple(
    fc.array(fc.array(line, { maxLength: 4 }), { maxLength: 1 }),
    fc.array(fc.tuple(heading, fc.uniqueArray(line, { maxLength: 4 })), {
      maxLength: 4
    }),
    fc.constantFrom('', '\n', '\n\n', '\n# the end'),
    newline
  )
  .map(([top, tables, end, ending]) =>
    [...top.flat(), ...tables.flatMap(([head, lines]) => [head, ...lines])]
      .join('\n')
      .concat(end)
      .replaceAll('\n', ending)
  );

test('adding and removing an entry restores any TOML file byte for byte', async () => {
  let edited = 0;
  await fc.assert(
    fc.asyncProperty(tomls, async (before) => {
      const after = await roundTrip(before, client('codex'));
      if (typeof after !== 'string') return;
      edited += 1;
      expect(parseToml(after, { integersAsBigInt: 'asNeeded' })).toMatchObject({
        mcp_servers: { agents: launch }
      });
    }),
    { numRuns: 1000 }
  );
  expect(edited).toBeGreaterThan(300);
});

test.each([
  ...[undefined, '', '\n', '{}', '{}\n', '{\n}\n', '{ }', ' {}'],
  ...[
    '{"mcpServers": {}}',
    '{\n  "mcpServers": {}\n}\n',
    '{"mcpServers":{\n}}'
  ],
  ...[
    '{\n  // mine\n}',
    '{"mcpServers": {/* none */}}',
    '{"a": 1,}',
    '\uFEFF{}'
  ],
  ...['{\n\t"a": 1 // one\n}', '{"a": 1 // one\n}', '{\r\n  "a": 1\r\n}\r\n']
])('the JSON file %j is restored', async (before) => {
  expect(await roundTrip(before, client('claude'))).toEqual(expect.any(String));
});

test.each([
  ...[undefined, '', '\n', '# mine', '# mine\n', 'a = 1\r\n', 'a = 1'],
  ...['[mcp_servers]\n', '[mcp_servers.x]\ncommand = "y"\n\n', '\uFEFFa = 1\n']
])('the TOML file %j is restored', async (before) => {
  expect(await roundTrip(before, client('codex'))).toEqual(expect.any(String));
});
