import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../config-overrides.ts';
import { pathsOf } from '../../core/paths/paths.ts';
import { configHere } from './access-plan.ts';
import { shortPath } from './settings-file.ts';

/**
 * What is in a project when its clients do not know troupe any more: the
 * ceiling, without which agents had full access when troupe came back, and
 * what agents said. Empty when there is nothing.
 */
export async function whatStays(workspace: string): Promise<string> {
  const { record, shared, views } = pathsOf(workspace);
  const parts = [
    ...(await ceilingIn(workspace)),
    ...(existsSync(join(views.directory, 'IAC.md')) ? ['logs/'] : []),
    ...(existsSync(shared.directory) ? ['.agents/'] : []),
    ...(existsSync(record) ? [`the record in ${record}`] : [])
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
