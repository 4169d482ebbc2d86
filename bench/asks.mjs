/**
 * Measures asks: from the moment at which an agent's ask is dated until a wait
 * returns it, and the private memory of the process that waits for the answer,
 * also in place of a parked program.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { privateMegabytes, processesOf } from './processes.mjs';
import { fact, row } from './statistics.mjs';
import { createWorkspace, runBench, startServer } from './support.mjs';

const visibleMs = 100;
const mostMegabytes = 10;
/** How many agents are parked, one after the other. */
const parkedRuns = 5;
const parkAfter = 0.2;
/** After this time, a bridge has done what it does at its start. */
const settledMs = 1000;

await runBench(40, async (options) => {
  const workspace = createWorkspace();
  workspace.file(
    'workspace/.trouperc.json',
    JSON.stringify({ engines: { rehearsal: true } })
  );
  const server = await startServer(options, workspace);
  const samples = { visible: [], memory: [] };
  try {
    for (let run = 0; run < options.runs; run += 1) {
      const { data: agent } = await server.call('spawn_rehearsal', {
        prompt: 'sleep 0.2\npermit make',
        access: 'read',
        ask: 'coordinator'
      });
      const { data } = await server.call('wait_for_agents', {});
      const seenAt = Date.now();
      const [ask] = data.asks ?? [];
      if (ask?.agent_id !== agent.agent_id) throw new Error('no ask');
      const { asked_at, bridge } = askIn(workspace, ask.agent_id);
      samples.visible.push(seenAt - Date.parse(asked_at));
      if (run % 4 === 0) {
        await delay(settledMs);
        samples.memory.push(privateMegabytes(bridge.pid));
      }
      await server.call('answer_agent', {
        ask_id: ask.ask_id,
        decision: 'allow'
      });
      await server.call('wait_for_agents', {});
    }
    await server.close();
  } finally {
    workspace.remove();
  }
  const parked = await parkedMemory(options);
  const visible = row('ask dated → returned by a wait', samples.visible);
  return {
    title: 'Asks',
    rows: [
      visible,
      fact(
        `99 of 100 within ${visibleMs} ms`,
        visible.p99 <= visibleMs,
        `${visible.p99.toFixed(0)} ms`,
        {
          summary: 'an agent asks → a wait returns it, 99 of 100',
          reach: `< ${visibleMs} ms`
        }
      ),
      row('private memory of what waits for an answer', samples.memory, {
        unit: 'MB',
        limit: mostMegabytes,
        absolute: true,
        summary: 'private memory of what waits for an answer to an ask'
      }),
      row('private memory of what waits for a parked agent', parked, {
        unit: 'MB',
        limit: mostMegabytes,
        absolute: true
      })
    ],
    notes: [
      'The program that asks waits, too, with the memory that it has: of the real ones 150 to 350 MB. A parked agent has no program until it is answered (`asks.parkAfter`).'
    ]
  };
});

function askIn(workspace, id) {
  const file = join(workspace.record, 'spawns', id, 'asks', '1.json');
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The memory of the processes that wait in place of parked programs. */
async function parkedMemory(options) {
  const workspace = createWorkspace();
  workspace.file(
    'workspace/.trouperc.json',
    JSON.stringify({ engines: { rehearsal: true }, asks: { parkAfter } })
  );
  const server = await startServer(options, workspace);
  const samples = [];
  try {
    for (let run = 0; run < parkedRuns; run += 1) {
      const { data: agent } = await server.call('spawn_rehearsal', {
        prompt: 'permit make',
        access: 'read',
        ask: 'coordinator'
      });
      const id = agent.agent_id;
      const folder = join(workspace.record, 'spawns', id);
      while (!existsSync(join(folder, 'asks', 'cleared'))) await delay(20);
      await delay(settledMs);
      const waiting = processesOf(folder).find((pid) => isParked(pid, folder));
      samples.push(privateMegabytes(waiting));
      const ask_id = `${id}-1`;
      await server.call('answer_agent', { ask_id, decision: 'allow' });
      await server.call('wait_for_agents', { agent_ids: [id] });
    }
    await server.close();
  } finally {
    workspace.remove();
  }
  return samples;
}

function isParked(pid, folder) {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return words[1]?.endsWith('parked.cjs') && words[2] === folder;
}
