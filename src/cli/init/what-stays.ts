import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../config-overrides.ts';
import { configHere } from './access-plan.ts';
import { shortPath } from './settings-file.ts';

/**
 * What is in a project when its clients do not know troupe any more: the
 * ceiling, without which agents had full access when troupe came back, and
 * what agents said. Empty when there is nothing.
 */
export async function whatStays(workspace: string): Promise<string> {
  const parts = [
    ...(await ceilingIn(workspace)),
    ...(existsSync(join(workspace, 'logs', 'iac.jsonl')) ? ['logs/'] : []),
    ...(existsSync(join(workspace, '.agents')) ? ['.agents/'] : [])
  ];
  const last = parts.pop();
  return parts.length === 0 ? (last ?? '') : `${parts.join(', ')} and ${last}`;
}

async function ceilingIn(workspace: string): Promise<string[]> {
  try {
    const { file, value } = await configHere(workspace);
    return file !== undefined && isObject(value) && 'maxAccess' in value
      ? [`maxAccess in ${shortPath(file, workspace)}`]
      : [];
  } catch {
    return [];
  }
}
