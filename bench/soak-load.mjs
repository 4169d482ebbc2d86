/**
 * The workspace and the mixed load of soak.mjs, which covers all calls of a
 * server and checks each answer.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Installs an engine whose program hangs or fails when its prompt says so. */
export function configure(workspace) {
  const program = workspace.file(
    'standin',
    `#!/bin/sh
case "$(cat)" in
  *HANG*) exec sleep 600 ;;
  *FAIL*) echo 'told to fail' >&2; exit 3 ;;
esac
echo '{"text":"all is well"}'
`,
    0o755
  );
  const plugin = workspace.file(
    'standin.mjs',
    `export default {
  kind: 'cli',
  name: 'standin',
  description: 'A stand-in that exits at once.',
  command: ${JSON.stringify(program)},
  args: () => [],
  read: (reply, event) => ({ ...reply, text: event.text, finished: true })
};
`
  );
  const config = {
    plugins: [plugin],
    engines: { standin: {}, rehearsal: {} },
    toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
    squad: { engine: 'standin' },
    orchestrator: { backend: 'process', engine: 'rehearsal' }
  };
  writeFileSync(join(workspace.path, '.trouperc.json'), JSON.stringify(config));
}

/** One round of all calls; none is pending afterwards. */
export async function round(server, index) {
  await runs(server, index);
  await ends(server);
  await squad(server);
  await refusals(server);
  await council(server, index);
  await reads(server);
}

async function runs(server, index) {
  const spawned = await Promise.all(
    Array.from({ length: 5 }, (_, n) =>
      server.call('spawn_standin', {
        prompt: `Task ${index}/${n}. ${'Some words more. '.repeat(20)}`,
        request_id: `${index}/${n}`
      })
    )
  );
  const agent_ids = spawned.map(({ data }) => data.agent_id);
  const { result } = await server.request('tools/call', {
    name: 'wait_for_agents',
    arguments: { agent_ids },
    _meta: { progressToken: index }
  });
  expect(result.structuredContent.status, 'all_completed');
  for (const agent_id of agent_ids) {
    const { data } = await server.call('result', { agent_id });
    expect(data.result, 'all is well');
  }
}

async function ends(server) {
  const spawn = async (prompt) =>
    (await server.call('spawn_standin', { prompt })).data.agent_id;
  const [hanging, failing] = [await spawn('HANG'), await spawn('FAIL')];
  // A wait that its client cancels.
  const id = server.start('tools/call', {
    name: 'wait_for_agents',
    arguments: { agent_ids: [hanging] }
  });
  await server.request('ping');
  server.send({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: id, reason: 'enough' }
  });
  await server.call('cancel_agent', { agent_id: hanging, reason: 'enough' });
  const { data } = await server.call('wait_for_agents', {
    agent_ids: [hanging, failing]
  });
  expect(
    data.results.map(({ status }) => status).join(),
    'canceled,failed',
    data
  );
}

async function squad(server) {
  const member = { roleId: 'code-reviewer', task: 'Look at it.' };
  const { data } = await server.call('start_squad_members', {
    members: [member, member],
    background: true
  });
  const { data: waited } = await server.call('wait_for_agents', {
    squadId: data.squadId
  });
  expect(waited.status, 'all_completed');
  await server.call('second_opinion', {
    question: 'Is all well?',
    engines: ['standin']
  });
}

async function refusals(server) {
  for (const [name, input] of [
    ['spawn_standin', { prompt: '' }],
    ['result', { agent_id: 7 }],
    ['cancel_agent', { agent_id: '00000000' }],
    ['no_such_tool', {}]
  ]) {
    const { result } = await server.request('tools/call', {
      name,
      arguments: input
    });
    expect(result.isError, true);
  }
}

async function council(server, index) {
  const one = { agent_name: 'one' };
  const two = { agent_name: 'two' };
  await server.call('start_council', { ...one, request: `Question ${index}?` });
  await server.call('join_council', two);
  const waiting = server.call('wait_for_responses', one);
  await server.call('send_response', { ...two, content: 'Yes. '.repeat(100) });
  await waiting;
  await server.call('send_response', { ...one, content: 'No.' });
  const { data } = await server.call('summon_agent', { engine: 'standin' });
  await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  await server.call('get_current_session_data', { ...two, cursor: null });
  await server.call('close_council', { ...one, conclusion: 'So it is.' });
}

async function reads(server) {
  await server.request('ping');
  await server.request('tools/list');
  await server.call('list', { limit: 50 });
  await server.call('list_roles');
}

/** Creates a worker, follows its resources while it works, and deletes it. */
export async function worker(server, tasks) {
  const { data } = await server.call('agent_create', {
    name: 'soak',
    role: 'You do what the tasks say.'
  });
  const { agent_id } = data;
  const { result } = await server.request('resources/list');
  const uris = result.resources.map(({ uri }) => uri);
  for (const uri of uris) await server.request('resources/subscribe', { uri });
  let since_seq = 0;
  for (let task = 0; task < tasks; task += 1) {
    await server.call('task_enqueue', {
      agent_id,
      task: { payload: 'say done' }
    });
    for (let ended = false; !ended; ) {
      const { data } = await server.call('events_read', {
        agent_id,
        since_seq
      });
      since_seq = data.last_seq;
      ended = data.events.some(({ type }) => type === 'result');
      if (!ended) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  await server.call('agent_list', { scope: 'all' });
  for (const uri of uris) {
    await server.request('resources/read', { uri });
    await server.request('resources/unsubscribe', { uri });
  }
  await server.call('agent_delete', { agent_id });
}

function expect(actual, wanted, seen) {
  if (actual !== wanted)
    throw new Error(`${actual} for ${wanted} ${JSON.stringify(seen) ?? ''}`);
}
