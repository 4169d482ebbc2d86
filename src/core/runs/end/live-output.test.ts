import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { CliEngine } from '../../../plugin/plugin.ts';
import { RunStore } from '../run-store.ts';
import { LiveOutput } from './live-output.ts';

/** Reads its progress from events that have some. */
const engine: CliEngine = {
  kind: 'cli',
  name: 'mine',
  description: 'For tests.',
  command: '/bin/sh',
  args: () => [],
  read: (reply, event) => {
    const { progress } = Object(event);
    return typeof progress === 'string' ? { ...reply, progress } : reply;
  }
};
const record = recordWith();

let output: LiveOutput;
let write: (text: string) => void;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const store = new RunStore(workspace.record);
  store.create(record, 'x', 'x');
  const stdout = join(store.directoryOf(record.agent_id), 'stdout');
  write = (text) => writeFileSync(stdout, text);
  output = new LiveOutput({ store, engineOf: () => engine });
});

test('the last words of an agent stay while its newer output has none', () => {
  const words = '{"progress":"reads"}\n';
  write(words);
  expect(output.lastWords(record)).toBe('reads');
  // More than is read of the end.
  write(words + '{"other":1}\n'.repeat(50_000));
  expect(output.lastWords(record)).toBe('reads');
  expect(output.known()).toEqual([record.agent_id]);
});

test('an output that has not grown is not read again', () => {
  write('{"progress":"reads"}\n');
  expect(output.lastWords(record)).toBe('reads');
  write('{"progress":"wrote"}\n');
  expect(output.lastWords(record)).toBe('reads');
  write('{"progress":"writes"}\n');
  expect(output.lastWords(record)).toBe('writes');
});
