import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type { CliEngine } from '../../../plugin/plugin.ts';
import { askFile, askSettingsFile } from '../../asks/ask-files.ts';
import { connectionName } from '../../engines/connection.ts';
import type { Waiting } from '../spawn-request.ts';
import { connectAsks } from './connect-asks.ts';

const engine: CliEngine = {
  kind: 'cli',
  name: 'asking',
  description: '',
  command: 'x',
  args: () => [],
  connect: (server) => ({
    args: [server.name],
    env: {},
    files: { 'mcp.json': '{}' }
  }),
  asks: { access: ['read'], edits: [], reads: [] }
};

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-asking-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
});

function connect(again: Pick<Waiting, 'isPutBack' | 'isTakenOver'> = {}) {
  const record = recordWith({ ask: 'person' });
  const { access } = record;
  const request = { prompt: 'x', access, cwd: '/', asRoot: false };
  const program = {
    ...{ command: 'x', args: ['--own'] },
    ...{ environment: {}, isPlain: true }
  };
  const waiting = { record, engine, request, after: [], ...again };
  return connectAsks(program, waiting, directory, {
    bridge: { command: 'bridge', args: [] },
    tools: [],
    rules: { allow: [], deny: [] },
    parked: { command: 'parked', args: [] },
    parkAfterSeconds: 0,
    workspace: '/'
  });
}

test.each([
  ['was refused by the disk', { isPutBack: true }],
  ['ended with its server', { isTakenOver: true }]
])('a run whose first start %s is connected again', (_, again) => {
  const first = connect();
  expect(first.args).toEqual(['troupe-ask', '--own']);
  expect(connect(again)).toEqual(first);
  expect(existsSync(askFile(directory, askSettingsFile))).toBe(true);
  expect(existsSync(join(directory, connectionName, 'mcp.json'))).toBe(true);
});

test('the first start of a run removes nothing', () => {
  const other = join(directory, connectionName, 'other');
  mkdirSync(join(directory, connectionName));
  writeFileSync(other, '');
  connect();
  expect(existsSync(other)).toBe(true);
});
