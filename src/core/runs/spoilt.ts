import { HostError } from '../errors.ts';

/** Of an agent whose file somebody else, or a broken disk, has changed. */
export function spoilt(agentId: string, file: string): HostError {
  return new HostError(
    'state_invalid',
    `The file .agents/spawns/${agentId}/${file} is not what troupe wrote.`,
    'Its output is beside it; other agents are not concerned. Move the folder away when you have what you need.'
  );
}

/** What an end that there was no room for is told as. */
export function unwritten(agentId: string): HostError {
  return new HostError(
    'storage_full',
    `Agent ${agentId} has ended, but its result cannot be written down.`,
    'Free space on the disk that holds .agents/ and ask again; its output is kept.'
  );
}
