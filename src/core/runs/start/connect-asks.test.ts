import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type { CliEngine } from '../../../plugin/plugin.ts';
import { askFile, askSettingsFile } from '../../asks/ask-files.ts';
import { connectionName } from '../../engines/connection.ts';
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

test('a run whose first start was refused by the disk is connected again', () => {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-asking-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const record = recordWith({ ask: 'person' });
  const { access } = record;
  const request = { prompt: 'x', access, cwd: '/', asRoot: false };
  const program = {
    ...{ command: 'x', args: ['--own'] },
    ...{ environment: {}, isPlain: true }
  };
  const connect = () =>
    connectAsks(program, engine, request, record, directory, {
      bridge: { command: 'bridge', args: [] },
      tools: [],
      rules: { allow: [], deny: [] },
      parked: { command: 'parked', args: [] },
      parkAfterSeconds: 0,
      workspace: '/'
    });
  const first = connect();
  expect(first.args).toEqual(['troupe-ask', '--own']);
  expect(connect()).toEqual(first);
  expect(existsSync(askFile(directory, askSettingsFile))).toBe(true);
  expect(existsSync(join(directory, connectionName, 'mcp.json'))).toBe(true);
});
