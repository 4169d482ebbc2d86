import { HostError } from '../errors.ts';

/** Of an agent whose file somebody else, or a broken disk, has changed. */
export function spoilt(agentId: string, file: string): HostError {
  return new HostError(
    'state_invalid',
    `${file} of agent ${agentId} in the record is not what troupe wrote.`,
    'Its output is beside it; other agents are not concerned. Move the folder away when you have what you need.'
  );
}

/** What work gives, or nothing where the files it needs were spoilt. */
export async function unlessSpoilt<T>(
  work: Promise<T>,
  onSpoilt: (problem: HostError) => void = () => undefined
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HostError) || error.code !== 'state_invalid')
      throw error;
    onSpoilt(error);
    return undefined;
  }
}

/** What an end that there was no room for is told as. */
export function unwritten(agentId: string): HostError {
  return new HostError(
    'storage_full',
    `Agent ${agentId} has ended, but its result cannot be written down.`,
    'Free space on the disk that holds ~/.troupe and ask again; its output is kept.'
  );
}
