import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JournalFiles } from '../../../src/core/audit/journal/journal-files.ts';
import { parseIac } from '../judges/iac-parser.ts';
import { until } from '../judges/until.ts';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** A record of the journal, as far as tests look at it. */
export interface Noted {
  type: string;
  agent_id: string;
}

/** A server that can be stopped between opening the journal and writing. */
export interface StoppableServer extends McpClient {
  /** Returns when its next record has a file and is not written. */
  stopsAtNextRecord: () => Promise<void>;
  goesOn: () => void;
}

/** A workspace in which the journal is rotated at about 30 KB. */
export interface RotationStage extends TempWorkspace {
  start: (name: string) => Promise<StoppableServer>;
  /** Every line of all segments and of the current file that is not empty. */
  lines: () => string[];
  segments: () => string[];
  /** The process that wrote down how an agent ended. */
  settledBy: (id: string) => number;
  /** Ids of all entries in IAC.md and its archive. */
  shown: () => { id: string; word: string }[];
}

/** Preloaded by a server: stops it just before it writes to the journal. */
const hook = `
const fs = require('node:fs');
const { openSync, writeSync } = fs;
const journals = new Set();
fs.openSync = (path, ...rest) => {
  const descriptor = openSync(path, ...rest);
  if ((rest[0] & fs.constants.O_APPEND) && /.iac\\.jsonl$/.test(String(path)))
    journals.add(descriptor);
  else journals.delete(descriptor);
  return descriptor;
};
fs.writeSync = (descriptor, ...rest) => {
  const sign = process.env.STOP_SIGN;
  if (journals.has(descriptor) && sign && fs.existsSync(sign)) {
    fs.unlinkSync(sign);
    process.kill(process.pid, 'SIGSTOP');
  }
  return writeSync(descriptor, ...rest);
};
require('node:module').syncBuiltinESMExports();
`;

export function createRotationStage(): RotationStage {
  const workspace = createTempWorkspace();
  const preload = workspace.write('hook.cjs', hook);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      engines: { rehearsal: true },
      iac: { entries: 20 },
      journal: { megabytes: 0.03 }
    })
  );
  const logs = join(workspace.path, 'logs');
  const files = new JournalFiles(join(workspace.record, 'iac.jsonl'));
  const paths = () => files.list().filter(({ size }) => size > 0);
  return {
    ...workspace,
    start: async (name) => {
      const sign = join(workspace.path, `stop-${name}`);
      const server = await startServer(workspace, {
        env: { NODE_OPTIONS: `--require=${preload}`, STOP_SIGN: sign }
      });
      return Object.assign(server, {
        stopsAtNextRecord: async () => {
          writeFileSync(sign, '');
          await until('its stop', () => isStopped(server.pid) || undefined);
        },
        goesOn: () => {
          process.kill(server.pid, 'SIGCONT');
        }
      });
    },
    lines: () =>
      paths().flatMap(({ path }) =>
        readFileSync(path, 'utf8').split('\n').filter(Boolean)
      ),
    segments: () =>
      files
        .list()
        .slice(0, -1)
        .map(({ name }) => name),
    settledBy: (id) => {
      const path = join(workspace.record, 'spawns', id, 'outcome.json');
      return JSON.parse(readFileSync(path, 'utf8')).settled_by.pid;
    },
    shown: () =>
      [join(logs, 'IAC.md'), ...archivesIn(join(logs, 'archive'))].flatMap(
        (path) =>
          existsSync(path) ? parseIac(readFileSync(path, 'utf8')).entries : []
      )
  };
}

function archivesIn(directory: string): string[] {
  return existsSync(directory)
    ? readdirSync(directory)
        .filter((name) => /^IAC-.*\.md$/.test(name))
        .map((name) => join(directory, name))
    : [];
}

function isStopped(pid: number): boolean {
  const state = execFileSync('ps', ['-o', 'state=', '-p', String(pid)]);
  return String(state).startsWith('T');
}
