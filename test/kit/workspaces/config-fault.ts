import { HostError } from '../../../src/core/errors.ts';

/** What a start that must be refused says; throws when it is not. */
export async function faultOf(start: Promise<unknown>): Promise<string> {
  try {
    await start;
  } catch (error) {
    if (error instanceof HostError && error.code === 'config_invalid')
      return error.message;
    throw error;
  }
  throw new Error('It was taken.');
}
