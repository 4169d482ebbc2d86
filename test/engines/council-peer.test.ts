import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { stateSchema } from '../../src/core/council/state.ts';
import { documentAt, sectionOf } from '../kit/judges/documents.ts';
import {
  type CouncilServers,
  createCouncilServers,
  done,
  refusal,
  viewOf
} from '../kit/servers/council-calls.ts';
import { asks, startPeer, testWithPeer } from './council-peer.ts';

const test = testWithPeer();

const request = 'Which name?\nOne line, "quoted" \\ 😀\n\n## createdAt';
const words = {
  'bob 한글': '첫째 👩‍👩‍👧\n\n```json\n{"createdAt": 1}\n```\ttab\r\n',
  alice: '  Second, with blanks around\u2028  '
};
const conclusion = 'So be it.\n— alice 🏁';

describe('a council that the published program has written', () => {
  test('goes on in ours while it is open, and nothing of it is lost', async () => {
    const servers = openCouncil();
    const original = await peersHold(servers, { isClosed: false });
    const theirs = theirSchema.parse(JSON.parse(original.toString()));

    const server = await servers.start();
    const view = await viewOf(server, 'join_council', 'carol');
    expect(view).toMatchObject({
      session_id: theirs.session.id,
      status: 'active',
      request: {
        content: request,
        created_by: 'alice',
        created_at: theirs.requests[0]?.createdAt
      },
      responses: theirs.feedback.map(({ id, author, createdAt }) => ({
        id,
        author,
        content: new Map(Object.entries(words)).get(author),
        created_at: createdAt
      })),
      participants: [
        ...theirs.participants.map(({ agentName, lastSeen }) => ({
          agent_name: agentName,
          last_seen: lastSeen,
          responses: 1
        })),
        { agent_name: 'carol', responses: 0 }
      ]
    });
    expect(view.responses).toHaveLength(2);
    expect(readFileSync(`${servers.path}.v1.bak`)).toEqual(original);

    await done(server, 'send_response', {
      agent_name: 'alice',
      content: 'On.'
    });
    const { feedback } = servers.state();
    expect(feedback.map(({ author }) => author)).toEqual([
      'bob 한글',
      'alice',
      'alice'
    ]);
    expect(readFileSync(`${servers.path}.v1.bak`)).toEqual(original);
  });

  test('is returned with its conclusion when it is closed, and kept whole', async () => {
    const servers = openCouncil();
    const original = await peersHold(servers, { isClosed: true });
    const { session, participants } = theirSchema.parse(
      JSON.parse(original.toString())
    );

    const server = await servers.start();
    const view = await viewOf(server, 'get_current_session_data', 'alice');
    expect(view).toMatchObject({
      status: 'closed',
      request: { content: request },
      conclusion: {
        author: 'alice',
        content: conclusion,
        created_at: session.conclusion?.createdAt
      }
    });
    const late = { agent_name: 'bob 한글', content: 'Late.' };
    expect(await refusal(server.call('send_response', late))).toMatchObject({
      code: 'council_closed'
    });

    const started = await done(server, 'start_council', {
      agent_name: 'alice',
      request: 'Next?'
    });
    expect(started).toMatchObject({ previous_session_id: session.id });
    const kept = stateSchema().parse(
      JSON.parse(readFileSync(String(started.history_file), 'utf8'))
    );
    expect(kept.session).toMatchObject({ id: session.id, status: 'closed' });
    expect(kept.requests.map(({ content }) => content)).toEqual([request]);
    expect(kept.feedback.map(({ content }) => content)).toEqual(
      Object.values(words)
    );
    expect(kept.participants.map(({ agent_name }) => agent_name)).toEqual(
      participants.map(({ agentName }) => agentName)
    );
    expect(readFileSync(`${servers.path}.v1.bak`)).toEqual(original);
    const backups = readdirSync(dirname(servers.path)).filter((name) =>
      name.includes('.bak')
    );
    expect(backups).toEqual(['state.json.v1.bak']);
  });
});

test('the original that is kept can be put back for the published program', async () => {
  const servers = openCouncil();
  const original = await peersHold(servers, { isClosed: false });
  const server = await servers.start();
  await viewOf(server, 'join_council', 'carol');
  await server.close();
  copyFileSync(`${servers.path}.v1.bak`, servers.path);
  const peer = await startPeer(servers.workspace);
  const { text } = await asks(peer, 'join_council', { agent_name: 'alice' });
  await peer.close();
  expect(JSON.parse(text).request.content).toBe(request);
  const { feedback } = theirSchema.parse(JSON.parse(original.toString()));
  for (const { id } of feedback) expect(text).toContain(id);
});

test('the published tools and their inputs are what docs/guides/migrate says they are', async () => {
  const servers = openCouncil();
  const peer = await startPeer(servers.workspace);
  const theirs = inputsOf(await peer.request('tools/list'));
  await peer.close();
  const ours = inputsOf(await (await servers.start()).request('tools/list'));
  const { summon_agent, ...same } = theirs;
  expect(summon_agent).toContain('agent');
  expect(ours.summon_agent).toContain('engine');
  for (const [tool, inputs] of Object.entries(same))
    expect(ours[tool], tool).toEqual(expect.arrayContaining(inputs));
  expect(Object.keys(ours).toSorted()).toEqual(
    [...Object.keys(theirs), 'wait_for_responses'].toSorted()
  );
  const told = sectionOf(
    documentAt('docs/guides/migrate/agents-council.md'),
    '## Tools'
  );
  for (const tool of Object.keys(theirs)) expect(told).toContain(`\`${tool}\``);
});

const toolsSchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      inputSchema: z.object({
        properties: z.record(z.string(), z.unknown()).optional()
      })
    })
  )
});

/** The inputs of each tool there is. */
function inputsOf(listed: unknown): Record<string, string[]> {
  return Object.fromEntries(
    toolsSchema
      .parse(listed)
      .tools.map(({ name, inputSchema }) => [
        name,
        Object.keys(inputSchema.properties ?? {})
      ])
  );
}

function openCouncil(): CouncilServers {
  const servers = createCouncilServers();
  onTestFinished(() => servers.close());
  return servers;
}

/** Two processes of the published program hold a council. @returns its file */
async function peersHold(
  { workspace, path }: CouncilServers,
  { isClosed }: { isClosed: boolean }
): Promise<Buffer> {
  const [alice, bob] = await Promise.all([
    startPeer(workspace),
    startPeer(workspace)
  ]);
  try {
    await asks(alice, 'start_council', { agent_name: 'alice', request });
    await asks(bob, 'join_council', { agent_name: 'bob 한글' });
    await asks(bob, 'send_response', { content: words['bob 한글'] });
    await asks(alice, 'send_response', { content: words.alice });
    if (isClosed) await asks(alice, 'close_council', { conclusion });
  } finally {
    await Promise.all([alice.close(), bob.close()]);
  }
  expect(path).toBe(join(workspace.home, '.agents-council', 'state.json'));
  return readFileSync(path);
}

/** What its file holds, as far as we compare it. */
const theirSchema = z.object({
  version: z.literal(1),
  session: z.object({
    id: z.string(),
    conclusion: z.object({ createdAt: z.string() }).nullable()
  }),
  requests: z.array(z.object({ createdAt: z.string() })),
  feedback: z.array(
    z.object({ id: z.string(), author: z.string(), createdAt: z.string() })
  ),
  participants: z.array(
    z.object({ agentName: z.string(), lastSeen: z.string() })
  )
});
