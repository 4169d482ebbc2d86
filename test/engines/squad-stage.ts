import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type MemberAnswer,
  type MemberInput,
  startMember,
  startSquad
} from '../kit/servers/squad-call.ts';
import type { RealCli } from './clis.ts';
import { noteRun } from './run-notes.ts';
import { createStage, type Stage } from './stage.ts';

/** The role brief of a `tester`. */
export const testerBrief = 'You test what others wrote.\n\nYou change nothing.';

/** A stage whose squads run on its CLI, and a role `tester`. */
export async function createSquadStage(
  cli: RealCli,
  env: Record<string, string> = {}
): Promise<Stage> {
  const stage = await createStage(cli, {
    env: () => ({ ENGINE: cli.name, ...env })
  });
  const head = '---\nname: Tester\n---\n';
  stage.workspace.write('agents/tester.md', `${head}\n${testerBrief}\n\n`);
  return stage;
}

/** What one of them is asked, in a chat if one is named. */
export function task(told: string, chatId?: string | null): MemberInput {
  const asked = { roleId: 'tester', task: told };
  return chatId === undefined ? asked : { ...asked, chatId };
}

export async function member(
  stage: Stage,
  told: string,
  chatId?: string | null
): Promise<MemberAnswer> {
  const one = await startMember(stage.server, task(told, chatId));
  note(stage, [one]);
  return one;
}

export async function squad(
  stage: Stage,
  asked: MemberInput[]
): Promise<MemberAnswer[]> {
  const { members } = await startSquad(stage.server, asked);
  note(stage, members);
  return members;
}

export function note({ cli, workspace }: Stage, members: MemberAnswer[]): void {
  for (const { agentId } of members)
    noteRun(cli.name, workspace.record, agentId);
}

export async function resultOf({ server }: Stage, { agentId }: MemberAnswer) {
  return (await server.call('result', { agent_id: agentId })).data;
}

/** Running members, and their squads. */
export async function listed({ server }: Stage) {
  const { running } = (await server.call('list')).data;
  const rows = running as { id: string; squadId: string }[];
  return {
    running: rows.map(({ id }) => id),
    squadIds: rows.map(({ squadId }) => squadId)
  };
}

/** What a member's CLI has put out, as the supervisor wrote it down. */
export function outputOf({ workspace }: Stage, { agentId }: MemberAnswer) {
  const folder = join(workspace.record, 'spawns', agentId);
  return {
    rawStdout: readFileSync(join(folder, 'stdout'), 'utf8'),
    rawStderr: readFileSync(join(folder, 'stderr'), 'utf8')
  };
}

export function exitCodeOf(
  { workspace }: Stage,
  { agentId }: MemberAnswer
): number {
  const folder = join(workspace.record, 'spawns', agentId);
  const { exit_code } = JSON.parse(
    readFileSync(join(folder, 'outcome.json'), 'utf8')
  );
  return exit_code;
}
