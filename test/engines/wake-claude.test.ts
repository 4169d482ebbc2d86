import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { terminalClients } from '../first-hour/clients.ts';
import { enter, init, type Outing, setOut } from '../first-hour/walk.ts';
import type { Action } from '../model-server/actions.ts';
import { claude, testWith } from './clis.ts';

const troupe = join(import.meta.dirname, '../../dist/troupe.cjs');

const client = terminalClients.find(({ cli }) => cli === claude);
const sentence = 'Let a rehearsal agent work while we talk.';

testWith(claude)(
  'an idle session of Claude Code goes on when its agent ends, and reads the answer',
  async () => {
    if (!client) throw new Error('There is no such client.');
    let wokenAt: number | undefined;
    const outing: Outing = await setOut(client, troupe, ({ prompt }) => {
      if (!prompt.includes(sentence)) return undefined;
      // Claude Code adds what the hook says to the conversation.
      const said = JSON.stringify(outing.model.requests.at(-1)?.body);
      const [, id] = report.exec(said) ?? [];
      if (id === undefined) return [spawning, say('It works; what else?')];
      wokenAt ??= Date.now();
      return [spawning, reading(id), say('The agent has answered.')];
    });
    const { workspace, screen } = outing;
    workspace.write(
      'troupe.config.json',
      JSON.stringify({ engines: { rehearsal: true } })
    );
    await init(outing, troupe, ['claude', '--yes', '--hooks']);
    await enter(outing, client);
    await screen.say(sentence);
    for (const tool of ['Spawn Rehearsal', 'Result']) {
      await screen.shows(new RegExp(`${tool}[\\s\\S]*Do you want to proceed`));
      await screen.answer({
        title: `whether it may call ${tool}`,
        shows: new RegExp(`${tool}[\\s\\S]*Do you want to proceed`),
        choose: /Yes, and don.t ask again/
      });
      if (tool !== 'Result') await screen.shows(/It works; what else\?/);
    }
    await screen.shows(/The agent has answered\./);
    const said = JSON.stringify(outing.model.requests.at(-1)?.body);
    expect(said).toContain('what I found');
    const [, id = ''] = report.exec(said) ?? [];
    const file = join(workspace.record, 'spawns', id, 'outcome.json');
    const { completed_at } = JSON.parse(readFileSync(file, 'utf8'));
    const seconds = (Number(wokenAt) - Date.parse(completed_at)) / 1000;
    process.stderr.write(`The idle session went on after ${seconds} s.\n`);
    // What has been read is not reported again.
    expect(said.split('troupe: agent')).toHaveLength(2);
  },
  240_000
);

/** What the hook says: an id, and no word of the agent. */
const report = /troupe: agent ([0-9a-f]{8}) \(rehearsal\) completed/;

const calling = (tool: string, args: object): Action => ({
  ...{ do: 'mcp', server: 'agents' },
  ...{ tool, arguments: args }
});
const say = (text: string): Action => ({ do: 'say', text });

const spawning = calling('spawn_rehearsal', {
  prompt: 'sleep 8\nsay what I found'
});
const reading = (agent_id: string) => calling('result', { agent_id });
