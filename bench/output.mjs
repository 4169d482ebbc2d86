/**
 * Measures agents that print 100 MB or 1 GB: time and the server's memory,
 * against the same program started directly with a file as its stdout. The
 * output is plain text, which is the answer, or JSON lines, which a plugin's
 * `read` reduces; it comes from `cat`, or from a Node program that writes line
 * by line, as agents do.
 *
 *     --gigabyte-runs 0   only 100 MB, as in `npm test`; default: 3
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  statSync,
  writeFileSync,
  writeSync
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fact, row } from './statistics.mjs';
import {
  createWorkspace,
  runBench,
  startServer,
  timeChild
} from './support.mjs';

const megabyte = 1024 * 1024;
const answerChars = megabyte;
/** A multiple of the floor. */
const limit = 1.5;
/** Megabytes above the memory before the call. */
const memoryLimit = { unit: 'MB', limit: 30, guard: 45, absolute: true };

await runBench(
  5,
  async (options) => {
    const gigabyteRuns = Number(options['gigabyte-runs']);
    const workspace = createWorkspace();
    const text = plainText(100 * megabyte);
    const lines = jsonLines(100 * megabyte);
    const gigabyte = plainText(1024 * megabyte);
    const all = [
      catOf(workspace, 'plain', '100 MB of plain text by `cat`', text, 8),
      catOf(workspace, 'lines', '100 MB of JSON lines by `cat`', lines, 40),
      programOf(
        workspace,
        'madeplain',
        '100 MB of plain text by a program',
        text,
        3
      ),
      programOf(
        workspace,
        'madelines',
        '100 MB of JSON lines by a program',
        lines,
        5
      )
    ];
    // Each run writes 2 GB.
    if (gigabyteRuns > 0)
      all.push(
        catOf(workspace, 'giga', '1 GB of plain text by `cat`', gigabyte)
      );
    const settings = {
      plugins: all.map(({ plugin }) => plugin),
      toolsets: ['spawn', 'runs'],
      outputLimitMegabytes: 4096
    };
    writeFileSync(
      join(workspace.path, '.trouperc.json'),
      JSON.stringify(settings)
    );
    try {
      for (let run = 0; run < options.runs; run += 1)
        for (const agent of all) {
          if (agent.name === 'giga' && run >= gigabyteRuns) continue;
          agent.floors.push(await timeAlone(workspace, agent));
          // Else the first sync of the agent's record writes the floor's
          // output to the disk, too.
          execFileSync('sync');
          agent.samples.push(await runOnce(options, workspace, agent));
        }
    } finally {
      workspace.remove();
    }
    return {
      title: '100 MB and 1 GB of output',
      rows: all.flatMap(rowsOf),
      notes: [
        'Floor of the times: the same program started directly, its stdout a file. `cat` of what the system has in memory puts out some 8 GB/s; the program is one of Node that writes line by line, as agents do. A fresh server each time; memory is its VmHWM, by how much it is more than before the call.',
        'What is done after its end: of plain text the bytes are read once more to count their characters; each JSON line is parsed, given to the plugin, and what that makes of it is checked.'
      ]
    };
  },
  { 'gigabyte-runs': { type: 'string', default: '3' } }
);

/** Runs the agent once in a new server, which is pinged meanwhile. */
async function runOnce(options, workspace, { name, bytes, chars }) {
  const server = await startServer(options, workspace);
  try {
    await server.request('tools/list');
    const before = server.memory().now;
    const cpuBefore = server.cpuMs();
    const from = performance.now();
    const { data } = await server.call(`spawn_${name}`, { prompt: 'Go.' });
    const folder = join(workspace.record, 'spawns', data.agent_id);
    const outcome = join(folder, 'outcome.json');
    let lag = 0;
    // Polls, because a watch of the folder would report each written line.
    while (!existsSync(outcome)) {
      const asked = performance.now();
      lag = Math.max(lag, (await server.request('ping')).at - asked);
      await delay(1);
    }
    const ms = performance.now() - from;
    const cpu = server.cpuMs() - cpuBefore;
    const result = await server.call('result', { agent_id: data.agent_id });
    const totalChars = result.data.total_chars ?? result.data.result.length;
    const kept = statSync(join(folder, 'stdout')).size;
    const right = result.data.success && totalChars === chars && kept === bytes;
    const memory = server.memory().peak - before;
    return { ms, cpu, lag, memory, resultMs: result.ms, right, totalChars };
  } finally {
    await server.close();
  }
}

function rowsOf({ name, meant, guard, samples, floors }) {
  const of = (what) => samples.map((sample) => sample[what]);
  const time = `${meant}: spawn called → outcome on disk`;
  const memory = `${meant}: memory`;
  return [
    row(time, of('ms'), { floor: floors, limit, guard, summary: meant }),
    row(`${meant}: processor time of the server`, of('cpu')),
    row(`${meant}: slowest ping meanwhile`, of('lag')),
    row(`${meant}: \`result\` answered`, of('resultMs')),
    row(memory, of('memory'), {
      ...memoryLimit,
      ...(name === 'giga' ? { summary: memory } : {})
    }),
    fact(
      `${meant}: size of the answer, bytes on disk`,
      of('right').every(Boolean),
      `${samples[0].totalChars} characters`
    )
  ];
}

/** The whole output is the answer; a few characters are not ASCII. */
function plainText(bytes) {
  const line = `${'The quick brown fox jumps over it. '.repeat(29)}…\n`;
  const count = Math.ceil(bytes / Buffer.byteLength(line));
  return { line, count, last: '', chars: count * line.length, read: '' };
}

/** Events of about 1 KB, the last with an answer of 1 MB. */
function jsonLines(bytes) {
  const event = { type: 'progress', text: 'word '.repeat(200) };
  const line = `${JSON.stringify(event)}\n`;
  const end = { type: 'done', text: 'a'.repeat(answerChars) };
  const read = `read: (reply, event) => event.type === 'done'
    ? { ...reply, text: event.text, finished: true }
    : { ...reply, progress: event.text.slice(0, 60) },`;
  const last = `${JSON.stringify(end)}\n`;
  const count = Math.ceil(bytes / Buffer.byteLength(line));
  return { line, count, last, chars: answerChars, read };
}

/** An agent that prints an existing file. */
function catOf(workspace, name, meant, text, guard) {
  const output = fill(workspace, `${name}.txt`, text);
  const agent = install(workspace, name, text, `exec cat ${output}`);
  return { ...agent, meant, guard };
}

/** An agent that writes line by line. */
function programOf(workspace, name, meant, text, guard) {
  const { line, count, last } = text;
  const program = workspace.file(
    `${name}-program.mjs`,
    `const [line, last] = ${JSON.stringify([line, last])};
for (let left = ${count}; left > 0; left -= 1) process.stdout.write(line);
process.stdout.write(last);
`
  );
  const command = `exec ${process.execPath} ${program}`;
  return { ...install(workspace, name, text, command), meant, guard };
}

function install(workspace, name, text, command) {
  const { line, count, last, chars, read } = text;
  const program = workspace.file(name, `#!/bin/sh\n${command}\n`, 0o755);
  const plugin = workspace.file(
    `${name}.mjs`,
    `export default {
  kind: 'cli',
  name: '${name}',
  description: 'Puts out a lot.',
  command: ${JSON.stringify(program)},
  ${read}
  args: () => []
};
`
  );
  const bytes = count * Buffer.byteLength(line) + Buffer.byteLength(last);
  return {
    name,
    program,
    plugin,
    bytes,
    chars,
    floors: [],
    samples: []
  };
}

function fill(workspace, name, { line, count, last }) {
  const path = workspace.file(name, '');
  const file = openSync(path, 'a');
  const atOnce = 1000;
  const block = Buffer.from(line.repeat(atOnce));
  for (let left = count; left >= atOnce; left -= atOnce) writeSync(file, block);
  writeSync(file, line.repeat(count % atOnce));
  writeSync(file, last);
  closeSync(file);
  return path;
}

async function timeAlone(workspace, { program }) {
  const copy = openSync(join(workspace.base, 'copy'), 'w');
  try {
    return await timeChild(program, [], { stdio: ['ignore', copy, 'ignore'] });
  } finally {
    closeSync(copy);
  }
}
