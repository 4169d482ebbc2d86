import { writeFileSync } from 'node:fs';
import { nesting } from '../kit/agents/nesting-agent.ts';
import { councilFileOf } from '../kit/servers/council-servers.ts';
import { createOrchestratorStage } from '../kit/servers/orchestrator-stage.ts';
import { createNestingStage } from '../kit/workspaces/nesting-stage.ts';
import { type Provoke, rehearsed, said } from './provoke.ts';

/** Symptoms of squads, councils and workers. */
export const symptomsOfGroups: Record<string, Provoke> = {
  '`at_capacity`': async () => {
    const { serve, parents, answers } = createNestingStage({
      maxConcurrent: 1
    });
    await serve();
    const spawn = {
      tool: 'spawn_nester',
      arguments: { prompt: nesting({ calls: [] }) }
    };
    const [[answer] = []] = await answers(await parents(1, [spawn]));
    return String(answer?.data.error);
  },

  '`unknown_role`': async ({ serve }) =>
    said(await serve(), 'start_squad_members', {
      members: [{ roleId: 'backend-dev', task: 'x' }]
    }),

  '`template_invalid`': async ({ serve, workspace }) => {
    workspace.write('run.template', 'claude -p "<%= prompt %>" | jq .result\n');
    const env = { RUN_TEMPLATE_PATH: 'run.template' };
    return said(await serve({ env }), 'start_squad_members', {
      members: [{ roleId: 'debugger', task: 'x' }]
    });
  },

  'The agents do not meet': async ({ serve }) =>
    said(await serve(), 'join_council', { agent_name: 'codex' }),

  'It is called `claude#2`': async ({ serve }) => {
    const [one, two] = [await serve(), await serve()];
    const opened = { agent_name: 'claude', request: 'x' };
    await one.call('start_council', opened);
    return said(two, 'join_council', { agent_name: 'claude' }, 'message');
  },

  '`session_replaced`': async ({ serve }) => {
    const [one, two] = [await serve(), await serve()];
    await one.call('start_council', { agent_name: 'claude', request: 'x' });
    await two.call('join_council', { agent_name: 'codex' });
    await one.call('start_council', { agent_name: 'claude', request: 'y' });
    return said(two, 'send_response', { agent_name: 'codex', content: 'z' });
  },

  '`state_invalid`': async ({ serve, workspace }) => {
    const server = await serve();
    const opened = { agent_name: 'claude', request: 'x' };
    await server.call('start_council', opened);
    writeFileSync(councilFileOf(workspace), '{"version": 9}');
    return said(server, 'join_council', { agent_name: 'codex' });
  },

  'tmux is missing': async ({ configure, serve, workspace }) => {
    configure({ ...rehearsed, orchestrator: { engine: 'rehearsal' } });
    const flags = ['--toolsets', 'all'];
    const server = await serve({ flags, env: { PATH: workspace.bin } });
    return said(server, 'agent_create', { name: 'a', role: 'b' });
  },

  'The window is full': async () => {
    const stage = createOrchestratorStage('tmux', { size: [30, 8] });
    const master = await stage.serve();
    const answer = await said(master, 'agent_create', { name: 'a', role: 'b' });
    await stage.close();
    return answer;
  },

  'A worker does not get ready': async ({ configure, serve, workspace }) => {
    workspace.program('gemini', 'console.log("Please set an Auth method")');
    configure({ orchestrator: { backend: 'process' } });
    const server = await serve({ flags: ['--toolsets', 'all'] });
    return said(server, 'agent_create', { name: 'tests', role: 'b' });
  }
};
