import type { RecordIdentity } from '../paths/identity.ts';
import { ensureDirectory } from '../state/directories.ts';
import { oneLine, utc } from './entry.ts';
import { markOf, replaceView, viewPath } from './view-file.ts';

export interface ActiveAgent {
  agent_id: string;
  label: string;
  kind: 'cli' | 'api';
  model: string | null;
  task: string;
  created_at: string;
  queued: boolean;
}

const nobody = '| - | - | - | - | *No active agents* | - |';

/** Whether the beginning of a view says that nobody is at work. */
export function showsNobody(text: string): boolean {
  return text.split('\n').includes(nobody);
}

/** Agents that are at work now, as a markdown table. */
export function activeTable(active: ActiveAgent[]): string {
  const rows = active.map((agent) => {
    const started = agent.queued
      ? 'queued'
      : utc(agent.created_at).replace(' UTC', '');
    const model = oneLine(agent.model ?? 'default', 40);
    return `| \`${agent.agent_id}\` | ${oneLine(agent.label, 40)} | ${agent.kind.toUpperCase()} | ${model} | ${oneLine(agent.task, 50)} | ${started} |`;
  });
  return [
    '| ID | Agent | Type | Model | Task | Started |',
    '|----|-------|------|-------|------|---------|',
    ...(rows.length > 0 ? rows : [nobody])
  ].join('\n');
}

const stem = 'CONTEXT';

/** `logs/CONTEXT.md`, as far as it is made from this record. */
export function contextPath(directory: string, identity: RecordIdentity) {
  return viewPath(directory, stem, identity);
}

/** `logs/CONTEXT.md`: who is at work now, rebuilt from what is alive. */
export async function writeContext(
  directory: string,
  identity: RecordIdentity,
  active: ActiveAgent[],
  now = new Date()
): Promise<void> {
  ensureDirectory(directory);
  const path = contextPath(directory, identity);
  const text = [
    '# Agent Context',
    '',
    markOf(path, stem, identity),
    '',
    `**Last updated:** ${utc(now.toISOString())}`,
    '',
    '## Active Agents',
    '',
    activeTable(active.filter(({ queued }) => !queued)),
    '',
    'What agents did before is in [IAC.md](IAC.md).',
    ''
  ].join('\n');
  await replaceView(path, [text], identity);
}
