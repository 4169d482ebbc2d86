import { expect, test } from 'vitest';
import { blocksOf, documentAt } from '../../../test/kit/judges/documents.ts';
import { lineDiff } from '../init/plan-report.ts';
import { withEntry, withoutEntry } from './client-entry.ts';
import { type Client, clients } from './clients.ts';

const launch = { command: 'npx', args: ['-y', 'troupe', 'mcp'] };

function client(name: string): Client {
  const found = clients.find((one) => one.name === name);
  if (!found) throw new Error(`no client ${name}`);
  return found;
}

async function textOf(
  before: string | undefined,
  name: string,
  start = launch
): Promise<string> {
  const edit = await withEntry(before, client(name), start);
  return 'change' in edit && edit.text !== undefined
    ? edit.text
    : JSON.stringify(edit);
}

test('docs/start/clients.md shows the same entries', async () => {
  const path = '/absolute/path/to/troupe/dist/troupe.cjs';
  const ofClone = { command: 'node', args: [path, 'mcp'] };
  const document = documentAt('docs/start/clients.md');
  const [claude = '', , copilot = '', cursor = '', vscode = ''] = blocksOf(
    document,
    'json'
  );
  expect(await textOf(undefined, 'cursor', ofClone)).toBe(cursor);
  expect(await textOf(undefined, 'vscode', ofClone)).toBe(vscode);
  expect(JSON.parse(await textOf(undefined, 'claude', ofClone))).toEqual(
    JSON.parse(claude)
  );
  expect(JSON.parse(await textOf(undefined, 'copilot', ofClone))).toEqual(
    JSON.parse(copilot)
  );
  const [codex = ''] = blocksOf(document, 'toml');
  expect((await textOf(undefined, 'codex', ofClone)).trim()).toBe(codex.trim());
});

test('a new entry has the layout of the other entries', async () => {
  const before =
    '{\n\t// mine\n\t"mcpServers": {\n\t\t"y": {"command": "z"} // why\n\t}\n}';
  expect(await textOf(before, 'cursor')).toBe(
    `{
\t// mine
\t"mcpServers": {
\t\t"y": {"command": "z"}, // why
\t\t"agents": {
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "troupe", "mcp"]
\t\t}
\t}
}`
  );
});

test('the content of a TOML file stays unchanged, byte for byte', async () => {
  const before = '# mine\nmodel = "x"\n[mcp_servers.other]\ncommand = "y"';
  const after = await textOf(before, 'codex');
  expect(after.startsWith(`${before}\n\n[mcp_servers.agents]\n`)).toBe(true);
});

test.each([
  ['claude', '{"mcpServers": {"agents": {"command": "mine"}}}'],
  ['vscode', '{"servers": {"agents": {}}}'],
  ['claude', '{"mcpServers": {"agents": "npx -y troupe mcp"}}'],
  ['codex', '[mcp_servers.agents]\ncommand = "mine"\n'],
  ['codex', 'mcp_servers."agents".command = "mine"\n'],
  ['codex', ' [ mcp_servers . agents ]\n'],
  [
    'claude',
    '{"mcpServers": {"agents": {"command": "npx", "args": ["-y", "-p", "troupe", "council", "mcp"]}}}'
  ]
])('an entry of %s that is not ours stays: %s', async (name, before) => {
  const stays = { stays: 'foreign' };
  expect(await withEntry(before, client(name), launch)).toEqual(stays);
  expect(await withoutEntry(before, client(name))).toEqual(stays);
});

test.each([
  ['vscode', '{\n  "servers": {\n  '],
  ['claude', '[]'],
  ['claude', '// nothing'],
  ['claude', '{"mcpServers": []}'],
  ['codex', 'mcp_servers = { x = { command = "y" } }\n'],
  ['codex', 'model = \n']
])(
  'a file of %s that cannot be edited is left for the user: %s',
  async (name, before) => {
    expect(await withEntry(before, client(name), launch)).toEqual({
      problem: expect.any(String),
      entry: expect.stringContaining('agents')
    });
  }
);

test('a path with quotes and brackets is one string of TOML', async () => {
  const odd = { command: '/a [ "b"\\c/troupe', args: [] };
  const edit = await withEntry(undefined, client('codex'), odd);
  expect('text' in edit && edit.text).toContain(
    'command = "/a [ \\"b\\"\\\\c/troupe"\nargs = []\n'
  );
});

const clone = { command: 'node', args: ['/clone/dist/troupe.cjs', 'mcp'] };

test.each([
  [
    'claude',
    '{"mcpServers": {"agents": {"args": ["-y", "troupe", "mcp", "--toolsets", "all"], "command": "npx", "env": {"A": "1"}}}} // x',
    '{"mcpServers": {"agents": {"args": ["/clone/dist/troupe.cjs", "mcp", "--toolsets", "all"], "command": "node", "env": {"A": "1"}}}} // x'
  ],
  [
    'codex',
    '[mcp_servers.agents] # ours\nargs = ["-y", "troupe", "mcp"]\r\nmine = 1\ncommand = \'npx\'\n[mcp_servers.agents.env]\ncommand = "x"\n',
    '[mcp_servers.agents] # ours\nargs = ["/clone/dist/troupe.cjs", "mcp"]\r\nmine = 1\ncommand = "node"\n[mcp_servers.agents.env]\ncommand = "x"\n'
  ]
])(
  'an entry of %s that starts another copy gets a new command, and nothing else changes',
  async (name, before, text) => {
    const edit = await withEntry(before, client(name), clone);
    expect(edit).toEqual({ change: 'update', text });
    const again = await withEntry(text, client(name), clone);
    expect(again).toEqual({ stays: 'ours' });
  }
);

test.each([
  ['a wrapper', 'env', ['X=1', 'npx', '-y', 'troupe', 'mcp']],
  ['a version', 'npx', ['-y', 'troupe@0.1.0', 'mcp']],
  ['more flags', 'node', ['/clone/dist/troupe.cjs', 'mcp', '--strict']]
])('a start with %s stays', async (_, command, args) => {
  const before = JSON.stringify({ mcpServers: { agents: { command, args } } });
  const edit = await withEntry(before, client('claude'), clone);
  expect(edit).toEqual({ stays: 'ours' });
});

test.each([
  [
    'claude',
    '{"mcpServers":{"agents":{"command":"troupe","args":["mcp"]}}}',
    '{"mcpServers":{}}'
  ],
  [
    'claude',
    '{"mcpServers": {"a": 1, /* x */ "agents": {"command": "npx", "args": ["troupe", "mcp"]} /* y */, "z": 2}}',
    '{"mcpServers": {"a": 1, /* x */ /* y */ "z": 2}}'
  ],
  [
    'codex',
    'a = 1\n[mcp_servers.agents]\ncommand = "npx"\nargs = [\n  "-y", "troupe",\n  "mcp"\n]\n\n# of b\n[b]\nc = 2\n\n[mcp_servers.agents.env]\nX = "1"\n[mcp_servers.d]\n',
    'a = 1\n\n# of b\n[b]\nc = 2\n[mcp_servers.d]\n'
  ]
])(
  'an entry of %s in another layout is removed, and comments stay: %s',
  async (name, before, text) => {
    const edit = await withoutEntry(before, client(name));
    expect(edit).toEqual({ change: 'remove', text });
  }
);

test('a diff shows the changed lines and the lines around them', () => {
  expect(lineDiff('a\nb\nc\nd\ne\n', 'a\nb\nc\nx\ne\n')).toEqual([
    ...['  b', '  c', '- d', '+ x', '  e']
  ]);
  expect(lineDiff('', 'a\n')).toEqual(['+ a']);
  expect(lineDiff('a\na\n', 'a\na\na\n')).toEqual(['  a', '  a', '+ a']);
});
